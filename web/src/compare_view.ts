// Two runs side by side, scrubbed together: a run and its fork, or two models on one prompt; and what differs.
import { Card } from "./card";
import { CellMap } from "./cell_map";
import { Controls } from "./controls";
import { h, replace, select, set_choices } from "./dom";
import { changes_in_words, pins_in_words } from "./fork";
import { attention_source, bands_of, writing_source } from "./maps";
import { Run } from "./run";
import { RunSummary } from "./api";
import { State, Store } from "./state";
import { level_color, level_of } from "./theme";
import { TextView } from "./text_view";
import { plural, quoted, run_choices, shortened, times } from "./words";

interface Side {
  head: HTMLElement;
  text: TextView;
  map: CellMap;
  writing: CellMap;
  cards: Card[];
  run: Run | null;
}

// Same prompt: positions mean the same, as far as both go.
export const aligned = (a: Run, b: Run) => a.info.prompt_length === b.info.prompt_length && same_prompt(a, b);
const common_length = (a: Run, b: Run) => Math.min(a.N, b.N);
// Of one length and mask attention itself is compared; else each against its own null.
const comparable = (a: Run, b: Run) => a.N === b.N && a.info.mask === b.info.mask;
function same_prompt(a: Run, b: Run): boolean {
  for (let i = 0; i < a.info.prompt_length; ++i)
    if (a.info.tokens[i] !== b.info.tokens[i] || a.info.pieces[i] !== b.info.pieces[i]) return false;
  return true;
}
// Who stands beside a run that nobody was chosen for: its fork or parent, the same sample of another model, the same title, any.
export function beside(id: string, runs: RunSummary[]): string {
  const run = runs.find((r) => r.id === id),
    others = runs.filter((r) => r.id !== id);
  if (!run) return "";
  const fits: ((r: RunSummary) => boolean)[] = [
    (r) => r.parent === id || r.id === run.parent,
    (r) => Boolean(run.sample) && r.sample === run.sample && r.model !== run.model && r.title === run.title,
    (r) => r.title === run.title,
    () => true,
  ];
  for (const fit of fits) {
    const found = others.find(fit);
    if (found) return found.id;
  }
  return "";
}
const kin = (a: Run, b: Run) =>
  b.info.parent === a.id || a.info.parent === b.id || (Boolean(a.info.parent) && a.info.parent === b.info.parent);
// Pass beside pass for a run and its forks, also while one of them is shorter; other runs are stretched to each other.
export function step_beside(step: number, a: Run, b: Run): number {
  if (kin(a, b)) return b.step_at(a.pass(step));
  return a.S === b.S || a.S < 2 ? Math.min(step, b.S - 1) : Math.round((step * (b.S - 1)) / (a.S - 1));
}

// A pass that the other branch has not reached, or that was not recorded, is beside none.
const is_beside = (step: number, a: Run, b: Run) =>
  !kin(a, b) || a.pass(step) === b.pass(step_beside(step, a, b));

export class CompareView {
  readonly element: HTMLElement;
  readonly controls: Controls;
  private sides: Side[];
  private pick: HTMLSelectElement;
  private changed: Card;
  private difference: CellMap;
  private difference_card: Card;
  private look = "";
  private frame = 0;

