// One run: text, maps, anchors, flow, and the chosen token's panels, all of one state.
import { Card } from "./card";
import { CellMap } from "./cell_map";
import { lift_legend } from "./chart";
import { Controls } from "./controls";
import { button, h, replace } from "./dom";
import { FlowPanel } from "./flow_panel";
import { ForkPanel } from "./fork";
import { attention_source, writing_source } from "./maps";
import { Run } from "./run";
import { State, Store } from "./state";
import { TextView } from "./text_view";
import { TokenPanel } from "./token_panel";
import { anchors_in_words, layers_in_words, quoted, times } from "./words";

// What decides the maps' colours; step and position do not.
const look_of = (run: Run, s: State) => `${run.id}/${run.S}/${s.layer}/${s.head}/${s.rows}/${s.null}`;

export class RunView {
  readonly element: HTMLElement;
  readonly controls: Controls;
  private head = h("div", { class: "run-head" });
  private text: TextView;
  private text_card: Card;
  private map: CellMap;
  private map_card: Card;
  private writing: CellMap;
  private writing_card: Card;
  private anchor_card: Card;
  private flow: FlowPanel;
  private panel: TokenPanel;
  private fork: ForkPanel;
  private run: Run | null = null;
  private look = "";
  private repaint_frame = 0;
  private rest_timer = 0;
  private last_update = 0;

  constructor(
    private store: Store,
    private live: () => boolean,
    forked: (id: string) => void,
  ) {
    const choose = (position: number, event?: MouseEvent) => {
      const second = event?.shiftKey && store.state.position >= 0;
      store.set(second ? { target: position } : { position, target: -1 });
    };
    this.controls = new Controls(store);
    this.text = new TextView("The text at this step; choose a token", choose);
    this.text_card = new Card("text", "The text at this step", () => this.text_table());
    this.text_card.body.append(this.text.element);
    this.map = new CellMap("Received attention, positions by steps", (step, position) =>
      store.set({ step, position, target: -1 }),
    );
    this.map_card = new Card("map", "Attention received: tokens × steps", () => this.map_table());
    this.writing = new CellMap(
      "How the answer is written, positions by steps",
      (step, position) => store.set({ step, position, target: -1 }),
      420,
    );
    this.writing_card = new Card("writing", "How the answer is written", () => this.writing_table());
    for (const [card, map] of [
      [this.map_card, this.map],
      [this.writing_card, this.writing],
    ] as const) {
      card.body.append(map.element);
      card.tool(
        button("−", () => map.zoom(0.5), { "aria-label": "Zoom out" }),
        button("+", () => map.zoom(2), { "aria-label": "Zoom in" }),
      );
    }
    this.writing_card.body.append(
      h(
        "ul",
        { class: "key" },
        ...[
          ["k-guess", "guess of a mask, the surer the stronger"],
          ["k-new", "written at this step"],
          ["k-old", "written before"],
          ["k-anchor", "anchor"],
        ].map(([look, what]) => h("li", {}, h("i", { class: look }), what)),
      ),
    );
    this.anchor_card = new Card("anchors", "Anchors: what floats, what stays", () => this.anchor_table());
    this.flow = new FlowPanel(store);
    this.panel = new TokenPanel(store);
    this.fork = new ForkPanel(store, forked);
    this.element = h(
      "div",
      { class: "run-view" },
      this.head,
      this.controls.element,
      h(
        "div",
        { class: "columns" },
        h(
          "div",
          { class: "left" },
          this.anchor_card.element,
          this.text_card.element,
          this.map_card.element,
          this.writing_card.element,
          this.flow.card.element,
        ),
        h(
          "div",
          { class: "right" },
          this.panel.about.element,
          this.panel.grid.element,
          this.panel.rows.element,
          this.panel.candidates.element,
          this.fork.card.element,
        ),
      ),
    );
  }

  anchored(step: number): number[] {
    const run = this.run,
      s = this.store.state;
    if (!run || s.layer < 0) return run ? this.mean_anchors(run, step, s) : [];
    return (run.anchors(s.rows, () => this.fresh()) ?? [])
      .filter((a) => a.step === step && a.layer === s.layer)
      .map((a) => a.position);
  }

