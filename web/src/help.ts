// What the keys do, as a dialog.
import { button, h } from "./dom";

const KEYS: [string, string][] = [
  ["← →", "one step back, on"],
  ["Home, End", "first, last step"],
  ["space", "play, pause"],
  ["[ ]", "layer below, above"],
  ["{ }", "head before, after"],
  ["↑ ↓", "token before, after"],
  ["r", "all rows, or those that write"],
  ["n", "next null"],
  ["a", "next anchor"],
  ["+ −", "zoom the map"],
  ["shift-click", "a second token: attention between the two"],
  ["ctrl-wheel, drag", "zoom and pan a map"],
  ["Escape", "let go of the token"],
  ["?", "this help"],
];

export class Help {
  private dialog = h(
    "dialog",
    { class: "help", "aria-label": "Help" },
    h("h2", {}, "Keys"),
    h("dl", {}, ...KEYS.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])),
    h("h2", {}, "Colours"),
    h(
      "p",
      {},
      "Orange: the token receives more attention than its null, blue: less, no colour: as much. The null is what it would receive if all rows attended evenly to what they see. An outlined token is an anchor: it receives at least twice its null and stands three deviations out.",
    ),
    button("Close", () => this.close(), { class: "primary" }),
  );

  open(): void {
    if (!this.dialog.isConnected) document.body.append(this.dialog);
    if (!this.dialog.open) this.dialog.showModal();
  }
  close(): void {
    this.dialog.close();
  }
}
