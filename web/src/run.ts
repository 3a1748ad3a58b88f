// A run's data: tokens at every step, received attention, its null, anchors. Loads what is asked for once.
import { Anchor, ApiError, get_array, get_json, RunInfo, run_path } from "./api";
import { Array_ } from "./npy";
import { Fetched } from "./fetched";
import { Null, Rows } from "./state";

export type Writing = "prompt" | "absent" | "mask" | "new" | "old";

// The names under which each set of rows may have been recorded.
const RECEIVED: Record<Rows, string[]> = { all: ["received_all", "received"], read: ["received_read"] };
// Above this many numbers an array is fetched layer by layer.
const WHOLE = 32 << 20;
export interface StepEvent {
  step: number;
  tokens: number[];
  ids: number[];
  guesses?: { positions: number[]; ids: number[]; confidence: number[] };
  pieces?: Record<string, string>;
}

export class Run {
  readonly N: number;
  tokens: Array_ | null = null; // [S + 1, N]
  guesses: Array_ | null = null; // [S, N], -1: none
  guess_confidence: Array_ | null = null;
  pieces = new Map<number, string>();
  private fetched = new Fetched((rest) => this.path(rest));
  private finding = new Map<string, Promise<null>>(); // anchors that are on their way
  private anchors_by_rows = new Map<string, Anchor[]>();
  private means = new Map<string, Float32Array>();

  constructor(public info: RunInfo) {
    this.N = info.tokens.length;
    info.tokens.forEach((id, i) => this.pieces.set(id, info.pieces[i]));
  }

  get id(): string {
    return this.info.id;
  }
  is_lost = false; // it goes on, and nothing is heard of it

  get S(): number {
    return this.tokens ? Math.max(this.tokens.shape[0] - 1, 1) : Math.max(this.info.steps, 1);
  }
  get L(): number {
    return this.info.layers.length;
  }
  get H(): number {
    return this.info.heads;
  }
  private path(rest: string): string {
    return run_path(this.info.id) + rest;
  }

  static async load(id: string): Promise<Run> {
    for (let tries = 0; ; ++tries) {
      const run = new Run(await get_json<RunInfo>(run_path(id)));
      const known = (there: boolean | undefined, path: string) => (there ? get_array(run.path(path)) : null);
      const texts = get_json<Record<string, string>>(run.path("/pieces"));
      [run.tokens, run.guesses, run.guess_confidence] = await Promise.all([
        get_array(run.path("/steps/tokens")),
        known(run.info.has_guesses, "/steps/guesses"),
        known(run.info.has_guesses, "/steps/guess_confidence"),
      ]);
      for (const [token, text] of Object.entries(await texts)) run.pieces.set(Number(token), text);
      // A run that appends may have grown between one answer and the next.
      if ([run.tokens, run.guesses, run.guess_confidence].every((a) => a === null || a.shape[1] === run.N)) {
        run.take_newest();
        return run;
      }
      if (tries > 20) throw new Error("the run grows faster than it can be loaded");
    }
  }

  // Steps may have come after the run was described and before they were asked for: no event will tell of them.
  private take_newest(): void {
    if (!this.tokens || this.info.state === "done") return;
    const steps = this.tokens.shape[0] - 1;
    for (let t = 0; t < steps; ++t) this.info.step_numbers[t] ??= t;
    for (let p = this.info.prompt_length; p < this.N; ++p) {
      const token = this.token_at(steps, p);
      if (token < 0 || token === this.info.tokens[p]) continue;
      this.info.tokens[p] = token;
      this.info.pieces[p] = this.piece(token);
      for (let t = 0; t < steps; ++t)
        if (this.writing(t, p) === "new") this.info.commit_step[p - this.info.prompt_length] = this.pass(t);
    }
  }

  piece(token: number): string {
    return this.pieces.get(token) ?? `#${token}`;
  }

  // Before step t; t = S is the finished sequence.
  token_at(step: number, position: number): number {
    if (!this.tokens) return this.info.tokens[position];
    return this.tokens.data[Math.min(step, this.tokens.shape[0] - 1) * this.N + position];
  }

  length_at(step: number): number {
    return this.info.step_lengths?.[step] ?? this.N;
  }

