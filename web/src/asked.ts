// A question that was asked, and, of a link to it, what is still known of it.
import { get_json, Passage, RunSummary } from "./api";
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

// Its answers, while the server remembers them, and the passages as the first of them read them: with their titles where
// the documents still say the same.
export async function recalled(
  collection: string,
  ask: string,
  runs: RunSummary[],
): Promise<(Asked & { question: string }) | null> {
  const ids = runs.filter((r) => r.ask === `${collection}/${ask}`).map((r) => r.id);
  if (!ids.length) return null;
  const first = await Run.load(ids[0]),
    regions = (first.info.region_names ?? []).filter((name) => /^Doc\d+$/.test(name)),
    documents = await get_json<Passage[]>(`/collections/${encodeURIComponent(collection)}/documents`),
    title_of = (text: string) => documents.find((d) => d.text.trim() === text)?.title ?? "";
  return {
    id: ask,
    runs: ids,
    passages: regions.map((name) => {
      const text = text_of(first, name);
      return { title: title_of(text), text };
    }),
    question: first.info.question || first.info.title,
  };
}
