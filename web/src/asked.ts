// A question that was asked, and, of a link to it, what is still known of it.
import { Passage, RunSummary } from "./api";
import { Run } from "./run";

export interface Asked {
  id: string;
  runs: string[];
  passages: Passage[];
}

const text_of = (run: Run, region: string) =>
  run.info.pieces
    .filter((_, i) => run.info.regions[i] === region)
    .join("")
    .trim();

// Its answers, while the server remembers them, and the passages as the first of them read them.
export async function recalled(
  collection: string,
  ask: string,
  runs: RunSummary[],
): Promise<(Asked & { question: string }) | null> {
  const ids = runs.filter((r) => r.ask === `${collection}/${ask}`).map((r) => r.id);
  if (!ids.length) return null;
  const first = await Run.load(ids[0]),
    documents = (first.info.region_names ?? []).filter((name) => /^Doc\d+$/.test(name));
  return {
    id: ask,
    runs: ids,
    passages: documents.map((name) => ({ title: "", text: text_of(first, name) })),
    question: first.info.question || first.info.title,
  };
}