  mask_id(): number | null {
    if (this.info.mask_id !== undefined) return this.info.mask_id;
    return this.info.mask === "causal" ? null : this.token_at(0, this.info.prompt_length);
  }

  // Step that wrote a position, as index of recorded steps; -1: none.
  commit_index(position: number): number {
    const pass = this.info.commit_step[position - this.info.prompt_length];
    if (pass === undefined || pass < 0) return -1;
    const index = this.info.step_numbers.findIndex((n) => n >= pass);
    return index < 0 ? -1 : index;
  }

  writing(step: number, position: number): Writing {
    if (position < this.info.prompt_length) return "prompt";
    const mask = this.mask_id(),
      open = (token: number) => token < 0 || token === mask;
    const now = this.token_at(step, position);
    if (!open(now)) return this.is_forced(step, position) ? "new" : "old";
    if (!open(this.token_at(step + 1, position)) && !this.is_forced(step + 1, position)) return "new";
    return now < 0 ? "absent" : "mask";
  }

  // What is forced before a step was not written by the step before it.
  private is_forced(step: number, position: number): boolean {
    return (this.info.changes ?? []).some(
      (c) => c.step === this.pass(step) && (c.force ?? []).some((f) => f.position === position),
    );
  }

  // Whether the position holds what it will hold in the end.
  is_written(position: number): boolean {
    const token = this.info.tokens[position];
    return this.info.state === "done" || (token >= 0 && token !== this.mask_id());
  }

  // What has been written, where the run still goes on: masks are left out.
  answer(): string {
    if (this.info.state === "done") return this.info.answer.trim();
    const first = this.info.prompt_length,
      written = this.info.tokens.slice(first).filter((_, i) => this.is_written(first + i));
    return written
      .map((token) => this.piece(token))
      .filter((piece) => !/^<\|[^|]*\|>$/.test(piece)) // an end that is written first is no answer
      .join("")
      .trim();
  }

  // A pass of the model as index of the recorded steps.
  index_of(pass: number | null): number {
    const index = this.info.step_numbers.findIndex((n) => n >= (pass ?? 0));
    return index < 0 ? this.S : index;
  }

  // The number of a recorded step: of a trace that has every fourth, 0, 4, 8 …
  pass(step: number): number {
    return this.info.step_numbers[step] ?? step;
  }

  // The recorded step of a pass, or the last one before it.
  step_at(pass: number): number {
    let step = this.S - 1;
    while (step > 0 && this.pass(step) > pass) --step;
    return step;
  }

  // Models that fill masks propose a token for each; older traces do not say which.
  guesses_missing(): boolean {
    return this.guesses === null && this.mask_id() !== null && this.info.state === "done";
  }

  guess(step: number, position: number): number {
    return this.guesses && step < this.guesses.shape[0] ? this.guesses.data[step * this.N + position] : -1;
  }

  has(name: string): boolean {
    return this.info.arrays.some((a) => a.name === name);
  }
  received_name(rows: Rows, head: number): string | null {
    if (head >= 0) return rows === "all" && this.has("received_heads") ? "received_heads" : null;
    return RECEIVED[rows].find((name) => this.has(name)) ?? null;
  }
  // Why there is nothing to colour by; empty where there is.
  why_not(rows: Rows, head: number, kind: Null): string {
    if (!this.info.arrays.length && this.info.state !== "done" && this.info.state !== "failed") return ""; // not yet
    if (this.received_name(rows, head))
      return kind === "first" && rows === "read" && !this.has("received_frozen")
        ? "The first step's attention over these rows was not recorded."
        : "";
    if (head >= 0 && rows === "read") return "Single heads are recorded over all rows only.";
    if (head >= 0)
      return "Single heads were not recorded (--per-head): click a token for its exact rows, or choose the mean over heads.";
    return rows === "read" ? "The read rows were not recorded." : "Received attention was not recorded.";
  }

  // An array that is there already; starts to fetch it otherwise and calls `then` when it has come.
  array(name: string, then: () => void): Array_ | null {
    return this.fetched.get(`/arrays/${name}`, then);
  }
  // A step of a run that goes on has come: of every array that is looked at.
  fetch_step(step: number, then: () => void): Promise<void> {
    return this.fetched.grow(step, then);
  }

