// Touch a run: hide a key, cut a head, pin anchors, force or re-mask a token at a step, then branch off from there.
import { Change, run_path, send } from "./api";
import { Card } from "./card";
import { button, h, replace } from "./dom";
import { reason, Run } from "./run";
import { State, Store } from "./state";
import { plural, quoted } from "./words";

// All layers are one line.
const all_layers = (run: Run, layers: number[]) => layers.length > 1 && layers.length === run.L;
const pinned_layers = (run: Run, layers: number[]) =>
  all_layers(run, layers) ? ["anchors pinned: all layers"] : layers.map((l) => `anchors pinned: layer ${l}`);

// Tokens are called as the run has them, forced ones as the branch does: the run may not know them.
export function changes_in_words(run: Run, change: Change, branch = run): string[] {
  const token = (p: number) => `${quoted(run.piece(run.info.tokens[p]))} at ${p}`;
  return [
    ...(change.hide_keys ?? []).map((p) => `key hidden: ${token(p)}`),
    ...(change.cut_heads ?? []).map(([l, i]) => `head cut: layer ${l}, head ${i}`),
    ...pinned_layers(run, change.pin_anchors ?? []),
    ...(change.force ?? []).map(
      (f) => `forced at ${f.position}: ${f.text !== undefined ? quoted(f.text) : quoted(branch.piece(f.token ?? -1))}`,
    ),
    ...(change.remask ?? []).map((p) => `masked again: ${token(p)}`),
  ];
}

// Where a run's anchors are held in a layer (-1: how many layers), and what that took; nothing where none are.
export function pins_in_words(run: Run, layer: number): string {
  const pins = (run.info.pins ?? []).filter((p) => layer < 0 || p.layer === layer);
  if (pins.length === 0) return "";
  const sum = (of: (p: (typeof pins)[0]) => number) => pins.reduce((total, p) => total + of(p), 0),
    pressed = sum((p) => p.pressed),
    unsettled = sum((p) => p.unsettled),
    places = pins[0].positions.map((p) => `${quoted(run.piece(run.info.tokens[p]))} at ${p}`);
  const where =
    layer < 0
      ? `Anchors are held in ${plural(pins.length, "layer", "layers")}`
      : places.length
        ? `Layer ${layer} is held at ${places.slice(0, 6).join(", ")}${places.length > 6 ? " …" : ""}`
        : `Layer ${layer} is to be held, and has had no anchors yet`;
  const took = pressed
    ? `what ${plural(pressed, "key", "keys")} would have drawn as anchors went there, over all steps so far`
    : "nothing had to be moved for it";
  const missed = unsettled
    ? `; in ${plural(unsettled, "pass", "passes")} that was out of reach, and nothing was moved`
    : "";
  return `${where}: ${took}${missed}.`;
}

const nothing = (): Required<Omit<Change, "step">> => ({
  hide_keys: [],
  cut_heads: [],
  pin_anchors: [],
  force: [],
  remask: [],
});

// Once is enough: "" as what speaks against it.
const add = (list: number[], p: number) => {
  if (!list.includes(p)) list.push(p);
  return "";
};

export class ForkPanel {
  readonly card: Card;
  private change = nothing();
  private closed = false; // no model is at hand: of the run before, or of one that still waits for it
  private run: Run | null = null;
  private text = h("input", {
    type: "text",
    "aria-label": "Text to force",
    placeholder: "text to force",
    maxlength: 200,
  });
  private chosen = h("p", { class: "soft" });
  private list = h("ul", { class: "changes" });
  private go: HTMLButtonElement;
  private tools: HTMLElement;

