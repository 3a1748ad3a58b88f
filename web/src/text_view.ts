// The text as it stood at a step: every token coloured by received attention ÷ null, anchors outlined, masks as boxes.
import { h } from "./dom";
import { Run } from "./run";
import { level_color, level_of, LEVELS, hex, ink_on } from "./theme";
import { visible } from "./words";

const CHUNK = 256;

// One class for each level; the style sheet is the page's own, so that no inline style is needed.
export function add_level_classes(): void {
  const sheet = Array.from(document.styleSheets).find((s) => s.href?.includes("/assets/") || !s.href);
  if (!sheet) return;
  while (sheet.cssRules.length && /^\.t\.c\d/.test(sheet.cssRules[sheet.cssRules.length - 1].cssText))
    sheet.deleteRule(sheet.cssRules.length - 1);
  for (let i = 0; i < LEVELS; ++i) {
    const back = level_color(i);
    sheet.insertRule(`.t.c${i}{background-color:${hex(back)};color:${hex(ink_on(back))}}`, sheet.cssRules.length);
  }
}

interface Shown {
  text: string;
  kind: string;
}

export class TextView {
  readonly element: HTMLDivElement;
  private spans: HTMLSpanElement[] = [];
  private shown: string[] = [];
  private chunks: HTMLElement[] = [];
  private visible_chunks = new Set<number>();
  private observer: IntersectionObserver;
  private run: Run | null = null;
  private update: ((chunk: number) => void) | null = null;
  private pending = new Set<number>();
  private selected = -1;
  private idle = 0;

  constructor(
    label: string,
    private choose: (position: number, event: MouseEvent) => void,
  ) {
    this.element = h("div", { class: "text", tabindex: 0, role: "group", "aria-label": label });
    this.element.addEventListener("click", (event) => {
      const span = (event.target as HTMLElement).closest<HTMLElement>("[data-i]");
      if (span) this.choose(Number(span.dataset.i), event);
    });
    this.observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          const chunk = Number((entry.target as HTMLElement).dataset.chunk);
          if (entry.isIntersecting) {
            this.visible_chunks.add(chunk);
            if (this.pending.delete(chunk)) this.update?.(chunk);
          } else this.visible_chunks.delete(chunk);
        }
      },
      { rootMargin: "200px" },
    );
  }

  show(run: Run): void {
    this.run = run;
    this.observer.disconnect();
    this.pending.clear();
    this.update = null;
    this.visible_chunks.clear();
    this.spans = [];
    this.shown = [];
    this.chunks = [];
    this.selected = -1;
    this.element.replaceChildren();
    let region = "";
    for (let i = 0; i < run.N; ++i) {
      if (i % CHUNK === 0) {
        const chunk = h("span", { class: "chunk", "data-chunk": i / CHUNK });
        this.chunks.push(chunk);
        this.element.append(chunk);
      }
      const parent = this.chunks[this.chunks.length - 1];
      if (run.info.regions[i] !== region) {
        region = run.info.regions[i];
        if (region && !/^bos$/i.test(region))
          parent.append(h("span", { class: "region", title: `from here: ${region}` }, region));
      }
      const span = h("span", { class: "t", "data-i": i });
      this.spans.push(span);
      this.shown.push("");
      parent.append(span);
    }
    this.chunks.forEach((chunk, i) => {
      if (i < 4) this.visible_chunks.add(i);
      this.observer.observe(chunk);
    });
  }

  private content(run: Run, step: number, i: number): Shown {
    const state = run.writing(step, i);
    if (state === "absent") return { text: "", kind: "absent" };
    if (state === "mask") {
      const guess = run.guess(step, i);
      return guess >= 0
        ? { text: visible(run.piece(guess)).replace(/^␣(?=.)/, ""), kind: "mask guess" }
        : { text: "▢", kind: "mask" };
    }
    const token = run.token_at(state === "new" ? step + 1 : step, i),
      text = run.piece(token).replace(/\n/g, "↵\n");
    return { text, kind: state === "new" ? "new" : state === "prompt" ? "" : "old" };
  }

  paint(step: number, lift: Float32Array | null, anchors: Set<number>, position: number, changed?: Set<number>): void {
    const run = this.run;
    if (!run) return;
    this.update = (chunk) => {
      const end = Math.min((chunk + 1) * CHUNK, run.N);
      for (let i = chunk * CHUNK; i < end; ++i) {
        const { text, kind } = this.content(run, step, i);
        const look = `t ${kind}${lift ? ` c${level_of(lift[i])}` : ""}${anchors.has(i) ? " anchor" : ""}${changed?.has(i) ? " changed" : ""}${i === position ? " selected" : ""}`;
        const key = look + "\u0001" + text;
        if (this.shown[i] === key) continue;
        this.shown[i] = key;
        const span = this.spans[i];
        span.className = look;
        if (span.textContent !== text) span.textContent = text;
      }
    };
    for (let chunk = 0; chunk < this.chunks.length; ++chunk) {
      if (this.visible_chunks.has(chunk)) {
        this.update(chunk);
        this.pending.delete(chunk);
      } else this.pending.add(chunk);
    }
    // What is out of sight follows when nothing else is going on: a picture or a print shows it too.
    window.clearTimeout(this.idle);
    if (this.pending.size) this.idle = window.setTimeout(() => this.catch_up(), 150);
    if (position !== this.selected) {
      this.selected = position;
      this.keep_in_sight(position);
    }
  }

  private catch_up(): void {
    for (const chunk of Array.from(this.pending).slice(0, 4)) {
      this.pending.delete(chunk);
      this.update?.(chunk);
    }
    if (this.pending.size) this.idle = window.setTimeout(() => this.catch_up(), 30);
  }

  private keep_in_sight(position: number): void {
    const span = this.spans[position],
      box = this.element;
    if (!span) return;
    // Only the text scrolls, never the page under the reader's hands.
    const top = span.offsetTop,
      bottom = top + span.offsetHeight;
    if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
  }
}
