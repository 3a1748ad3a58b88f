// A guided walk through the run view: what floats, in a minute. Can be left at any time.
import { button, h, replace } from "./dom";
import { Store } from "./state";

interface Stop {
  at: string; // what it points at
  title: string;
  text: string;
  go?: (store: Store, last: number) => void;
}

const STOPS: Stop[] = [
  {
    at: ".run-head",
    title: "A model answers",
    text: "This is one run of a language model. A masked model starts with an answer made of masks and fills them in over several steps; an autoregressive one appends token after token.",
    go: (s) => s.set({ view: "run", step: 0 }),
  },
  {
    at: ".controls",
    title: "Time",
    text: "Move the step with the slider, the arrow keys or Play. Everything on the page follows, and the address in the browser always holds what you see.",
    go: (s, last) => s.set({ step: Math.floor(last / 2) }),
  },
  {
    at: ".card.text",
    title: "Who is looked at",
    text: "Orange tokens receive more attention than they would if attention were spread evenly; blue ones less. Boxes are masks, underlined tokens are being written at this step.",
  },
  {
    at: ".card.anchors",
    title: "What floats",
    text: "A few tokens receive many times their share: anchors, outlined in the text. Where they stand in other layers, or at other steps, they float; where it is always the same token, often the first, it is a sink. The words here count which it is.",
    go: (s) => s.set({ layer: 4 }),
  },
  {
    at: ".card.map",
    title: "All steps at once",
    text: "Each row is a step, each column a token. A mark that runs straight down is an anchor that stays; one that begins or ends has floated. Change the layer with [ and ].",
  },
  {
    at: ".card.grid",
    title: "Look closer",
    text: "Click any token: the grid shows every layer and head, and below it what the token attends to and who attends to it, recomputed exactly.",
    go: (s) => s.state.position < 0 && s.set({ position: 0 }),
  },
  {
    at: ".card.fork",
    title: "Touch it",
    text: "With a model at hand you can hide a key, cut a head or force a token, and let the run branch: both branches then stand side by side. Press ? for all keys. That is all.",
  },
];

export class Tour {
  private box = h("aside", { class: "tour", role: "dialog", "aria-label": "Guided tour", hidden: true });
  private at = 0;
  private lit: Element | null = null;
  onend: () => void = () => {};

  constructor(
    private store: Store,
    private steps: () => number,
  ) {
    document.body.append(this.box);
  }
  get running(): boolean {
    return !this.box.hidden;
  }

  start(): void {
    this.at = 0;
    this.show();
  }

  private show(): void {
    const stop = STOPS[this.at];
    stop.go?.(this.store, this.steps() - 1);
    this.lit?.classList.remove("lit");
    // The state changes on the next frame, and panels with it.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        this.lit = document.querySelector(stop.at);
        this.lit?.classList.add("lit");
        this.lit?.scrollIntoView({ block: "center" });
      }),
    );
    this.box.hidden = false;
    const last = this.at === STOPS.length - 1;
    const next = button(last ? "Done" : "Next", () => (last ? this.end() : this.move(1)), { class: "primary" });
    replace(
      this.box,
      h("small", { class: "soft" }, `${this.at + 1} of ${STOPS.length}`),
      h("h2", {}, stop.title),
      h("p", {}, stop.text),
      h(
        "div",
        { class: "row" },
        next,
        this.at > 0 && button("Back", () => this.move(-1)),
        !last && button("Skip the tour", () => this.end(), { class: "skip-tour" }),
      ),
    );
    next.focus({ preventScroll: true });
  }

  move(by: number): void {
    this.at = Math.max(0, Math.min(STOPS.length - 1, this.at + by));
    this.show();
  }

  end(): void {
    this.box.hidden = true;
    this.lit?.classList.remove("lit");
    this.onend();
  }
}
