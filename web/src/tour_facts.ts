// What the tour says of the two runs it is about: counted in them, so that it is true of any.
import { Anchor } from "./api";
import { Run } from "./run";
import { quoted, times } from "./words";

export interface Place {
  layer: number;
  position: number;
  lift: number;
}
export interface Facts {
  masked: Run;
  causal: Run | null; // the same question, written from left to right
  step: number; // of the masked run, where its anchors are looked at
  first: Place | null; // two layers whose strongest anchors are different tokens
  then: Place | null;
  sink: Place | null; // of the causal run: where it looks at its first token most
}

// The strongest anchor of each layer that has one, at a step.
export function strongest(anchors: Anchor[], step: number): Place[] {
  const best = new Map<number, Place>();
  for (const { step: at, layer, position, lift } of anchors)
    if (at === step && lift > (best.get(layer)?.lift ?? 0)) best.set(layer, { layer, position, lift });
  return Array.from(best.values()).sort((a, b) => a.layer - b.layer);
}

const anchors_of = (run: Run): Promise<Anchor[]> =>
  new Promise((done) => {
    const held = run.anchors("all", () => done(run.anchors("all", () => {}) ?? []));
    if (held) done(held);
  });

export async function find_facts(masked: Run, causal: Run | null): Promise<Facts> {
  const step = Math.floor((masked.S - 1) / 2),
    by_lift = strongest(await anchors_of(masked), step).sort((a, b) => b.lift - a.lift),
    first = by_lift[0] ?? null,
    sinks = causal ? strongest(await anchors_of(causal), causal.S - 1).filter((p) => p.position === 0) : [];
  return {
    masked,
    causal,
    step,
    first,
    then: by_lift.find((p) => p.position !== first.position) ?? null,
    sink: sinks.reduce<Place | null>((a, b) => (a && a.lift >= b.lift ? a : b), null),
  };
}

export function name_of(run: Run, step: number, place: Place): string {
  const state = run.writing(step, place.position);
  return `${state === "mask" || state === "new" ? "the mask" : quoted(run.piece(run.token_at(step, place.position)))} at ${place.position} (${times(place.lift)})`;
}

// "In 9 of 12 layers some token is an anchor; the strongest stands on 6 different tokens."
export function spread(run: Run, step: number): { layers: number; tokens: number; on_first: number } {
  const all = strongest(run.anchors("all", () => {}) ?? [], step);
  return {
    layers: all.length,
    tokens: new Set(all.map((p) => p.position)).size,
    on_first: all.filter((p) => p.position === 0).length,
  };
}

export function says_where(run: Run, step: number): string {
  const { layers, tokens, on_first } = spread(run, step);
  if (!layers) return "No layer has an anchor at this step.";
  const where = `Of its ${run.L} layers ${layers} have an anchor; the strongest stands on ${tokens === 1 ? "one token" : `${tokens} different tokens`}`;
  if (tokens === 1) return `${where}${on_first ? ", the first: a sink" : ""}. It stays.`;
  return on_first * 2 > layers
    ? `${where}, but in ${on_first} layers on the first one: a sink. It stays.`
    : `${where}. No token holds it: it floats.`;
}