  // Of the mean over layers: positions that are anchors in at least half of them.
  private mean_anchors(run: Run, step: number, s: State): number[] {
    const counts = new Map<number, number>();
    for (const a of run.anchors(s.rows, () => this.fresh()) ?? [])
      if (a.step === step) counts.set(a.position, (counts.get(a.position) ?? 0) + 1);
    return Array.from(counts)
      .filter(([, n]) => n * 2 >= run.L)
      .map(([p]) => p);
  }

  // New data have come: paint again what depends on it, once a frame.
  private fresh(): void {
    if (this.repaint_frame) return;
    this.repaint_frame = requestAnimationFrame(() => {
      this.repaint_frame = 0;
      this.look = "";
      if (this.run) this.update(this.run, this.store.state);
    });
  }

  update(run: Run, state: State): void {
    if (this.run !== run) {
      this.run = run;
      this.look = "";
      this.text.show(run);
    }
    this.controls.update(run);
    const look = look_of(run, state);
    if (look !== this.look) {
      this.look = look;
      this.show_head(run);
      this.index_anchors();
      this.map.show(
        attention_source(
          run,
          state,
          (step) => this.anchors_at.get(step) ?? [],
          () => this.fresh(),
        ),
      );
      this.writing.show(writing_source(run, state, (step) => this.anchors_at.get(step) ?? []));
      const legend = lift_legend(state.null === "none" ? "1/N" : state.null === "first" ? "the first step" : "uniform");
      this.map_card.element.querySelector(".legend")?.remove();
      this.map_card.tool(legend);
    }
    this.map_card.say(run.why_not(state.rows, state.head, state.null));
    this.writing_card.say(
      run.guesses_missing() ? "What was guessed of masks is not in this trace: an older version wrote it." : "",
    );
    const lift = run.lift(state.step, state.layer, state.head, state.rows, state.null, () => this.fresh());
    this.text.paint(state.step, lift, new Set(this.anchors_at.get(state.step) ?? []), state.position);
    this.map.select(state.step, state.position);
    this.writing.select(state.step, state.position);
    this.show_anchors(run, state);
    // While the step moves fast only what shows the step is drawn; the rest follows when it rests.
    const now = performance.now(),
      fast = now - this.last_update < 100;
    this.last_update = now;
    window.clearTimeout(this.rest_timer);
    if (fast) this.rest_timer = window.setTimeout(() => this.update_rest(run), 80);
    else this.update_rest(run);
  }

  private update_rest(run: Run): void {
    if (this.run !== run) return;
    const state = this.store.state;
    this.flow.update(run, state);
    this.panel.update(run, state);
    this.fork.update(run, state, this.live() && run.info.can_recompute);
  }

  private anchors_at = new Map<number, number[]>();
  private index_anchors(): void {
    this.anchors_at.clear();
    for (let step = 0; step < (this.run?.S ?? 0); ++step) this.anchors_at.set(step, this.anchored(step));
  }

  zoom(factor: number): void {
    this.map.zoom(factor);
  }

  repaint(): void {
    this.look = "";
    if (this.run) this.update(this.run, this.store.state);
  }

  private show_head(run: Run): void {
    const i = run.info,
      gold = i.gold?.length ? ` · expected: ${i.gold.join(" / ")}` : "";
    replace(
      this.head,
      h("h1", {}, i.title || i.id),
      h(
        "p",
        { class: "soft" },
        `${i.model} · ${i.family} · ${run.N} tokens, ${i.prompt_length} of them prompt · ${run.S} steps · ${run.L} layers × ${run.H} heads${run.mixers_in_words()}`,
      ),
      h("p", { class: "answer" }, "Answer: ", h("b", {}, run.answer() || "(none yet)"), gold),
    );
  }

