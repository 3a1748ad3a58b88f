// A map of positions × steps on a canvas, painted by tiles; pans and zooms, outlines, points at cells.
import { color, pixel } from "./theme";

export interface Band {
  begin: number;
  end: number;
  name: string;
  color: string;
}
export interface MapSource {
  first: number; // positions [first, end)
  end: number;
  steps: number;
  pass(step: number): number; // what a step is called
  // Colours 0xRRGGBB of `count` groups of `group` positions from `position`; -1: not known yet. Into out[count].
  row(step: number, position: number, count: number, group: number, out: Int32Array): void;
  bands: Band[];
  outlined(step: number): number[]; // positions
  label?(step: number, position: number): { text: string; ink: string; italic: boolean } | null;
  say(step: number, position: number): string;
}

const TILE = 512;
const BAND = 18,
  LEFT = 30,
  MIN_ROW = 5,
  MAX_ROW = 26;

export class CellMap {
  readonly element: HTMLDivElement;
  readonly canvas = document.createElement("canvas");
  private context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
  private tip = document.createElement("div");
  // What is chosen lies above the canvas: moving the step draws no cell again.
  private row_mark = document.createElement("div");
  private column_mark = document.createElement("div");
  private step_label = document.createElement("span");
  private widths = new Map<string, number>(); // of words, in ems
  private source: MapSource | null = null;
  private tiles = new Map<string, HTMLCanvasElement>();
  private left = 0; // first position shown, may be a fraction
  private scale = 1; // pixels a position
  private fitted = true;
  private frame = 0;
  private width = 0;
  private height = 0;
  private selected = { step: 0, position: -1 };

  constructor(
    label: string,
    private choose: (step: number, position: number) => void,
    private row_limit = 360,
  ) {
    this.element = document.createElement("div");
    this.element.className = "cellmap";
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", label);
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.row_mark.className = "row-mark";
    this.row_mark.append(this.step_label);
    this.column_mark.className = "column-mark";
    this.element.append(this.canvas, this.column_mark, this.row_mark, this.tip);
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.listen();
  }

  show(source: MapSource): void {
    const same = this.source && this.source.first === source.first && this.source.end === source.end;
    this.source = source;
    this.tiles.clear();
    if (!same) this.fitted = true;
    this.resize();
  }

  // The colours have changed, the shape has not.
  repaint(): void {
    this.tiles.clear();
    this.draw();
  }

  select(step: number, position: number): void {
    this.selected = { step, position };
    const s = this.source;
    if (s && !this.fitted && position >= s.first && position < s.end) {
      const shown = (this.width - LEFT) / this.scale;
      if (position < this.left || position >= this.left + shown) {
        this.pan_to(position - shown / 2);
        this.draw();
      }
    }
    this.place_marks();
  }

  private get row_height(): number {
    const steps = this.source?.steps ?? 1;
    return Math.max(MIN_ROW, Math.min(MAX_ROW, Math.floor(this.row_limit / steps)));
  }

  private resize(): void {
    const s = this.source,
      width = this.element.clientWidth;
    if (!s || !width) return;
    const ratio = window.devicePixelRatio || 1,
      height = BAND + s.steps * this.row_height + 2,
      other = width !== this.width || height !== this.height || this.canvas.width !== Math.round(width * ratio);
    if (other) {
      this.width = width;
      this.height = height;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = width + "px";
      this.canvas.style.height = height + "px";
    }
    if (this.fitted) {
      this.scale = Math.min((width - LEFT) / (s.end - s.first), 64);
      this.left = s.first;
    }
    this.pan_to(this.left);
    if (other) this.draw_now(); // a canvas of another size is empty: left for the next frame it would flash black
    else this.draw();
  }

  private pan_to(left: number): void {
    const s = this.source;
    if (!s) return;
    const most = s.end - (this.width - LEFT) / this.scale;
    this.left = Math.max(s.first, Math.min(left, most));
  }

  zoom(factor: number, at = LEFT + (this.width - LEFT) / 2): void {
    const s = this.source;
    if (!s) return;
    const fit = Math.min((this.width - LEFT) / (s.end - s.first), 64),
      position = this.left + (at - LEFT) / this.scale;
    this.scale = Math.max(fit, Math.min(this.scale * factor, 96));
    this.fitted = this.scale <= fit;
    this.pan_to(position - (at - LEFT) / this.scale);
    this.draw();
  }

