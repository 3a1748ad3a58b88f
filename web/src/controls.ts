// The bar that holds step, layer, head, rows and null; plays; the same for one run and for two.
import { button, field, h, select, set_choices } from "./dom";
import { Run } from "./run";
import { Null, Rows, Store } from "./state";

const PACE = 350; // milliseconds a step while playing

export class Controls {
  readonly element: HTMLElement;
  private slider = h("input", { type: "range", min: 0, max: 0, step: 1, class: "scrubber", "aria-label": "Step" });
  private count = h("output", { class: "count" });
  private play_button: HTMLButtonElement;
  private layer: HTMLSelectElement;
  private head: HTMLSelectElement;
  private rows: HTMLSelectElement;
  private null_: HTMLSelectElement;
  private timer = 0;
  private steps = 1;

  constructor(private store: Store) {
    this.slider.addEventListener("input", () => store.set({ step: Number(this.slider.value) }));
    this.play_button = button("▶ Play", () => this.toggle(), {
      class: "play",
      "aria-pressed": "false",
      title: "Play the steps (space)",
    });
    this.layer = select("Layer", [], "", (v) => store.set({ layer: Number(v) }));
    this.head = select("Head", [], "", (v) => store.set({ head: Number(v) }));
    this.rows = select(
      "Rows",
      [
        { value: "all", label: "all rows" },
        { value: "read", label: "rows that write" },
      ],
      "all",
      (v) => store.set({ rows: v as Rows }),
    );
    this.null_ = select(
      "Null",
      [
        { value: "uniform", label: "÷ uniform" },
        { value: "first", label: "÷ the first step" },
        { value: "none", label: "× N, no null" },
      ],
      "uniform",
      (v) => store.set({ null: v as Null }),
    );
    this.element = h(
      "div",
      { class: "controls", role: "toolbar", "aria-label": "What is looked at" },
      h(
        "div",
        { class: "steps" },
        this.play_button,
        button("‹", () => this.move(-1), { "aria-label": "One step back" }),
        this.slider,
        button("›", () => this.move(1), { "aria-label": "One step on" }),
        this.count,
      ),
      h(
        "div",
        { class: "choices" },
        field("Layer", this.layer),
        field("Head", this.head),
        field("Rows", this.rows),
        field("Null", this.null_),
      ),
    );
  }

  get playing(): boolean {
    return this.timer !== 0;
  }

  move(by: number): void {
    const step = Math.max(0, Math.min(this.steps - 1, this.store.state.step + by));
    this.store.set({ step });
  }

  move_layer(by: number, run: Run): void {
    const order = [-1, ...run.info.layers],
      at = order.indexOf(this.store.state.layer);
    this.store.set({ layer: order[Math.max(0, Math.min(order.length - 1, at + by))] });
  }

  toggle(): void {
    if (this.timer) {
      window.clearInterval(this.timer);
      this.timer = 0;
    } else {
      if (this.store.state.step >= this.steps - 1) this.store.set({ step: 0 });
      this.timer = window.setInterval(() => {
        if (this.store.state.step >= this.steps - 1) this.toggle();
        else this.move(1);
      }, PACE);
    }
    this.play_button.textContent = this.timer ? "❚❚ Pause" : "▶ Play";
    this.play_button.setAttribute("aria-pressed", String(this.timer !== 0));
  }

  update(run: Run, steps = run.S): void {
    const state = this.store.state;
    this.steps = steps;
    this.slider.max = String(steps - 1);
    this.slider.value = String(state.step);
    const pass = run.pass(state.step);
    this.slider.setAttribute("aria-valuetext", `step ${pass} of ${steps}`);
    this.count.textContent = `step ${pass} of 0 … ${run.pass(steps - 1)}`;
    set_choices(
      this.layer,
      [{ value: "-1", label: "mean" }, ...run.info.layers.map((l) => ({ value: String(l), label: String(l) }))],
      String(state.layer),
    );
    set_choices(
      this.head,
      [
        { value: "-1", label: "mean" },
        ...Array.from({ length: run.H }, (_, i) => ({ value: String(i), label: String(i) })),
      ],
      String(state.head),
    );
    if (this.rows.value !== state.rows) this.rows.value = state.rows;
    if (this.null_.value !== state.null) this.null_.value = state.null;
  }
}
