// Numbers and tokens in words.
import { Anchor, RunSummary } from "./api";
import { Choice } from "./dom";
import { Run } from "./run";

export function times(lift: number): string {
  if (!Number.isFinite(lift)) return "–";
  return (lift >= 100 ? lift.toFixed(0) : lift >= 9.95 ? lift.toFixed(1) : lift.toFixed(2)) + " ×";
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  if (share > 0 && share < 0.00005) return "< 0.01 %";
  return (share * 100).toFixed(share < 0.0995 ? 2 : 1) + " %";
}

// A token as it can be read: white space gets a sign.
export function visible(text: string): string {
  return text === ""
    ? "∅"
    : text
        .replace(/\n/g, "↵")
        .replace(/\t/g, "⇥")
        .replace(/^ +| +$/g, (spaces) => "␣".repeat(spaces.length));
}

// For small cells: special tokens without their fences.
export const brief = (text: string) =>
  visible(text)
    .replace(/^␣/, "")
    .replace(/^<\|?([^|>]+)\|?>$/, "$1");

export const quoted = (text: string) => `“${visible(text).replace(/^␣(?=.)/, "")}”`;

// Runs to choose from, each model's together.
export const run_choices = (runs: RunSummary[]): Choice[] =>
  runs.map((r) => ({
    value: r.id,
    label: `${r.title || r.id} — ${r.model}${r.parent ? " (fork)" : ""}`,
    group: r.model,
  }));

export const shortened = (text: string, most = 160) =>
  text.length > most ? `${text.slice(0, most).trimEnd()} …` : text;

export const layer_name = (layer: number) => (layer < 0 ? "mean of layers" : `layer ${layer}`);
export const head_name = (head: number) => (head < 0 ? "mean of heads" : `head ${head}`);

export function plural(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

function text_of(run: Run, step: number, anchor: Anchor): string {
  const token = run.token_at(step, anchor.position);
  return token === run.mask_id() ? "a mask" : quoted(run.piece(token));
}

// The anchors of a layer at a step, and what became of those of the step before.
export function anchors_in_words(run: Run, anchors: Anchor[], step: number, layer: number): string {
  const at = (t: number) => anchors.filter((a) => a.step === t && a.layer === layer).sort((a, b) => b.lift - a.lift);
  const now = at(step);
  const where = `At step ${run.pass(step)}, layer ${layer}, `;
  if (!now.length) return where + "no token is an anchor: none receives far more than its null.";
  const shown = now.slice(0, 3).map((a) => `${text_of(run, step, a)} at ${a.position} (${times(a.lift)}, ${a.region})`);
  const rest = now.length > 3 ? `, and ${now.length - 3} more` : "";
  const out = `${where}${now.length === 1 ? "one token is an anchor" : `${now.length} tokens are anchors`}: ${shown.join(", ")}${rest}.`;
  const before = new Set(step > 0 ? at(step - 1).map((a) => a.position) : []);
  if (!before.size) return out;
  const stayed = now.filter((a) => before.has(a.position)).length;
  return `${out} Since the step before ${stayed} stayed, ${now.length - stayed} came, ${before.size - stayed} went.`;
}

// Over all layers: where the strongest anchors stand, and how many are new. Whether they float is in these numbers.
export function layers_in_words(run: Run, anchors: Anchor[], step: number): string {
  const now = anchors.filter((a) => a.step === step),
    strongest = new Map<number, Anchor>();
  if (!now.length) return `At step ${run.pass(step)} no token receives far more attention than its null in any layer.`;
  for (const a of now) if (a.lift > (strongest.get(a.layer)?.lift ?? 0)) strongest.set(a.layer, a);
  const tokens = new Set(now.map((a) => a.position)).size,
    places = new Set(Array.from(strongest.values(), (a) => a.position)).size;
  let out = `At step ${run.pass(step)}, ${plural(tokens, "token", "tokens")} of ${run.length_at(step)} ${tokens === 1 ? "is an anchor" : "are anchors"} in some layer: far more attention than the null. `;
  out +=
    places === 1
      ? `The strongest is the same in all ${strongest.size} layers that have one`
      : `The strongest stands at ${places} places over ${strongest.size} layers`;
  if (step === 0) return out + ".";
  const before = new Set(anchors.filter((a) => a.step === step - 1).map((a) => `${a.layer}/${a.position}`)),
    kept = now.filter((a) => before.has(`${a.layer}/${a.position}`)).length;
  return `${out}; of ${now.length} anchors, layer by layer, ${now.length - kept} ${now.length - kept === 1 ? "was" : "were"} none the step before.`;
}
