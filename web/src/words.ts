// Numbers and tokens in words.
import { Anchor } from "./api";
import { Run } from "./run";

export function times(lift: number): string {
  if (!Number.isFinite(lift)) return "–";
  return (lift >= 100 ? lift.toFixed(0) : lift >= 9.95 ? lift.toFixed(1) : lift.toFixed(2)) + " ×";
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  return (share * 100).toFixed(share < 0.0995 ? 2 : 1) + " %";
}

// A token as it can be read: white space gets a sign.
export function visible(text: string): string {
  return text === "" ? "∅" : text.replace(/\n/g, "↵").replace(/\t/g, "⇥").replace(/^ +| +$/g, (spaces) => "␣".repeat(spaces.length));
}

// For small cells: special tokens without their fences.
export const brief = (text: string) => visible(text).replace(/^␣/, "").replace(/^<\|?([^|>]+)\|?>$/, "$1");

export const quoted = (text: string) => `“${visible(text).replace(/^␣/, "")}”`;

export const layer_name = (layer: number) => (layer < 0 ? "mean of layers" : `layer ${layer}`);
export const head_name = (head: number) => (head < 0 ? "mean of heads" : `head ${head}`);

export function plural(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

function text_of(run: Run, step: number, anchor: Anchor): string {
  const token = run.token_at(step, anchor.position);
  return token === run.mask_id() ? "a mask" : quoted(run.piece(token));
}

// What floats at a step of a layer, in a sentence or two.
export function floating(run: Run, anchors: Anchor[], step: number, layer: number): string {
  const at = (t: number) => anchors.filter((a) => a.step === t && a.layer === layer).sort((a, b) => b.lift - a.lift);
  const now = at(step);
  const where = `At step ${step}, layer ${layer}, `;
  if (!now.length) return where + "no token floats: none receives far more than its null.";
  const shown = now.slice(0, 3).map((a) => `${text_of(run, step, a)} at ${a.position} (${times(a.lift)}, ${a.region})`);
  const rest = now.length > 3 ? `, and ${now.length - 3} more` : "";
  let out = `${where}${now.length === 1 ? "one token floats" : `${now.length} tokens float`}: ${shown.join(", ")}${rest}.`;
  if (step > 0) {
    const before = new Set(at(step - 1).map((a) => a.position)), stayed = now.filter((a) => before.has(a.position)).length;
    const gone = before.size - stayed, fresh = now.length - stayed;
    if (before.size) out += ` Since the step before ${stayed} stayed, ${fresh} came, ${gone} went.`;
  }
  return out;
}
