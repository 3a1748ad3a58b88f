// Ribbons between regions: left the region that looks, right the one looked at; a ribbon's width is the share of the left one's attention.
import { s } from "./dom";

export interface FlowData {
  regions: string[];
  matrix: number[][]; // [from][into]; rows add up to 1, or to 0 where a region has no rows
}

const W = 460,
  LEFT = 96,
  RIGHT = W - 96,
  TOP = 18,
  GAP = 6,
  BAR = 8,
  LINE = 12; // least distance of two names

interface Layout {
  flow: FlowData;
  paint: (region: number) => string;
  height: number;
  stretch: number; // pixels a share of 1
  sends: number[];
  gets: number[];
  from: number[]; // where each region begins on the left
  into: number[]; // and on the right
}

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

function lay_out(flow: FlowData, paint: (region: number) => string): Layout {
  const n = flow.regions.length,
    unit = Math.max(18, Math.min(34, 340 / Math.max(n, 1)));
  const sends = flow.matrix.map(sum),
    gets = flow.regions.map((_, j) => sum(flow.matrix.map((row) => row[j])));
  const stretch = (n * unit) / Math.max(sum(gets), 1e-9);
  const starts = (sizes: number[]) => {
    let at = TOP - GAP;
    return sizes.map((_, i) => (at += (i > 0 ? sizes[i - 1] * stretch : 0) + GAP));
  };
  const height = n * (unit + GAP) + TOP + 4;
  return { flow, paint, height, stretch, sends, gets, from: starts(sends), into: starts(gets) };
}

function add_ribbons(svg: SVGElement, { flow, paint, stretch, from, into }: Layout): void {
  const used = from.slice(),
    taken = into.slice(),
    middle = (LEFT + RIGHT) / 2;
  flow.matrix.forEach((row, i) =>
    row.forEach((share, j) => {
      const width = share * stretch;
      if (width < 0.25) return;
      const a = used[i] + width / 2,
        b = taken[j] + width / 2;
      used[i] += width;
      taken[j] += width;
      const d = `M${LEFT + BAR},${a} C${middle},${a} ${middle},${b} ${RIGHT - BAR},${b}`;
      const look = {
        d,
        fill: "none",
        stroke: paint(i),
        "stroke-width": width,
        "stroke-opacity": 0.42,
        class: "ribbon",
      };
      const [one, two] = [flow.regions[i], flow.regions[j]];
      const words = `${one} → ${two}: ${(share * 100).toFixed(1)} % of what ${one} attends to`;
      svg.append(s("path", look, s("title", {}, words)));
    }),
  );
}

// Names keep a line's distance; those of slivers are left out.
function add_names(svg: SVGElement, { flow, paint, stretch, sends, gets, from, into }: Layout): void {
  const senders = Math.max(sends.filter((v) => v > 0).length, 1);
  let lowest = -Infinity;
  flow.regions.forEach((name, i) => {
    const sent = sends[i] * stretch,
      got = gets[i] * stretch,
      share = gets[i] / senders;
    if (sent > 0) {
      svg.append(s("rect", { x: LEFT, y: from[i], width: BAR, height: Math.max(sent, 1), fill: paint(i) }));
      svg.append(s("text", { x: LEFT - 5, y: from[i] + sent / 2 + 4, class: "name", "text-anchor": "end" }, name));
    }
    if (got === 0) return; // a region without positions yet
    svg.append(s("rect", { x: RIGHT - BAR, y: into[i], width: BAR, height: Math.max(got, 1), fill: paint(i) }));
    const y = into[i] + got / 2 + 4;
    if (share < 0.005 || y - lowest < LINE) return;
    lowest = y;
    svg.append(s("text", { x: RIGHT + 5, y, class: "name" }, `${name} ${(share * 100).toFixed(0)} %`));
  });
}

export function flow_chart(flow: FlowData, paint: (region: number) => string, label: string): SVGElement {
  const layout = lay_out(flow, paint);
  const svg = s("svg", { viewBox: `0 0 ${W} ${layout.height}`, class: "flow-chart", role: "img", "aria-label": label });
  svg.append(
    s("text", { x: LEFT, y: 11, class: "tick", "text-anchor": "end" }, "from"),
    s("text", { x: RIGHT, y: 11, class: "tick" }, "into"),
  );
  add_ribbons(svg, layout);
  add_names(svg, layout);
  return svg;
}
