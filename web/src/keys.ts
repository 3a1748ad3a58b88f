// The keyboard: every key does what a control on the page does.
import { Controls } from "./controls";
import { Run } from "./run";
import { Null, Store } from "./state";

const NULLS: Null[] = ["uniform", "first", "none"];

export function handle_key(
  event: KeyboardEvent,
  store: Store,
  run: Run,
  controls: Controls,
  zoom: (factor: number) => void,
): void {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (target.closest("input:not([type=range]), textarea, select, [contenteditable]")) return;
  const s = store.state,
    slider = target.matches("input[type=range]");
  if (slider && /^(Arrow|Home|End)/.test(event.key)) return; // it moves by itself
  if (event.key === " " && target.closest("button, summary, a")) return;
  if (event.key === "Enter") return;
  const move = (by: number) =>
    store.set({ position: Math.max(0, Math.min(run.N - 1, s.position < 0 ? 0 : s.position + by)), target: -1 });
  const head = (by: number) => store.set({ head: Math.max(-1, Math.min(run.H - 1, s.head + by)) });
  const acts: Record<string, () => void> = {
    ArrowLeft: () => controls.move(-1),
    ArrowRight: () => controls.move(1),
    Home: () => store.set({ step: 0 }),
    End: () => store.set({ step: run.S - 1 }),
    " ": () => controls.toggle(),
    "[": () => controls.move_layer(-1, run),
    "]": () => controls.move_layer(1, run),
    "{": () => head(-1),
    "}": () => head(1),
    ArrowUp: () => move(-1),
    ArrowDown: () => move(1),
    r: () => store.set({ rows: s.rows === "all" ? "read" : "all" }),
    n: () => store.set({ null: NULLS[(NULLS.indexOf(s.null) + 1) % NULLS.length] }),
    a: () => next_anchor(store, run),
    "+": () => zoom(2),
    "-": () => zoom(0.5),
    Escape: () => store.set({ position: -1, target: -1 }),
  };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

// The next anchor to the right at this step: of the layer, or of any where none is chosen.
function next_anchor(store: Store, run: Run): void {
  const s = store.state,
    found = (run.anchors(s.rows, () => {}) ?? [])
      .filter((a) => a.step === s.step && (s.layer < 0 || a.layer === s.layer))
      .map((a) => a.position)
      .sort((a, b) => a - b);
  const next = found.find((p) => p > s.position) ?? found[0];
  if (next !== undefined) store.set({ position: next, target: -1 });
}
