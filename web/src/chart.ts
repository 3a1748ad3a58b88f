// Small charts as SVG: a line over steps, a grid of cells, bars as a list, the scale of colours.
import { h, s } from "./dom";
import { color, hex, ink_on, level_color, level_of, tide } from "./theme";
import { times } from "./words";

export interface Line {
  values: number[];
  color: string;
  name: string;
}

export function line_chart(
  lines: Line[],
  here: number,
  label: string,
  choose: (i: number) => void,
  pass: (i: number) => number,
  base: number | null,
): SVGElement {
  const W = 420,
    H = 92,
    left = 34,
    bottom = 16,
    n = Math.max(...lines.map((l) => l.values.length), 1);
  const finite = lines.flatMap((l) => l.values).filter(Number.isFinite),
    top = Math.max(...finite, base ?? 0, 1e-9) * 1.08;
  const x = (i: number) => left + (n < 2 ? 0 : (i / (n - 1)) * (W - left - 6)),
    y = (v: number) => 4 + (1 - v / top) * (H - bottom - 6);
  const ticks = [0, top / 1.08];
  const svg = s(
    "svg",
    { viewBox: `0 0 ${W} ${H}`, class: "line-chart", role: "img", "aria-label": label },
    ...ticks.map((v) =>
      s(
        "text",
        { x: left - 4, y: y(v) + 4, class: "tick", "text-anchor": "end" },
        v >= 10 ? v.toFixed(0) : v.toFixed(1),
      ),
    ),
    s("line", { x1: left, x2: W - 6, y1: y(0), y2: y(0), class: "axis" }),
    base !== null && s("line", { x1: left, x2: W - 6, y1: y(base), y2: y(base), class: "base" }),
    ...lines.map((l) =>
      s("polyline", {
        points: l.values.map((v, i) => `${x(i)},${y(Number.isFinite(v) ? v : 0)}`).join(" "),
        fill: "none",
        stroke: l.color,
        "stroke-width": 1.6,
      }),
    ),
    s("line", { x1: x(here), x2: x(here), y1: 2, y2: H - bottom, class: "here" }),
    s("text", { x: left, y: H - 3, class: "tick" }, `step ${pass(0)}`),
    s("text", { x: W - 6, y: H - 3, class: "tick", "text-anchor": "end" }, String(pass(n - 1))),
  );
  svg.addEventListener("click", (event) => {
    const r = svg.getBoundingClientRect(),
      at = (((event as MouseEvent).clientX - r.x) / r.width) * W;
    choose(Math.max(0, Math.min(n - 1, Math.round(((at - left) / (W - left - 6)) * (n - 1)))));
  });
  return svg;
}

export interface Grid {
  rows: string[];
  columns: string[];
  value(row: number, column: number): number;
  color(value: number): number;
  say(row: number, column: number): string;
  chosen(row: number, column: number): boolean;
  choose(row: number, column: number): void;
  numbers?: (value: number) => string;
}

export function grid_chart(grid: Grid, label: string): SVGElement {
  const cell = Math.max(14, Math.min(44, 400 / grid.columns.length)),
    row = Math.max(14, Math.min(22, 330 / grid.rows.length)),
    left = 34,
    top = 18;
  const W = left + cell * grid.columns.length + 2,
    H = top + row * grid.rows.length + 2;
  const svg = s("svg", {
    viewBox: `0 0 ${W} ${H}`,
    width: W,
    height: H,
    class: "grid-chart",
    role: "group",
    "aria-label": label,
  });
  grid.columns.forEach((name, c) =>
    svg.append(s("text", { x: left + (c + 0.5) * cell, y: top - 5, class: "tick", "text-anchor": "middle" }, name)),
  );
  grid.rows.forEach((name, r) => {
    svg.append(s("text", { x: left - 5, y: top + (r + 0.5) * row + 4, class: "tick", "text-anchor": "end" }, name));
    grid.columns.forEach((_, c) => {
      const value = grid.value(r, c),
        say = grid.say(r, c),
        back = Number.isFinite(value) ? grid.color(value) : null;
      const rect = s(
        "rect",
        {
          x: left + c * cell,
          y: top + r * row,
          width: cell - 1,
          height: row - 1,
          fill: back === null ? color("blank") : hex(back),
          class: grid.chosen(r, c) ? "cell chosen" : "cell",
          role: "button",
          "aria-label": say,
          "data-row": r,
          "data-column": c,
        },
        s("title", {}, say),
      );
      rect.addEventListener("click", () => grid.choose(r, c));
      svg.append(rect);
      if (grid.numbers && back !== null && cell >= 30) {
        svg.append(
          s(
            "text",
            {
              x: left + (c + 0.5) * cell,
              y: top + (r + 0.5) * row + 3.5,
              class: "number",
              "text-anchor": "middle",
              fill: hex(ink_on(back)),
            },
            grid.numbers(value),
          ),
        );
      }
    });
  });
  return svg;
}

export interface Bar {
  label: string;
  detail: string;
  value: number;
  color?: string;
  choose?: () => void;
  class?: string;
}

// Bars as a list, so that a screen reader reads it as one.
export function bars(rows: Bar[], show: (value: number) => string): HTMLElement {
  const most = Math.max(...rows.map((r) => r.value), 1e-12);
  return h(
    "ol",
    { class: "bars" },
    ...rows.map((r) => {
      const fill = h("span", { class: "fill" });
      fill.style.width = `${Math.max(0, Math.min(100, (r.value / most) * 100))}%`;
      if (r.color) fill.style.backgroundColor = r.color;
      const item = h(
        "li",
        { class: r.class },
        h("span", { class: "what" }, h("b", {}, r.label), h("small", {}, r.detail)),
        h("span", { class: "bar" }, fill),
        h("span", { class: "value" }, show(r.value)),
      );
      if (r.choose) {
        item.tabIndex = 0;
        item.setAttribute("role", "button");
        item.addEventListener("click", r.choose);
        item.addEventListener("keydown", (e) => {
          if (e.key !== "Enter" && e.key !== " ") return;
          e.preventDefault(); // or the page scrolls, and the run plays
          e.stopPropagation();
          r.choose?.();
        });
      }
      return item;
    }),
  );
}

// The scale of colours, in words at its ends and its middle.
export function lift_legend(unit: string): HTMLElement {
  const W = 132,
    svg = s("svg", { viewBox: `0 0 ${W} 10`, width: W, height: 10, "aria-hidden": "true" });
  for (let i = 0; i < 33; ++i)
    svg.append(s("rect", { x: (i * W) / 33, y: 0, width: W / 33 + 0.5, height: 10, fill: hex(level_color(i)) }));
  return h("span", { class: "legend", title: `colour: ${unit}` }, "¹⁄₁₆", svg, `16 × ${unit}`);
}

export const lift_color = (lift: number) => level_color(level_of(lift));
export const share_color = (share: number, most: number) => tide(most > 0 ? share / most : 0);
export { times };