  private show_anchors(run: Run, state: State): void {
    const anchors = run.anchors(state.rows, () => this.fresh());
    if (!anchors || !run.knows_anchors(state.rows, state.step)) return this.anchor_card.clear("Looking for anchors…");
    this.anchor_card.say("");
    const item = (layer: number, position: number, text: string) => {
      const row = button(text, () => this.store.set({ layer, position, target: -1 }), { class: "link keep" });
      return h("li", {}, row);
    };
    if (state.layer < 0) {
      const now = anchors.filter((a) => a.step === state.step),
        by_position = new Map<number, typeof now>();
      for (const a of now) by_position.set(a.position, [...(by_position.get(a.position) ?? []), a]);
      const order = Array.from(by_position)
        .sort((a, b) => b[1].length - a[1].length || a[0] - b[0])
        .slice(0, 8);
      return replace(
        this.anchor_card.body,
        h("p", { class: "lead" }, layers_in_words(run, anchors, state.step)),
        h(
          "ol",
          { class: "words" },
          ...order.map(([p, list]) => {
            const best = list.reduce((a, b) => (b.lift > a.lift ? b : a));
            return item(
              best.layer,
              p,
              `${this.token_words(run, state.step, p)}, ${best.region}: anchor in ${list.length} of ${run.L} layers, strongest in layer ${best.layer} (${times(best.lift)} its null)`,
            );
          }),
        ),
      );
    }
    const now = anchors.filter((a) => a.step === state.step && a.layer === state.layer).sort((a, b) => b.lift - a.lift);
    replace(
      this.anchor_card.body,
      h("p", { class: "lead" }, anchors_in_words(run, anchors, state.step, state.layer)),
      h(
        "ol",
        { class: "words" },
        ...now
          .slice(0, 8)
          .map((a) =>
            item(
              a.layer,
              a.position,
              `${this.token_words(run, state.step, a.position)}, ${a.region}, ${a.class}: receives ${times(a.lift)} its null`,
            ),
          ),
      ),
    );
  }

  private token_words(run: Run, step: number, position: number): string {
    const state = run.writing(step, position);
    return `${state === "mask" || state === "new" ? "the mask" : quoted(run.piece(run.token_at(step, position)))} at ${position}`;
  }

  private text_table() {
    const run = this.run,
      s = this.store.state,
      columns = ["position", "token", "text", "region", "class", "state", "received_over_null", "anchor"];
    if (!run) return { columns, rows: [] };
    const lift = run.lift(s.step, s.layer, s.head, s.rows, s.null, () => {}),
      anchors = new Set(this.anchors_at.get(s.step) ?? []);
    return {
      columns,
      rows: run.info.tokens.map((_, i) => [
        i,
        run.token_at(s.step, i),
        run.piece(run.token_at(s.step, i)),
        run.info.regions[i],
        run.info.classes[i],
        run.writing(s.step, i),
        lift ? lift[i] : null,
        anchors.has(i) ? 1 : 0,
      ]),
    };
  }

  private map_table() {
    const run = this.run,
      s = this.store.state,
      rows: (string | number | null)[][] = [];
    for (let t = 0; run && t < run.S; ++t) {
      const lift = run.lift(t, s.layer, s.head, s.rows, s.null, () => {}),
        anchors = new Set(this.anchors_at.get(t) ?? []);
      for (let i = 0; lift && i < run.N; ++i)
        rows.push([run.pass(t), i, lift[i], anchors.has(i) ? 1 : 0]);
    }
    return { columns: ["step", "position", "received_over_null", "anchor"], rows };
  }

  private writing_table() {
    const run = this.run,
      rows: (string | number | null)[][] = [];
    for (let t = 0; run && t < run.S; ++t) {
      for (let i = run.info.prompt_length; i < run.N; ++i) {
        const state = run.writing(t, i),
          guess = run.guess(t, i),
          token = run.token_at(state === "new" ? t + 1 : t, i);
        rows.push([
          run.pass(t),
          i,
          state,
          state === "mask" || state === "absent" ? "" : run.piece(token),
          guess >= 0 ? run.piece(guess) : "",
        ]);
      }
    }
    return { columns: ["step", "position", "state", "text", "guess"], rows };
  }

  private anchor_table() {
    const run = this.run,
      anchors = run?.anchors(this.store.state.rows, () => {}) ?? [];
    return {
      columns: ["step", "layer", "position", "text", "region", "class", "lift"],
      rows: anchors.map((a) => [
        run?.pass(a.step) ?? a.step,
        a.layer,
        a.position,
        run ? run.piece(run.token_at(a.step, a.position)) : "",
        a.region,
        a.class,
        a.lift,
      ]),
    };
  }
}