  // A state space layer computes no attention: what is shown of it is what its state comes to.
  is_implicit(layer: number): boolean {
    return this.info.mixers[this.layer_index(layer)] === "ssd";
  }
  mixers_in_words(): string {
    const count = this.info.mixers.filter((mixer) => mixer === "ssd").length;
    return count === 0 ? "" : `, ${count === this.L ? "all" : count} state space (implicit attention)`;
  }

  layer_index(layer: number): number {
    return this.info.layers.indexOf(layer);
  }

  // Received attention [N] at a step; layer -1: mean over the recorded layers. Null while it is on its way.
  received(step: number, layer: number, head: number, rows: Rows, then: () => void): Float32Array | null {
    const name = this.received_name(rows, head);
    return name ? this.slice(name, step, layer, head, then) : null;
  }

  private slice(name: string, step: number, layer: number, head: number, then: () => void): Float32Array | null {
    const index = this.layer_index(layer),
      whole = this.info.arrays.find((a) => a.name === name);
    const large = whole !== undefined && whole.shape.reduce((a, b) => a * b, 1) > WHOLE;
    // Of a large array one layer is fetched at a time; a server that does not cut sends all of it.
    const part = large && index >= 0 ? `${name}?layer=${layer}` : name;
    const array = this.array(part, then);
    if (!array) return null;
    const cut = large && index >= 0 && array.shape[1] === 1;
    const L = array.shape[1],
      N = array.shape[array.shape.length - 1],
      H = array.shape.length === 4 ? array.shape[2] : 1;
    if (step >= array.shape[0]) {
      this.fetched.longer(`/arrays/${part}`, array.shape[0], then);
      return null;
    }
    const data = array.data as Float32Array,
      h = head >= 0 && array.shape.length === 4 ? head : 0;
    const begin = (l: number) => ((step * L + l) * H + h) * N;
    if (index >= 0) return data.subarray(begin(cut ? 0 : index), begin(cut ? 0 : index) + N);
    const key = `${name}/${step}/${head}`,
      held = this.means.get(key);
    if (held) return held;
    const mean = new Float32Array(N);
    for (let l = 0; l < L; ++l) {
      const from = begin(l);
      for (let i = 0; i < N; ++i) mean[i] += data[from + i] / L;
    }
    this.make_room();
    this.means.set(key, mean);
    return mean;
  }

  // Rows that were worked out are kept up to some 64 MB.
  private make_room(): void {
    if (this.means.size * this.N > 16 << 20) this.means.clear();
  }

  // What attention is compared with, [N]; null while it is on its way, or where there is none.
  null_row(step: number, layer: number, head: number, rows: Rows, kind: Null, then: () => void): Float32Array | null {
    if (kind === "first") {
      if (rows === "read")
        return this.has("received_frozen") ? this.slice("received_frozen", step, layer, -1, then) : null;
      return this.received(0, layer, head, rows, then);
    }
    if (this.info.mask === "full" || this.info.mask === "causal") return this.uniform(this.length_at(step), rows);
    // Where nothing is known of the step, the null of the finished sequence stands in.
    const array = this.fetched.get(`/null?rows=${rows}&step=${step}`, then, "/null");
    return array ? (array.data as Float32Array) : null;
  }

  // docs/definitions.md, "Null model": every row attends evenly to what it sees. A causal model reads its last row.
  private uniform(n: number, rows: Rows): Float32Array {
    const key = `uniform/${n}/${rows}`,
      held = this.means.get(key);
    if (held) return held;
    const out = new Float32Array(this.N);
    if (this.info.mask === "full" || rows === "read") out.fill(1 / n, 0, n);
    else for (let j = n - 1, sum = 0; j >= 0; --j) out[j] = (sum += 1 / (j + 1)) / n;
    this.means.set(key, out);
    return out;
  }

  // Received ÷ null, or N · received where nothing is compared with.
  lift(step: number, layer: number, head: number, rows: Rows, kind: Null, then: () => void): Float32Array | null {
    const key = `lift/${step}/${layer}/${head}/${rows}/${kind}`,
      held = this.means.get(key);
    if (held) return held;
    const received = this.received(step, layer, head, rows, then);
    if (!received) return null;
    const n = this.length_at(step),
      out = new Float32Array(this.N);
    if (kind === "none") {
      for (let i = 0; i < this.N; ++i) out[i] = received[i] * n;
    } else {
      const base = this.null_row(step, layer, head, rows, kind, then);
      if (!base) return null;
      for (let i = 0; i < this.N; ++i) out[i] = base[i] > 0 ? received[i] / base[i] : NaN;
    }
    this.make_room();
    this.means.set(key, out);
    return out;
  }

