// A guided walk: what floats, in a minute, on two models of each kind. Can be left at any time.
import { button, h, replace } from "./dom";
import { reason, Run } from "./run";
import { Store } from "./state";
import { Facts, find_facts, name_of, says_where } from "./tour_facts";

interface Stop {
  at: string; // what it points at
  title: string;
  text: (facts: Facts) => string;
  go?: (facts: Facts, store: Store) => void;
  when?: (facts: Facts) => boolean;
}

const run_view = (facts: Facts) => ({ view: "run" as const, run: facts.masked.id, position: -1, target: -1, head: -1 });
const to_first_step = (facts: Facts, store: Store) => store.set({ ...run_view(facts), step: 0, layer: -1 });

const STOPS: Stop[] = [
  {
    at: ".card.text",
    title: "Masks become words",
    text: ({ masked }) =>
      `${masked.info.model} answers a question. Its answer begins as masks, the dashed boxes, with its best guesses in italics. In ${masked.S} steps it writes them, in whatever order it is surest.`,
    when: ({ masked }) => masked.mask_id() !== null,
    go: to_first_step,
  },
  {
    at: ".card.text",
    title: "Word after word",
    text: ({ masked }) => `${masked.info.model} answers a question by appending token after token, in ${masked.S} steps.`,
    when: ({ masked }) => masked.mask_id() === null,
    go: to_first_step,
  },
  {
    at: ".card.text",
    title: "Who is looked at",
    text: ({ masked, step, first }) =>
      `Orange tokens receive more attention than if all were looked at evenly, blue ones less. A few receive many times that share: anchors, outlined.${first ? ` In layer ${first.layer} the strongest is ${name_of(masked, step, first)}.` : ""}`,
    go: (facts, store) => store.set({ step: facts.step, layer: facts.first?.layer ?? -1 }),
  },
  {
    at: ".card.text",
    title: "What floats",
    text: ({ masked, step, then }) =>
      `Now layer ${then?.layer}: here the strongest is ${then ? name_of(masked, step, then) : "another"}. ${says_where(masked, step)} Try the keys [ and ], or Layer above.`,
    when: ({ then }) => then !== null,
    go: (facts, store) => store.set({ step: facts.step, layer: facts.then?.layer ?? -1 }),
  },
  {
    at: ".pair > .stack:last-child",
    title: "What stays",
    text: ({ causal }) =>
      causal
        ? `The same question to ${causal.info.model}, which writes from left to right. ${says_where(causal, causal.S - 1)} Both runs are moved together.`
        : "",
    when: ({ causal }) => causal !== null,
    go: ({ masked, causal, sink }, store) =>
      store.set({
        view: "compare",
        run: masked.id,
        other: causal?.id ?? "",
        step: masked.S - 1,
        layer: sink?.layer ?? -1,
        head: -1,
      }),
  },
  {
    at: ".card.map",
    title: "All steps at once",
    text: () =>
      "Each row is a step, each column a token. A mark that runs straight down is an anchor that stays; one that begins or ends came or went. Move through time with the slider, the arrow keys or Play.",
    go: (facts, store) => store.set({ ...run_view(facts), step: facts.step, layer: facts.then?.layer ?? -1 }),
  },
  {
    at: ".card.grid",
    title: "Look closer",
    text: ({ masked }) =>
      `Click any token: the grid shows what it receives in every layer and head${masked.info.can_recompute ? ", the lists below what it attends to and who attends to it, computed exactly" : ""}.`,
    go: (facts, store) => store.set({ position: (facts.then ?? facts.first)?.position ?? 0 }),
  },
  {
    at: ".card.fork",
    title: "Touch it",
    text: () =>
      "Hide a token, cut a head, pin the anchors or force a word, and let the run branch: both branches then stand side by side. The address holds what you see; ? shows all keys. That is all.",
  },
];

// Who gives the tour its runs: two that are there, or two that it makes.
export interface Guide {
  // What is there to be shown; null: nothing yet.
  found(): { masked: string; causal: string } | null;
  // Runs the example; nothing can be run: null.
  models(): string[];
  make(): Promise<void>;
  load(id: string): Promise<Run>;
}

