// Touch a run: hide a key, cut a head, force or re-mask a token at a step, then branch off from there.
import { Change, run_path, send } from "./api";
import { Card } from "./card";
import { button, h, replace } from "./dom";
import { reason, Run } from "./run";
import { State, Store } from "./state";
import { quoted } from "./words";

export function changes_in_words(run: Run, change: Change): string[] {
  const token = (p: number) => `${quoted(run.piece(run.info.tokens[p]))} at ${p}`;
  return [
    ...(change.hide_keys ?? []).map((p) => `key hidden: ${token(p)}`),
    ...(change.cut_heads ?? []).map(([l, i]) => `head cut: layer ${l}, head ${i}`),
    ...(change.force ?? []).map(
      (f) => `forced at ${f.position}: ${f.text !== undefined ? quoted(f.text) : quoted(run.piece(f.token ?? -1))}`,
    ),
    ...(change.remask ?? []).map((p) => `masked again: ${token(p)}`),
  ];
}

export class ForkPanel {
  readonly card: Card;
  private change: Required<Omit<Change, "step">> = { hide_keys: [], cut_heads: [], force: [], remask: [] };
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
    const act = (label: string, why: string, apply: (p: number) => void) =>
      button(
        label,
        () => {
          const p = this.store.state.position;
          if (p < 0) return this.card.say("Choose a token first.");
          apply(p);
          this.show();
        },
        { title: why },
      );
    this.go = button("Fork", () => void this.fork(), { class: "primary" });
    this.tools = h(
      "div",
      { class: "row" },
      act("Hide key", "Nobody can attend to this token from here on", (p) => this.change.hide_keys.push(p)),
      act("Re-mask", "This token becomes a mask again", (p) => this.change.remask.push(p)),
      button(
        "Cut head",
        () => {
          const { layer, head } = this.store.state;
          if (layer < 0 || head < 0)
            return this.card.say("Choose a layer and a head first (click a cell of layers × heads).");
          this.change.cut_heads.push([layer, head]);
          this.show();
        },
        { title: "The chosen head of the chosen layer contributes nothing from here on" },
      ),
      this.text,
      act("Force", "This text is written at the chosen token", (p) => {
        if (this.text.value !== "") this.change.force.push({ position: p, text: this.text.value });
      }),
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
    this.change = { hide_keys: [], cut_heads: [], force: [], remask: [] };
    this.show();
  }

  private words(): string[] {
    return this.run ? changes_in_words(this.run, this.change) : [];
  }

  private drop(index: number): void {
    for (const list of [
      this.change.hide_keys,
      this.change.cut_heads,
      this.change.force,
      this.change.remask,
    ] as unknown[][]) {
      if (index < list.length) {
        list.splice(index, 1);
        break;
      }
      index -= list.length;
    }
    this.show();
  }

  private show(): void {
    this.card.say("");
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
    this.go.textContent = `Fork at step ${this.store.state.step}`;
  }

  update(run: Run, state: State, live: boolean): void {
    if (this.run?.id !== run.id) this.change = { hide_keys: [], cut_heads: [], force: [], remask: [] };
    this.run = run;
    this.chosen.textContent =
      state.position >= 0
        ? `Chosen: ${quoted(run.piece(run.info.tokens[state.position]))} at ${state.position}. Before step ${state.step} the branch is the same, bit for bit.`
        : "Choose a token, say what should happen to it from this step on, and let the run branch.";
    this.show();
    if (!live) {
      this.go.disabled = true;
      this.card.say("Forks need the model: start buoy serve, or view with the model at hand.");
    }
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
