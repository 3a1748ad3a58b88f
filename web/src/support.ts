// Which passage an answer was copied from, token by token (docs/definitions.md, "Support of an answer").
import { Run } from "./run";

type Numbers = { shape: number[]; data: ArrayLike<number> };

export interface Support {
  region: number[]; // of each token the passage most heads copied it from, as index of region_names; -1: none
  share: number; // of layers and heads that copied a token from a passage, mean over the answer's tokens
  chance: number; // the same if every row's strongest key were drawn at random
}

// How many tokens belong to the answer: those before what the regions call its tail, and before EOS.
export function answer_length(run: Run): number {
  const first = run.info.prompt_length;
  let n = 0;
  while (
    first + n < run.N &&
    !/^tail$/i.test(run.info.regions[first + n]) &&
    run.info.classes[first + n] !== "eos/pad"
  ) {
    ++n;
  }
  return n;
}

// argmax [G, L, H]: the key each head of the row that wrote a token looked at most, -1 none; visible [G]: keys that row saw.
export function support(run: Run, argmax: Numbers, visible: Numbers, until: number): Support {
  const [G, L, H] = argmax.shape,
    n = Math.min(G, until),
    names = run.info.region_names ?? [],
    kinds = run.info.region_kinds ?? [];
  const passage = run.info.regions.map((name) => {
    const i = names.indexOf(name);
    return kinds[i] === "document" ? i : -1;
  });
  const out: Support = { region: [], share: 0, chance: 0 };
  for (let g = 0; g < n; ++g) {
    const token = run.info.tokens[run.info.prompt_length + g],
      copies = new Float64Array(names.length),
      occurs = new Float64Array(names.length);
    run.info.tokens.forEach((other, j) => {
      if (passage[j] >= 0 && other === token) ++occurs[passage[j]];
    });
    for (let i = g * L * H; i < (g + 1) * L * H; ++i) {
      const j = argmax.data[i];
      if (j >= 0 && passage[j] >= 0 && run.info.tokens[j] === token) ++copies[passage[j]];
    }
    const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0);
    out.share += sum(copies) / (L * H) / n;
    out.chance += sum(occurs) / visible.data[g] / n;
    const best = copies.reduce((b, count, i) => (count > copies[b] ? i : b), 0);
    out.region.push(copies[best] / (L * H) > occurs[best] / visible.data[g] ? best : -1);
  }
  return out;
}

export const is_weak = (s: Support) => !(s.share > s.chance);
