// The two runs that a first visitor is shown: one of each kind of model, on the same question.
import { get_json, RunSummary, send } from "./api";
import { EXAMPLE } from "./example";

const PATIENCE = 600, // times
  PAUSE = 200; // milliseconds

const appends = (run: RunSummary) => run.mask === "causal";

// The run at hand where it fills masks, or else the first that does; and the same question to a model that appends.
export function pair_in(runs: RunSummary[], chosen: string): { masked: string; causal: string } | null {
  const done = runs.filter((r) => r.state === "done" && !r.parent),
    here = done.find((r) => r.id === chosen);
  const masked = (here && !appends(here) ? here : done.find((r) => !appends(r))) ?? here ?? done[0];
  if (!masked) return null;
  const same = (r: RunSummary) => r.title === masked.title && (r.sample ?? "") === (masked.sample ?? ""),
    causal = done.find((r) => appends(r) && r.id !== masked.id && same(r));
  return { masked: masked.id, causal: causal?.id ?? "" };
}

// Puts the example to the models and waits for their answers.
export async function run_example(models: string[]): Promise<void> {
  const ids: string[] = [];
  for (const model of models) {
    const body = {
      model,
      question: EXAMPLE.question,
      passages: EXAMPLE.documents.slice(0, 3).map(({ text }) => ({ title: "", text })),
      sampler: { gen_length: 16, steps: 16 },
    };
    ids.push((await send<{ id: string }>("POST", "/runs", body))?.id ?? "");
  }
  for (let i = 0; i < PATIENCE; ++i) {
    const mine = (await get_json<RunSummary[]>("/runs")).filter((r) => ids.includes(r.id));
    const failed = mine.find((r) => r.state === "failed");
    if (failed) throw new Error(`${failed.model} failed`);
    if (mine.length === ids.length && mine.every((r) => r.state === "done")) return;
    await new Promise((done) => window.setTimeout(done, PAUSE));
  }
  throw new Error("the models have not answered yet; look again under Run");
}
