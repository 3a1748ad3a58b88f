// Points over two columns of a table; a point may open something.
import { s } from "./dom";

export interface Point {
  x: number;
  y: number;
  words: string;
  series: number; // which colour
  small?: boolean; // one of those that a larger one is the mean of
  open: (() => void) | null;
}

const W = 460,
  H = 320,
  LEFT = 52,
  BOTTOM = 34;

export const short = (v: number) => String(Number(v.toPrecision(3)));

// Of a range without width the middle of the axis is shown.
function scale(values: number[], from: number, to: number): { low: number; high: number; at: (v: number) => number } {
  const low = values.reduce((a, b) => Math.min(a, b)),
    high = values.reduce((a, b) => Math.max(a, b));
  return { low, high, at: (v) => (high > low ? from + ((v - low) / (high - low)) * (to - from) : (from + to) / 2) };
}

// At least one point; small ones lie below the others.
export function points_chart(points: Point[], across: string, up: string): SVGElement {
  const x = scale(
      points.map((p) => p.x),
      LEFT + 8,
      W - 12,
    ),
    y = scale(
      points.map((p) => p.y),
      H - BOTTOM - 8,
      12,
    );
  const label = `${up} over ${across}, ${points.length} points`,
    middle = (H - BOTTOM) / 2,
    tick = (at: object, text: string) => s("text", { class: "tick", ...at }, text),
    name = (at: object, text: string) => s("text", { class: "name", "text-anchor": "middle", ...at }, text);
  const svg = s(
    "svg",
    { viewBox: `0 0 ${W} ${H}`, class: "points-chart", role: "img", "aria-label": label },
    s("line", { x1: LEFT, x2: W - 4, y1: H - BOTTOM, y2: H - BOTTOM, class: "axis" }),
    s("line", { x1: LEFT, x2: LEFT, y1: 6, y2: H - BOTTOM, class: "axis" }),
    tick({ x: LEFT + 8, y: H - BOTTOM + 14 }, short(x.low)),
    tick({ x: W - 8, y: H - BOTTOM + 14, "text-anchor": "end" }, short(x.high)),
    tick({ x: LEFT - 4, y: H - BOTTOM - 4, "text-anchor": "end" }, short(y.low)),
    tick({ x: LEFT - 4, y: 16, "text-anchor": "end" }, short(y.high)),
    name({ x: (LEFT + W) / 2, y: H - 4 }, across),
    name({ x: 12, y: middle, transform: `rotate(-90 12 ${middle})` }, up),
  );
  for (const p of [...points.filter((q) => q.small), ...points.filter((q) => !q.small)]) {
    const kind = `point series${p.series % 6}${p.small ? " small" : ""}${p.open ? " opens" : ""}`,
      look = { cx: x.at(p.x), cy: y.at(p.y), r: p.small ? 2.5 : 4, class: kind };
    const point = s("circle", look, s("title", {}, p.words));
    if (p.open) point.addEventListener("click", p.open);
    svg.append(point);
  }
  return svg;
}