  constructor(private store: Store) {
    this.controls = new Controls(store);
    this.pick = select("The run beside it", [], "", (other) => store.set({ other }));
    const side = (name: string): Side => {
      const text = new TextView(`Text of run ${name}`, (position) => store.set({ position }));
      const map = new CellMap(
        `Attention received, run ${name}`,
        (step, position) => store.set({ step, position }),
        240,
      );
      const writing = new CellMap(`How run ${name} is written`, (step, position) => store.set({ step, position }), 240);
      const out: Side = { head: h("div", { class: "run-head" }), text, map, writing, run: null, cards: [] };
      const table = () => this.side_table(out);
      out.cards = [
        new Card(`text-${name}`, `Text of ${name} at this step`, table),
        new Card(`map-${name}`, `Attention received: ${name}`, table),
        new Card(`writing-${name}`, `How ${name} is written`, table),
      ];
      out.cards[0].body.append(text.element);
      out.cards[1].body.append(map.element);
      out.cards[2].body.append(writing.element);
      return out;
    };
    this.sides = [side("A"), side("B")];
    this.changed = new Card("changed", "What differs", () => this.changed_table());
    this.difference = new CellMap(
      "Attention of B over that of A",
      (step, position) => store.set({ step, position }),
      240,
    );
    this.difference_card = new Card("difference", "Attention received: B ÷ A", () => this.difference_table());
    this.difference_card.body.append(this.difference.element);
    this.element = h(
      "div",
      { class: "compare-view" },
      h("div", { class: "row" }, h("span", {}, "Beside run A (above): "), this.pick),
      this.controls.element,
      this.changed.element,
      h(
        "div",
        { class: "pair" },
        ...this.sides.map((s) => h("div", { class: "stack" }, s.head, ...s.cards.map((c) => c.element))),
      ),
      this.difference_card.element,
    );
  }

  offer(runs: RunSummary[], state: State): void {
    set_choices(
      this.pick,
      [
        { value: "", label: "choose …" },
        ...run_choices(runs.filter((r) => r.id !== state.run)),
      ],
      state.other,
    );
  }