export class Tour {
  private box = h("aside", { class: "tour", role: "dialog", "aria-label": "Guided tour", hidden: true });
  private at = 0;
  private stops: Stop[] = [];
  private facts: Facts | null = null;
  private lit: Element | null = null;
  onend: () => void = () => {};

  constructor(
    private store: Store,
    private guide: Guide,
  ) {
    document.body.append(this.box);
  }
  get running(): boolean {
    return !this.box.hidden;
  }

  start(): void {
    if (this.guide.found()) void this.begin();
    else this.welcome();
  }

  private say(count: string, title: string, text: string, ...buttons: (HTMLElement | false)[]): void {
    this.box.hidden = false;
    replace(
      this.box,
      h("small", { class: "soft" }, count),
      h("h2", {}, title),
      h("p", { "aria-live": "polite" }, text),
      h("div", { class: "row" }, ...buttons),
    );
    this.box.querySelector("button")?.focus({ preventScroll: true });
  }
  private skip = (label = "Skip the tour") => button(label, () => this.end(), { class: "skip-tour" });

  private welcome(): void {
    const models = this.guide.models(),
      title = "What floats?";
    if (!models.length)
      return this.say("", title, "There is no run to show yet, and no model to make one.", this.skip("Close"));
    this.say(
      "a minute",
      title,
      `Language models look at a few tokens far more than at all others. In models that fill in masks these tokens are not always the same: they float. See it on a question about a town that does not exist, put to ${models.join(" and ")}.`,
      button("Show me", () => void this.make(), { class: "primary" }),
      this.skip(),
    );
  }

  private async make(): Promise<void> {
    this.say("a minute", "What floats?", `Running ${this.guide.models().join(" and ")} …`, this.skip());
    try {
      await this.guide.make();
      if (this.running) await this.begin();
    } catch (error) {
      this.say("", "What floats?", `The example could not be run: ${reason(error)}`, this.skip("Close"));
    }
  }

  private async begin(): Promise<void> {
    const found = this.guide.found();
    if (!found) return this.welcome();
    try {
      const causal = found.causal ? await this.guide.load(found.causal) : null;
      this.facts = await find_facts(await this.guide.load(found.masked), causal);
    } catch (error) {
      return this.say("", "The tour", reason(error), this.skip("Close"));
    }
    const facts = this.facts;
    this.stops = STOPS.filter((stop) => !stop.when || stop.when(facts));
    this.at = 0;
    this.show();
  }

  private show(): void {
    const facts = this.facts,
      stop = this.stops[this.at];
    if (!facts) return;
    stop.go?.(facts, this.store);
    this.lit?.classList.remove("lit");
    this.point_at(stop.at, 40);
    const last = this.at === this.stops.length - 1;
    this.say(
      `${this.at + 1} of ${this.stops.length}`,
      stop.title,
      stop.text(facts),
      button(last ? "Done" : "Next", () => (last ? this.end() : this.move(1)), { class: "primary" }),
      this.at > 0 && button("Back", () => this.move(-1)),
      !last && this.skip(),
    );
  }

  // The state changes on the next frame, and panels with it; another run's come when it is loaded.
  private point_at(selector: string, tries: number): void {
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (!this.running || this.stops[this.at]?.at !== selector) return;
        const found = document.querySelector(selector);
        if (!found && tries > 0) {
          window.setTimeout(() => this.point_at(selector, tries - 1), 50);
          return;
        }
        this.lit = found;
        found?.classList.add("lit");
        const high = (found?.getBoundingClientRect().height ?? 0) > window.innerHeight / 2;
        found?.scrollIntoView({ block: high || window.innerWidth < 600 ? "start" : "center" });
        this.stand_aside();
      }),
    );
  }

  // At the end of the page what is pointed at cannot be scrolled away from the words about it: they go to the other side.
  private stand_aside(): void {
    this.box.classList.remove("left");
    const words = this.box.getBoundingClientRect(),
      lit = this.lit?.getBoundingClientRect();
    if (lit && lit.right > words.left && lit.bottom > words.top && lit.left > words.width + 32)
      this.box.classList.add("left");
  }

  move(by: number): void {
    this.at = Math.max(0, Math.min(this.stops.length - 1, this.at + by));
    this.show();
  }

  end(): void {
    this.box.hidden = true;
    this.lit?.classList.remove("lit");
    this.onend();
  }
}
