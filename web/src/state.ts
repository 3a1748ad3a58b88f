// What is looked at, kept in the address: a link reproduces the view.

export type View = "run" | "compare" | "live" | "ask" | "tables";
export type Rows = "all" | "read";
export type Null = "uniform" | "first" | "none";
export interface State {
  view: View;
  run: string;
  other: string; // the run beside it
  step: number;
  layer: number; // the model's number; -1: mean of the recorded ones
  head: number; // -1: mean
  position: number; // -1: none
  target: number; // -1: none
  rows: Rows;
  null: Null;
  table: string;
  filter: string; // of the table's rows
  sort: string; // a column's name; with - before it: largest first
  across: string; // columns of the points
  up: string;
  of: string; // which rows the points are of
  collection: string;
  ask: string; // the question whose answers are shown
}

export const initial: State = {
  view: "run",
  run: "",
  other: "",
  step: 0,
  layer: -1,
  head: -1,
  position: -1,
  target: -1,
  rows: "all",
  null: "uniform",
  table: "",
  filter: "",
  sort: "",
  across: "",
  up: "",
  of: "",
  collection: "",
  ask: "",
};
// What is text, and stands in the address as it is.
const TEXTS = ["run", "other", "table", "filter", "sort", "across", "up", "of", "collection", "ask"] as const;
const VIEWS: View[] = ["run", "compare", "live", "ask", "tables"];
// -1 is written as a word where it stands for one.
const WORDS: Partial<Record<keyof State, string>> = { layer: "mean", head: "mean", position: "none", target: "none" };

export function to_fragment(state: State): string {
  const parts = new URLSearchParams();
  for (const key of Object.keys(initial) as (keyof State)[]) {
    if (state[key] === initial[key] && key !== "run" && key !== "view") continue;
    if (state[key] === "") continue;
    parts.set(key, state[key] === -1 ? (WORDS[key] ?? "-1") : String(state[key]));
  }
  return "#" + parts.toString();
}

export function from_fragment(fragment: string): State {
  const parts = new URLSearchParams(fragment.replace(/^#/, "")),
    state = { ...initial };
  const number = (key: "step" | "layer" | "head" | "position" | "target") => {
    const text = parts.get(key);
    if (text !== null && /^\d{1,9}$/.test(text)) state[key] = Number(text);
  };
  (["step", "layer", "head", "position", "target"] as const).forEach(number);
  for (const key of TEXTS) state[key] = parts.get(key) ?? "";
  const view = parts.get("view") as View;
  if (VIEWS.includes(view)) state.view = view;
  if (parts.get("rows") === "read") state.rows = "read";
  const null_ = parts.get("null");
  if (null_ === "first" || null_ === "none") state.null = null_;
  return state;
}

// Inside a frame whose text was given to it (a notebook) there is no address to write; the state then lives in the page alone.
export function write_address(how: "pushState" | "replaceState", fragment: string): void {
  try {
    history[how](null, "", fragment);
  } catch {
    // The view works all the same.
  }
}

type Listener = (state: State, before: State) => void;

export class Store {
  state: State = from_fragment(location.hash);
  private shown: State = { ...this.state };
  private listeners: Listener[] = [];
  private frame = 0;
  private written = 0;

  constructor() {
    window.addEventListener("hashchange", () => {
      if (location.hash !== to_fragment(this.state)) {
        this.state = from_fragment(location.hash);
        this.tell();
      }
    });
  }

  on(listener: Listener): void {
    this.listeners.push(listener);
  }

  // One redraw a frame, however often something changes.
  set(change: Partial<State>): void {
    const before = this.state;
    this.state = { ...before, ...change };
    if (to_fragment(before) === to_fragment(this.state)) return;
    if (before.view !== this.state.view || before.run !== this.state.run) {
      write_address("pushState", to_fragment(this.state));
    } else if (!this.written) {
      // Browsers allow a page some hundred changes of its address a minute; scrubbing makes more.
      this.written = window.setTimeout(() => {
        this.written = 0;
        write_address("replaceState", to_fragment(this.state));
      }, 200);
    }
    this.tell();
  }

  tell(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const before = this.shown;
      this.shown = { ...this.state };
      for (const listener of this.listeners) listener(this.state, before);
    });
  }
}
