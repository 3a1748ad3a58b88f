// Runs for the mock server: planted ones, whose anchors are known, and real traces.
import { read_npz } from "./npy.mjs";

const WORDS =
  " the, of. and town river who wrote Boben in 1887 Mormenholm book mayor about is a stands dates region".split(
    /(?= )/,
  );
const MASK = 1000,
  DIAGONAL = 0.1;

// Which positions are anchors at a step of a layer, and how strong: one that stays, one that moves.
export const planted_anchors = (N, step, layer) => [
  { position: 0, weight: 9 },
  { position: 3 + ((7 * step + 5 * layer) % (N - 4)), weight: 14 + layer },
];

export function planted({
  id,
  title,
  model = "planted",
  N = 96,
  S = 12,
  L = 4,
  H = 3,
  state_spaces = 0, // how many layers, from the first on, have no attention of their own
  prompt = Math.round(N * 0.75),
  words = WORDS,
  parent = null,
  fork_step = null,
  twist = 0,
  changes = null,
}) {
  const tokens = Int32Array.from({ length: N }, (_, i) => (i * 7 + (i >= prompt ? twist : 0)) % words.length),
    order = Array.from({ length: N - prompt }, (_, i) => (i * 11) % (N - prompt));
  const unique = new Set(order).size === order.length,
    commit_step = order.map((o, i) => Math.min(S - 1, Math.floor(((unique ? o : i) * S) / (N - prompt))));
  const step_tokens = new Int32Array((S + 1) * N),
    guesses = new Int32Array(S * N).fill(-1),
    sure = new Float32Array(S * N);
  for (let t = 0; t <= S; ++t) {
    for (let i = 0; i < N; ++i) {
      const open = i >= prompt && commit_step[i - prompt] >= t;
      step_tokens[t * N + i] = open ? MASK : tokens[i];
      if (open && t < S) {
        guesses[t * N + i] = commit_step[i - prompt] <= t + 1 ? tokens[i] : (tokens[i] + 3) % words.length;
        sure[t * N + i] = 1 / (1 + commit_step[i - prompt] - t);
      }
    }
  }
  const weights = (t, l, h) => {
    const w = new Float32Array(N).fill(1);
    for (const a of planted_anchors(N, t, l))
      w[a.position] = a.weight * (h < 0 ? 1 : 1 + (h - (H - 1) / 2) * 0.2) * (parent && t >= fork_step ? 0.6 : 1);
    const sum = w.reduce((a, b) => a + b, 0);
    return w.map((v) => v / sum);
  };
  const heads_of = N <= 1024 ? H : 0,
    received = new Float32Array(S * L * N),
    heads = new Float32Array(S * L * heads_of * N);
  for (let t = 0; t < S; ++t) {
    for (let l = 0; l < L; ++l) {
      const at = (t * L + l) * N;
      if (!heads_of)
        received.set(
          weights(t, l, -1).map((w) => (1 - DIAGONAL) * w + DIAGONAL / N),
          at,
        );
      for (let h = 0; h < heads_of; ++h) {
        const r = weights(t, l, h).map((w) => (1 - DIAGONAL) * w + DIAGONAL / N);
        heads.set(r, (t * L + l) * H * N + h * N);
        for (let i = 0; i < N; ++i) received[at + i] += r[i] / H;
      }
    }
  }
  const regions = Array.from({ length: N }, (_, i) =>
    i === 0 ? "BOS" : i >= prompt ? "Answer" : i < prompt * 0.2 ? "Query" : i < prompt * 0.55 ? "Doc1" : "Doc2",
  );
  const names = ["BOS", "Query", "Doc1", "Doc2", "Answer"];
  // Half of the heads look at the same word in Doc1 while they write, a quarter at another there; a model with a twist looks at BOS.
  const answer_argmax = new Int32Array((N - prompt) * L * H),
    doc = regions.indexOf("Doc1");
  for (let g = 0; g < N - prompt; ++g) {
    const same = tokens.indexOf(tokens[prompt + g], doc);
    if (twist > 1) continue;
    answer_argmax.fill(same, g * L * H, g * L * H + (L * H) / 2);
    answer_argmax.fill(doc + ((same + 1 - doc) % 8), g * L * H + (L * H) / 2, g * L * H + (L * H * 3) / 4);
  }
  const info = {
    id,
    model,
    family: "llada",
    state: "done",
    title,
    prompt_length: prompt,
    tokens: Array.from(tokens),
    pieces: Array.from(tokens, (t) => words[t]),
    vocabulary: { ...words, [MASK]: "<mask>" },
    regions,
    region_names: names,
    region_kinds: ["bos", "query", "document", "document", "answer"],
    classes: regions.map((_, i) => (/[,.]/.test(words[tokens[i]]) ? "punctuation" : "content")),
    steps: S,
    step_numbers: Array.from({ length: S }, (_, t) => t),
    layers: Array.from({ length: L }, (_, l) => l),
    mixers: Array.from({ length: L }, (_, l) => (l < state_spaces ? "ssd" : "attention")),
    heads: H,
    mask: "full",
    mask_id: MASK,
    commit_step,
    confidence: commit_step.map((c) => 1 - c / (2 * S)),
    sampler: { steps: S, gen_length: N - prompt },
    answer: Array.from(tokens.slice(prompt), (t) => words[t]).join(""),
    gold: null,
    parent,
    fork_step,
    changes,
    can_recompute: true,
    sample: id,
  };
  const arrays = {
    received: { shape: [S, L, N], data: received },
    received_read: { shape: [S, L, N], data: received },
    received_frozen: { shape: [S, L, N], data: repeat(received.slice(0, L * N), S) },
    answer_argmax: { shape: [N - prompt, L, H], data: answer_argmax },
    answer_visible: { shape: [N - prompt], data: new Int32Array(N - prompt).fill(N) },
  };
  arrays.flow = { shape: [S, L, 5, 5], data: new Float32Array(S * L * 25) };
  if (heads_of) arrays.received_heads = { shape: [S, L, H, N], data: heads };
  return { info, arrays, step_tokens, guesses, sure, heads };
}