  private fresh(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.look = "";
      const [a, b] = this.sides;
      if (a.run) this.update(a.run, this.store.state.other ? b.run : null, this.store.state);
    });
  }
  repaint(): void {
    this.fresh();
  }

  private anchors(run: Run, state: State): (step: number) => number[] {
    const found = run.anchors(state.rows, () => this.fresh()) ?? [],
      by_step = new Map<number, number[]>();
    for (const a of found)
      if (a.layer === state.layer) by_step.set(a.step, [...(by_step.get(a.step) ?? []), a.position]);
    return (step) => by_step.get(step) ?? [];
  }

  update(a: Run, b: Run | null, state: State): void {
    this.controls.update(a);
    const look = `${a.id}/${a.S}/${b?.id}/${b?.S}/${state.layer}/${state.head}/${state.rows}/${state.null}`,
      anew = look !== this.look;
    this.look = look;
    const runs = [a, b],
      differing = b && aligned(a, b) ? this.differing(a, b, state.step) : new Set<number>();
    this.sides.forEach((side, i) => {
      const run = runs[i];
      side.cards.forEach((card) => (card.element.hidden = !run));
      if (!run) return replace(side.head, h("p", { class: "note" }, "Choose the run to stand beside it."));
      if (side.run !== run) side.text.show(run);
      side.run = run;
      const step = i ? step_beside(state.step, a, run) : state.step,
        mine = { ...state, layer: this.layer_of(run, state), head: state.head < run.H ? state.head : -1 };
      replace(
        side.head,
        h("h1", {}, `${"AB"[i]}: ${run.info.model}${run.info.parent ? ` (fork at step ${run.info.fork_step})` : ""}`),
        h("p", { class: "answer" }, "Answer: ", h("b", {}, run.answer() || "(none yet)")),
      );
      const anchored = this.anchors(run, mine);
      if (anew) {
        side.map.show(attention_source(run, mine, anchored, () => this.fresh()));
        side.writing.show(writing_source(run, mine, anchored));
      }
      side.text.paint(
        step,
        run.lift(step, mine.layer, mine.head, mine.rows, mine.null, () => this.fresh()),
        new Set(anchored(step)),
        state.position,
        differing,
      );
      side.map.select(step, state.position);
      side.writing.select(step, state.position);
    });
    this.difference_card.element.hidden = !b || !aligned(a, b);
    this.changed.element.hidden = !b;
    if (!b) return;
    if (aligned(a, b)) {
      if (anew) this.difference.show(this.difference_source(a, b, state));
      this.difference.select(state.step, state.position);
    }
    this.show_changes(a, b, state);
  }

  private layer_of(run: Run, state: State): number {
    return run.layer_index(state.layer) >= 0 ? state.layer : -1;
  }

  private differing(a: Run, b: Run, step: number): Set<number> {
    const out = new Set<number>(),
      other = step_beside(step, a, b);
    if (!is_beside(step, a, b)) return out;
    const after = !kin(a, b) || a.pass(step + 1) === b.pass(other + 1) ? 1 : 0; // or what both had before it
    for (let i = a.info.prompt_length; i < common_length(a, b); ++i)
      if (a.token_at(step + after, i) !== b.token_at(other + after, i)) out.add(i);
    return out;
  }

  private ratios(a: Run, b: Run, step: number, state: State): Float32Array | null {
    if (!is_beside(step, a, b)) return null;
    const of = (run: Run, at: number) => {
      const layer = this.layer_of(run, state),
        head = state.head < run.H ? state.head : -1,
        then = () => this.fresh();
      return comparable(a, b)
        ? run.received(at, layer, head, state.rows, then)
        : run.lift(at, layer, head, state.rows, "uniform", then);
    };
    const one = of(a, step),
      two = of(b, step_beside(step, a, b));
    return one && two
      ? one.subarray(0, common_length(a, b)).map((v, i) => (v > 0 && two[i] > 0 ? two[i] / v : NaN))
      : null;
  }

  private difference_source(a: Run, b: Run, state: State) {
    return {
      first: 0,
      end: common_length(a, b),
      steps: a.S,
      pass: (step: number) => a.pass(step),
      bands: bands_of(a),
      outlined: () => [],
      row: (step: number, position: number, count: number, group: number, out: Int32Array) => {
        const ratio = this.ratios(a, b, step, state);
        for (let i = 0; i < count; ++i) {
          let far = 1;
          for (let p = position + i * group; p < Math.min(position + (i + 1) * group, common_length(a, b)); ++p) {
            const v = ratio ? ratio[p] : NaN;
            if (Math.abs(Math.log(v)) > Math.abs(Math.log(far))) far = v;
          }
          out[i] = ratio ? level_color(level_of(far ** 2)) : -1; // squared: the scale ends at 4 times
        }
      },
      say: (step: number, position: number) =>
        `step ${a.pass(step)}, position ${position}: B receives ${times(this.ratios(a, b, step, state)?.[position] ?? NaN)} what A receives${comparable(a, b) ? "" : ", each over its null"}`,
    };
  }

  // Whether everything recorded before the fork is the same, bit for bit; null where it cannot be told yet.
  private same_before(a: Run, b: Run, step: number, state: State): boolean | null {
    for (let t = 0; t < Math.min(step, a.S); ++t) {
      const u = step_beside(t, a, b); // of a trace that has not every step, all are computed again
      if (!is_beside(t, a, b)) return null;
      for (let i = 0; i < a.N; ++i) if (a.token_at(t, i) !== b.token_at(u, i)) return false;
      const one = a.received(t, state.layer, -1, "all", () => this.fresh()),
        two = b.received(u, state.layer, -1, "all", () => this.fresh());
      if (!one || !two) return null;
      for (let i = 0; i < a.N; ++i) if (one[i] !== two[i]) return false;
    }
    return true;
  }

  private show_changes(a: Run, b: Run, state: State): void {
    const out: HTMLElement[] = [];
    const parent = b.info.parent === a.id,
      at = a.index_of(b.info.fork_step),
      pass = b.info.fork_step ?? at;
    if (parent) {
      const what = (b.info.changes ?? []).flatMap((c) => changes_in_words(a, c, b));
      out.push(h("p", {}, `B branches off from A before step ${pass}${what.length ? `: ${what.join("; ")}` : ""}.`));
      const held = pins_in_words(b, state.layer);
      if (held) out.push(h("p", {}, held));
      const same = aligned(a, b) ? this.same_before(a, b, at, state) : null;
      if (same !== null)
        out.push(
          h(
            "p",
            { class: same ? "good" : "bad" },
            same
              ? `Before step ${pass}: the same tokens and the same attention, bit for bit.`
              : `Before step ${pass} the two differ, which they should not.`,
          ),
        );
    }
    if (!aligned(a, b)) {
      out.push(
        h(
          "p",
          {},
          `The prompts are cut into different tokens: ${a.N} and ${b.N}. Answers: ${quoted(shortened(a.answer()))} and ${quoted(shortened(b.answer()))}.`,
        ),
      );
      return replace(this.changed.body, ...out);
    }
    const tokens = this.changed_tokens(a, b),
      so_far = a.info.state === "done" && b.info.state === "done" ? "" : "So far ";
    out.push(
      h(
        "p",
        {},
        tokens.length
          ? `${so_far}${plural(tokens.length, "token of the answer differs", "tokens of the answer differ")}: ${tokens
              .slice(0, 8)
              .map((i) => `${i}: ${quoted(a.piece(a.info.tokens[i]))} → ${quoted(b.piece(b.info.tokens[i]))}`)
              .join(", ")}${tokens.length > 8 ? " …" : ""}.`
          : so_far
            ? "So far no token of the answer differs."
            : "The answers are the same, token by token.",
      ),
    );
    const ratio = this.ratios(a, b, state.step, state);
    if (ratio) {
      const order = Array.from(ratio, (v, i) => ({ v, i }))
        .filter(({ v }) => v > 0)
        .sort((x, y) => Math.abs(Math.log(y.v)) - Math.abs(Math.log(x.v)))
        .slice(0, 5);
      const far = order.filter(({ v }) => Math.abs(Math.log(v)) > 0.01);
      out.push(
        h(
          "p",
          {},
          far.length
            ? `In attention, at step ${a.pass(state.step)}: ${far.map(({ v, i }) => `${quoted(a.piece(a.info.tokens[i]))} at ${i} receives ${times(v)}`).join(", ")} of what it does in A${comparable(a, b) ? "" : ", each over its null"}.`
            : `In attention, at step ${a.pass(state.step)}: no token receives more or less than in A by 1 %.`,
        ),
      );
    }
    replace(this.changed.body, ...out);
  }

  private changed_tokens(a: Run, b: Run): number[] {
    const out: number[] = [];
    for (let i = a.info.prompt_length; i < common_length(a, b); ++i)
      if (a.info.tokens[i] !== b.info.tokens[i] && a.is_written(i) && b.is_written(i)) out.push(i);
    return out;
  }

  private changed_table() {
    const [{ run: a }, { run: b }] = this.sides,
      columns = ["position", "token_a", "text_a", "token_b", "text_b"];
    return {
      columns,
      rows:
        a && b && aligned(a, b)
          ? this.changed_tokens(a, b).map((i) => [
              i,
              a.info.tokens[i],
              a.piece(a.info.tokens[i]),
              b.info.tokens[i],
              b.piece(b.info.tokens[i]),
            ])
          : [],
    };
  }
  private difference_table() {
    const [{ run: a }, { run: b }] = this.sides,
      rows: (number | string | null)[][] = [];
    for (let t = 0; a && b && t < a.S; ++t)
      this.ratios(a, b, t, this.store.state)?.forEach((v, i) => rows.push([a.pass(t), i, v]));
    return { columns: ["step", "position", "b_over_a"], rows };
  }
  private side_table(side: Side) {
    const run = side.run,
      s = this.store.state,
      rows: (number | string | null)[][] = [];
    for (let t = 0; run && t < run.S; ++t) {
      const lift = run.lift(t, this.layer_of(run, s), s.head < run.H ? s.head : -1, s.rows, s.null, () => {});
      for (let i = 0; i < run.N; ++i)
        rows.push([run.pass(t), i, run.piece(run.token_at(t, i)), run.writing(t, i), lift ? lift[i] : null]);
    }
    return { columns: ["step", "position", "text", "state", "received_over_null"], rows };
  }
}