  private cell(x: number, y: number): { step: number; position: number } | null {
    const s = this.source;
    if (!s || x < LEFT) return null;
    const step = Math.floor((y - BAND) / this.row_height),
      position = Math.floor(this.left + (x - LEFT) / this.scale);
    if (position < s.first || position >= s.end || step >= s.steps) return null;
    return { step: Math.max(step, -1), position };
  }

  private listen(): void {
    let drag: { x: number; left: number; moved: boolean } | null = null;
    const canvas = this.canvas;
    canvas.addEventListener("pointerdown", (e) => {
      drag = { x: e.offsetX, left: this.left, moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (drag && Math.abs(e.offsetX - drag.x) > 4) drag.moved = true;
      if (drag?.moved) {
        this.pan_to(drag.left - (e.offsetX - drag.x) / this.scale);
        this.draw();
      }
      this.hover(e.offsetX, e.offsetY);
    });
    canvas.addEventListener("pointerup", (e) => {
      const at = drag && !drag.moved ? this.cell(e.offsetX, e.offsetY) : null;
      drag = null;
      if (at) this.choose(at.step < 0 ? this.selected.step : at.step, at.position);
    });
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener(
      "wheel",
      (e) => {
        const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY);
        if (!sideways && !e.ctrlKey && !e.shiftKey && !e.altKey) return; // the page scrolls
        e.preventDefault();
        if (sideways) this.pan_to(this.left + e.deltaX / this.scale);
        else return this.zoom(Math.exp(-(e.deltaY || e.deltaX) / 200), e.offsetX);
        this.draw();
      },
      { passive: false },
    );
    canvas.addEventListener("dblclick", (e) => this.zoom(2, e.offsetX));
  }

  private hover(x: number, y: number): void {
    const at = this.cell(x, y);
    this.tip.hidden = !at;
    if (!at || !this.source) return;
    this.tip.textContent = this.source.say(Math.max(at.step, 0), at.position);
    this.tip.style.left = Math.min(x + 12, Math.max(this.width - 250, 0)) + "px";
    this.tip.style.top = y + 16 + "px";
  }