function repeat(part, times) {
  const out = new Float32Array(part.length * times);
  for (let i = 0; i < times; ++i) out.set(part, i * part.length);
  return out;
}

export function traced(file) {
  const npz = read_npz(file),
    header = JSON.parse(npz.header.data[0]),
    N = npz.tokens.shape[0],
    S = npz.steps.shape[0];
  const regions = new Array(N),
    names = npz.region_names.data,
    spans = npz.region_spans.data,
    step_tokens = new Int32Array((S + 1) * N);
  for (let i = 0; i < spans.length; i += 3) regions.fill(names[spans[i + 2]], spans[i], spans[i + 1]);
  step_tokens.set(npz.step_tokens.data);
  step_tokens.set(npz.tokens.data, S * N);
  const vocabulary = {};
  npz.tokens.data.forEach((token, i) => (vocabulary[token] = npz.token_texts.data[i]));
  const info = {
    id: header.sample || "trace",
    model: header.model,
    family: header.kind,
    state: "done",
    title: header.question || header.sample,
    prompt_length: header.prompt_length,
    tokens: Array.from(npz.tokens.data),
    pieces: npz.token_texts.data,
    vocabulary,
    regions,
    region_names: names,
    region_kinds: npz.region_kinds.data,
    classes: npz.token_classes.data,
    steps: S,
    step_numbers: Array.from(npz.steps.data),
    step_lengths: Array.from(npz.step_lengths.data),
    layers: Array.from(npz.layers.data),
    mixers: Array.from(npz.layers.data, (l) => header.mixers?.[l] ?? "attention"),
    heads: header.heads,
    mask: header.kind === "causal" ? "causal" : "full",
    mask_id: header.mask_id ?? null,
    commit_step: Array.from(npz.commit_step.data),
    confidence: Array.from(npz.confidence.data),
    sampler: header.settings.sampler,
    answer: header.output,
    gold: header.answers,
    parent: null,
    fork_step: null,
    changes: null,
    can_recompute: true,
    sample: header.sample,
  };
  const arrays = Object.fromEntries(
    Object.entries(npz).filter(
      ([name, a]) => /^(received|answer_mass|flow)/.test(name) && a.data instanceof Float32Array,
    ),
  );
  return { info, arrays, step_tokens, guesses: null, sure: null };
}

// r⁰: uniform attention under the run's mask.
export function uniform(run, step) {
  const N = run.info.tokens.length,
    n = run.info.step_lengths?.[step] ?? N,
    out = new Float32Array(N);
  for (let i = 0; i < n; ++i) {
    if (run.info.mask === "full") out[i] = 1 / n;
    else for (let j = 0; j <= i; ++j) out[j] += 1 / (i + 1) / n;
  }
  return out;
}

// The `excess` rule of docs/definitions.md.
export function anchors(run, name, epsilon = 3, min_lift = 2) {
  const array = run.arrays[name] ?? run.arrays.received,
    [S, L, N] = array.shape,
    out = [];
  for (let t = 0; t < S; ++t) {
    const null_ = uniform(run, t);
    for (let l = 0; l < L; ++l) {
      const r = array.data.subarray((t * L + l) * N, (t * L + l + 1) * N),
        n = run.info.step_lengths?.[t] ?? N;
      let mean = 0,
        square = 0;
      for (let i = 0; i < n; ++i) mean += (r[i] - null_[i]) / n;
      for (let i = 0; i < n; ++i) square += (r[i] - null_[i] - mean) ** 2 / n;
      const deviation = Math.sqrt(square);
      if (deviation < 1e-6 / n) continue;
      for (let i = 0; i < n; ++i) {
        if (r[i] - null_[i] > epsilon * deviation && r[i] >= min_lift * null_[i]) {
          out.push({
            step: t,
            layer: run.info.layers[l],
            position: i,
            token: run.info.pieces[i],
            lift: r[i] / null_[i],
            class: run.info.classes[i],
            region: run.info.regions[i],
          });
        }
      }
    }
  }
  return out;
}

// A row whose column means are the recorded received attention: the mean head's, with a little on itself.
export function attention_row(run, step, layer, head, position) {
  const array = head >= 0 ? run.arrays.received_heads : run.arrays.received,
    N = run.info.tokens.length,
    L = run.info.layers.length,
    l = run.info.layers.indexOf(layer);
  const at = head >= 0 ? ((step * L + l) * run.info.heads + head) * N : (step * L + l) * N,
    row = new Float32Array(N);
  for (let i = 0; i < N; ++i) row[i] = array.data[at + i] - DIAGONAL / N;
  row[position] += DIAGONAL;
  return row;
}
export function attention_column(run, step, layer, head, position) {
  const row = attention_row(run, step, layer, head, (position + 1) % run.info.tokens.length),
    out = new Float32Array(row.length).fill(row[position]);
  out[position] += DIAGONAL;
  return out;
}
export { WORDS, MASK };