  constructor(
    private store: Store,
    private opened: (id: string) => void,
  ) {
    this.card = new Card("fork", "Touch it", () => ({ columns: ["change"], rows: this.words().map((w) => [w]) }));
    const act = (label: string, why: string, apply: (p: number) => string, written = false) =>
      button(
        label,
        () => {
          const p = this.store.state.position;
          if (p < 0) return this.card.say("Choose a token first.");
          if (written && p < (this.run?.info.prompt_length ?? 0))
            return this.card.say("The prompt stays as it was given: choose a token of the answer.");
          this.changed(apply(p));
        },
        { title: why },
      );
    this.go = button("Fork", () => void this.fork(), { class: "primary" });
    this.tools = h(
      "div",
      { class: "row" },
      act("Hide key", "Nobody can attend to this token from here on", (p) => add(this.change.hide_keys, p)),
      act("Re-mask", "This token becomes a mask again", (p) => add(this.change.remask, p), true),
      button(
        "Cut head",
        () => {
          const { layer, head } = this.store.state;
          if (layer < 0 || head < 0)
            return this.card.say("Choose a layer and a head first (click a cell of layers × heads).");
          if (!this.change.cut_heads.some(([l, i]) => l === layer && i === head))
            this.change.cut_heads.push([layer, head]);
          this.changed();
        },
        { title: "The chosen head of the chosen layer contributes nothing from here on" },
      ),
      button("Pin anchors", () => this.pin(), {
        title:
          "The anchors of the chosen layer (of all, with the mean) stay those of this step: what other tokens would draw as anchors goes to them",
      }),
      this.text,
      act(
        "Force",
        "This text is written at the chosen token",
        (p) => {
          if (this.text.value === "") return "Write the text to force first: one token of the model's vocabulary.";
          this.change.force = [
            ...this.change.force.filter((f) => f.position !== p),
            { position: p, text: this.text.value },
          ];
          this.text.value = "";
          return "";
        },
        true,
      ),
    );
    replace(
      this.card.body,
      this.chosen,
      this.tools,
      this.list,
      h(
        "div",
        { class: "row" },
        this.go,
        button("Clear", () => this.clear()),
      ),
    );
  }

  private clear(): void {
    this.change = nothing();
    this.changed();
  }

  private pin(): void {
    const { layer } = this.store.state;
    this.change.pin_anchors =
      layer >= 0 ? [...new Set([...this.change.pin_anchors, layer])] : [...(this.run?.info.layers ?? [])];
    this.changed();
  }

  private words(): string[] {
    return this.run ? changes_in_words(this.run, this.change) : [];
  }

  private drop(index: number): void {
    const { hide_keys, cut_heads, pin_anchors, force, remask } = this.change;
    for (const list of [hide_keys, cut_heads, pin_anchors, force, remask] as unknown[][]) {
      const one_line = list === pin_anchors && this.run !== null && all_layers(this.run, pin_anchors),
        lines = one_line ? 1 : list.length;
      if (index < lines) {
        list.splice(index, one_line ? list.length : 1);
        break;
      }
      index -= lines;
    }
    this.changed();
  }

  // What was said of the changes before no longer holds; what is said stays while the view is only drawn anew.
  private changed(why_not = ""): void {
    this.show();
    this.card.say(why_not);
  }

  private show(): void {
    const words = this.words();
    replace(
      this.list,
      ...words.map((text, i) =>
        h(
          "li",
          {},
          text,
          " ",
          button("×", () => this.drop(i), { class: "small", "aria-label": `Drop: ${text}` }),
        ),
      ),
    );
    this.go.disabled = words.length === 0;
    this.go.textContent = `Fork at step ${this.run?.pass(this.store.state.step) ?? 0}`;
  }

  update(run: Run, state: State, live: boolean): void {
    if (this.run?.id !== run.id) this.clear();
    this.run = run;
    this.chosen.textContent =
      state.position >= 0
        ? `Chosen: ${quoted(run.piece(run.info.tokens[state.position]))} at ${state.position}. Before step ${run.pass(state.step)} the branch is the same, bit for bit.`
        : "Choose a token, say what should happen to it from this step on, and let the run branch.";
    this.show();
    if (!live) {
      this.go.disabled = true;
      this.card.say("Forks need the model: start buoy serve, or view with the model at hand.");
    } else if (this.closed) this.card.say("");
    this.closed = !live;
  }

  private async fork(): Promise<void> {
    const run = this.run;
    if (!run) return;
    this.go.disabled = true;
    try {
      const made = await send<{ id: string }>("POST", `${run_path(run.id)}/fork`, {
        step: this.store.state.step,
        ...this.change,
      });
      if (made) this.opened(made.id);
    } catch (error) {
      this.show();
      this.card.say(reason(error));
    }
  }
}