  draw(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw_now());
  }

  private tile(level: number, index: number): HTMLCanvasElement {
    const key = `${level}/${index}`,
      held = this.tiles.get(key);
    if (held) return held;
    const s = this.source as MapSource,
      group = 1 << level,
      begin = s.first + index * TILE * group;
    const count = Math.max(1, Math.min(TILE, Math.ceil((s.end - begin) / group)));
    const canvas = document.createElement("canvas");
    canvas.width = count;
    canvas.height = s.steps;
    const context = canvas.getContext("2d") as CanvasRenderingContext2D,
      image = context.createImageData(count, s.steps);
    const out = new Uint32Array(image.data.buffer),
      row = new Int32Array(count),
      blank = pixel(parseInt(color("blank").slice(1), 16));
    for (let step = 0; step < s.steps; ++step) {
      s.row(step, begin, count, group, row);
      for (let i = 0; i < count; ++i) out[step * count + i] = row[i] < 0 ? blank : pixel(row[i]);
    }
    context.putImageData(image, 0, 0);
    if (this.tiles.size > 64) this.tiles.clear();
    this.tiles.set(key, canvas);
    return canvas;
  }

  private draw_now(): void {
    window.cancelAnimationFrame(this.frame);
    this.frame = 0;
    const s = this.source,
      c = this.context;
    if (!s || !this.width) return;
    const ratio = window.devicePixelRatio || 1,
      rows = this.row_height;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = color("paper");
    c.fillRect(0, 0, this.width, this.height);
    c.save();
    c.beginPath();
    c.rect(LEFT, 0, this.width - LEFT, this.height);
    c.clip();
    c.imageSmoothingEnabled = false;
    const level = Math.max(0, Math.ceil(Math.log2(1 / (this.scale * ratio)))),
      span = TILE * (1 << level);
    const last = Math.min(s.end, this.left + (this.width - LEFT) / this.scale);
    for (let i = Math.floor((this.left - s.first) / span); s.first + i * span < last; ++i) {
      const tile = this.tile(level, i);
      c.drawImage(tile, this.x_of(s.first + i * span), BAND, tile.width * (1 << level) * this.scale, s.steps * rows);
    }
    this.draw_bands(s);
    if (this.scale >= 14 && rows >= 9 && s.label) this.draw_labels(s, last);
    this.draw_outlines(s, last);
    c.restore();
    this.draw_steps(s);
    this.place_marks();
  }

  private x_of(position: number): number {
    return LEFT + (position - this.left) * this.scale;
  }

  private draw_bands(s: MapSource): void {
    const c = this.context;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    for (const band of s.bands) {
      const from = Math.max(this.x_of(band.begin), LEFT),
        to = Math.min(this.x_of(band.end), this.width);
      if (to <= from) continue;
      c.fillStyle = band.color;
      c.globalAlpha = 0.28;
      c.fillRect(from, 0, to - from, BAND - 3);
      c.globalAlpha = 1;
      c.fillRect(from, BAND - 3, Math.max(to - from - 1, 1), 2);
      if (c.measureText(band.name).width + 6 < to - from) {
        c.fillStyle = color("ink");
        c.fillText(band.name, from + 3, (BAND - 3) / 2 + 0.5);
      }
    }
  }

  // A word that is too long for its cell is set smaller, down to 8 pixels, and then cut between letters.
  private fit(text: string, size: number): { text: string; size: number } {
    const c = this.context;
    let wide = this.widths.get(text);
    if (wide === undefined) {
      c.font = "12px system-ui, sans-serif";
      if (this.widths.size > 20000) this.widths.clear();
      this.widths.set(text, (wide = c.measureText(text).width / 12));
    }
    const room = this.scale - 4,
      fits = Math.max(Math.min(size, 8), Math.min(size, room / wide));
    if (wide * fits <= room + 0.5) return { text, size: fits };
    return {
      text: Array.from(text)
        .slice(0, Math.max(1, Math.floor((text.length * room) / (wide * fits))))
        .join(""),
      size: fits,
    };
  }

  private draw_labels(s: MapSource, last: number): void {
    const c = this.context,
      rows = this.row_height,
      size = Math.min(12, rows - 3);
    for (let step = 0; step < s.steps; ++step) {
      for (let p = Math.floor(this.left); p < last; ++p) {
        const label = s.label?.(step, p);
        if (!label) continue;
        c.save();
        c.beginPath();
        c.rect(this.x_of(p) + 1, BAND + step * rows, this.scale - 2, rows);
        c.clip();
        const fitted = this.fit(label.text, size);
        c.font = `${label.italic ? "italic " : ""}${fitted.size}px system-ui, sans-serif`;
        c.fillStyle = label.ink;
        c.fillText(fitted.text, this.x_of(p) + 2, BAND + (step + 0.5) * rows + 0.5);
        c.restore();
      }
    }
  }

  private draw_outlines(s: MapSource, last: number): void {
    const c = this.context,
      rows = this.row_height;
    c.strokeStyle = color("mark");
    c.lineWidth = this.scale >= 6 ? 1.5 : 1;
    for (let step = 0; step < s.steps; ++step) {
      for (const p of s.outlined(step)) {
        if (p < this.left - 1 || p > last) continue;
        const width = Math.max(this.scale, 3);
        c.strokeRect(this.x_of(p) + 0.5, BAND + step * rows + 0.5, width - 1, rows - 1);
      }
    }
  }

  private place_marks(): void {
    const rows = this.row_height,
      { step, position } = this.selected,
      s = this.source;
    this.row_mark.hidden = !s || !this.width || step >= s.steps;
    this.row_mark.style.top = `${BAND + step * rows}px`;
    this.row_mark.style.height = `${rows + 1}px`;
    const name = String(s?.pass(step) ?? step);
    if (this.step_label.textContent !== name) this.step_label.textContent = name;
    const width = Math.max(this.scale, 3),
      x = this.x_of(position) + (this.scale - width) / 2;
    this.column_mark.hidden = !s || position < s.first || position >= s.end || x < LEFT - 1 || x > this.width;
    this.column_mark.style.left = `${x}px`;
    this.column_mark.style.width = `${width + 1}px`;
    this.column_mark.style.top = `${BAND - 1}px`;
    this.column_mark.style.height = `${this.height - BAND + 1}px`;
  }

  private draw_steps(s: MapSource): void {
    const c = this.context,
      rows = this.row_height,
      every = Math.ceil(12 / rows);
    c.font = "10px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.textAlign = "right";
    for (let step = 0; step < s.steps; ++step) {
      if (step % every) continue;
      c.fillStyle = color("soft");
      c.fillText(String(s.pass(step)), LEFT - 5, BAND + (step + 0.5) * rows + 0.5);
    }
    c.textAlign = "left";
  }
}