  anchors(rows: Rows, then: () => void): Anchor[] | null {
    const held = this.anchors_by_rows.get(rows),
      path = `/anchors?rows=${rows}`;
    if (held && !this.stale_anchors) return held;
    this.stale_anchors = false;
    let request = this.finding.get(rows);
    if (!request) {
      const steps = this.tokens ? this.tokens.shape[0] - 1 : this.S;
      request = get_json<Anchor[]>(this.path(path))
        .catch(() => [] as Anchor[])
        .then((found) => {
          this.anchors_by_rows.set(rows, found);
          this.anchor_steps.set(rows, steps);
          return null;
        });
      this.finding.set(rows, request);
    }
    void request.then(then); // whoever else asks while they are on their way is told too
    return held ?? null;
  }

  // Whether the anchors that are known were looked for when the step was there.
  knows_anchors(rows: Rows, step: number): boolean {
    return step < (this.anchor_steps.get(rows) ?? 0);
  }
  private anchor_steps = new Map<Rows, number>();

  // A step of a run that goes on has come. False where the sequence has grown: then all must be loaded again.
  apply(event: StepEvent): boolean {
    const tokens = this.tokens,
      N = this.N;
    if (!tokens || event.step !== tokens.shape[0] - 1 || event.tokens.some((p) => p >= N)) return false;
    for (const [id, text] of Object.entries(event.pieces ?? {})) this.pieces.set(Number(id), text);
    const rows = tokens.shape[0],
      data = new Int32Array((rows + 1) * N);
    data.set(tokens.data as Int32Array);
    this.apply_changes(event.step, data);
    data.copyWithin(rows * N, (rows - 1) * N, rows * N);
    event.tokens.forEach((p, i) => {
      data[rows * N + p] = event.ids[i];
      this.info.tokens[p] = event.ids[i];
      this.info.pieces[p] = this.piece(event.ids[i]);
      if (p >= this.info.prompt_length) this.info.commit_step[p - this.info.prompt_length] = event.step;
    });
    this.tokens = { shape: [rows + 1, N], data };
    this.info.step_numbers[event.step] ??= event.step;
    if (event.guesses) this.apply_guesses(event.step, event.guesses);
    return true;
  }

  // What was forced or masked again before the step: no step wrote it, so no event says it.
  private apply_changes(step: number, data: Int32Array): void {
    const mask = this.mask_id() ?? -1;
    for (const change of (this.info.changes ?? []).filter((c) => c.step === step)) {
      const forced = (change.force ?? []).map((f) => [f.position, f.token ?? -1]),
        masked = (change.remask ?? []).map((p) => [p, mask]);
      for (const [p, token] of [...forced, ...masked]) {
        data[step * this.N + p] = token;
        this.info.tokens[p] = token;
        this.info.pieces[p] = this.piece(token);
      }
    }
  }

  private apply_guesses(step: number, guesses: NonNullable<StepEvent["guesses"]>): void {
    const N = this.N,
      ids = new Int32Array((step + 1) * N).fill(-1),
      sure = new Float32Array((step + 1) * N);
    if (this.guesses) ids.set((this.guesses.data as Int32Array).subarray(0, step * N));
    if (this.guess_confidence) sure.set((this.guess_confidence.data as Float32Array).subarray(0, step * N));
    guesses.positions.forEach((p, i) => {
      ids[step * N + p] = guesses.ids[i];
      sure[step * N + p] = guesses.confidence[i];
    });
    this.guesses = { shape: [step + 1, N], data: ids };
    this.guess_confidence = { shape: [step + 1, N], data: sure };
  }

  forget_anchors(): void {
    this.finding.clear();
    this.stale_anchors = true;
  }
  private stale_anchors = false;
}

// Turns what went wrong into one line.
export const reason = (error: unknown) =>
  error instanceof ApiError || error instanceof Error ? error.message : String(error);
