// A table's rows as points over two of its columns, of one quantity at a time, with the samples behind means as small ones.
import { Card, Table } from "./card";
import { h, replace, select, set_choices } from "./dom";
import { EVERYTHING, facets_of, shown_of } from "./facets";
import { Point, points_chart, short } from "./points_chart";
import { Store } from "./state";
import { Behind, TableData } from "./table_data";
import { as_number, Cell } from "./table_rows";

const POINTS = 4000;
// What a figure has on its axes, where it has it.
const UP = ["mean", "value", "y"],
  ACROSS = ["layer", "x", "step", "column"],
  ABOUT = /(^|_)(n|questions|models|std|error|lo|hi|holm|against)$/; // columns that say how sure another is

export class PointsPanel {
  readonly card: Card;
  private x = select("Across", [], "", (across) => this.store.set({ across }));
  private y = select("Up", [], "", (up) => this.store.set({ up }));
  private of = select("Points of", [], "", (of) => this.store.set({ of }));
  private data: TableData = { columns: [], rows: [], sample_column: null };
  private numbers: boolean[] = []; // which columns hold numbers
  private facets: string[] = []; // of the rows

  // `opens`: what a click on a row's point does, or on that of a sample behind it.
  constructor(
    private store: Store,
    table: () => Table,
    private opens: (row: number, sample?: Behind) => (() => void) | null,
  ) {
    this.card = new Card("points", "Points", table);
    this.card.body.before(h("div", { class: "row" }, this.of, this.x, this.y));
  }

  show(data: TableData, numbers: boolean[]): void {
    const sample = data.sample_column === null ? "" : data.columns[data.sample_column];
    this.data = data;
    this.numbers = numbers;
    this.facets = facets_of(data.columns, data.rows, numbers, ["model", "series", sample]);
  }

  // The columns that the points stand on: as the address says, or as the figure has them.
  private axes(): [number, number] | null {
    const { columns, rows } = this.data,
      numeric = columns.map((_, i) => i).filter((i) => this.numbers[i]);
    if (numeric.length < 2) return null;
    const { across, up } = this.store.state,
      varies = (i: number) => new Set(rows.map((row) => row[i])).size > 1,
      named = (name: string, likely: string[], others: number[]) => {
        const asked = columns.indexOf(name);
        if (asked >= 0 && this.numbers[asked]) return asked;
        const tells = others.filter((i) => varies(i) && !ABOUT.test(columns[i]));
        return others.find((i) => likely.includes(columns[i]) && varies(i)) ?? tells[0] ?? others[0];
      };
    const choices = numeric.map((i) => ({ value: columns[i], label: columns[i] })),
      y = named(up, UP, numeric),
      x = named(
        across,
        ACROSS,
        numeric.filter((i) => i !== y),
      );
    set_choices(this.x, choices, columns[x]);
    set_choices(this.y, choices, columns[y]);
    return [x, y];
  }

  // Of several quantities one: on one scale they would hide each other.
  private one_facet(rows: number[]): number[] {
    this.of.hidden = !this.facets.length;
    const of = shown_of(this.store.state.of, this.facets, rows),
      choices = Array.from(new Set(this.facets), (name) => ({ value: name, label: name }));
    set_choices(this.of, [...choices, { value: EVERYTHING, label: "everything" }], of);
    return of === EVERYTHING ? rows : rows.filter((i) => this.facets[i] === of);
  }

  private series_of(row: Cell[]): string {
    const cell = (name: string) => row[this.data.columns.indexOf(name)] ?? null;
    return String(cell("model") ?? cell("series") ?? "");
  }

  // Of these rows, with what lies behind any row.
  draw(order: number[], behind: Behind[]): void {
    const axes = this.axes();
    this.card.element.hidden = axes === null;
    if (axes === null) return;
    const [x, y] = axes,
      { columns, rows } = this.data,
      both = order.filter((i) => axes.every((a) => Number.isFinite(as_number(rows[i][a])))),
      chosen = this.one_facet(both),
      seen = new Set(chosen),
      each = columns[y] === "mean" ? behind.filter((b) => b.row !== null && seen.has(b.row)) : [],
      most = Math.max(chosen.length, each.length);
    if (!chosen.length) return this.card.clear("No row has both numbers.");
    const names = Array.from(new Set(rows.map((row) => this.series_of(row)))),
      points = [
        ...chosen.slice(0, POINTS).map((i) => this.point(i, x, y, names)),
        ...each.slice(0, POINTS).map((b) => this.point(b.row as number, x, y, names, b)),
      ];
    this.card.say(most > POINTS ? `The first ${POINTS} of ${most} points: filter for the others.` : "");
    replace(
      this.card.body,
      points_chart(points, columns[x], columns[y]),
      names.length > 1 &&
        names.length <= 6 &&
        h("ul", { class: "key" }, ...names.map((name, i) => h("li", {}, h("i", { class: `series${i}` }), name))),
      h(
        "p",
        { class: "soft" },
        each.length
          ? "A large point is a row, small ones are the samples behind it: click one for its run."
          : "A point is a row; click it for the run of its sample, where there is one.",
      ),
    );
  }

  // Of a row, or of a sample behind it.
  private point(i: number, x: number, y: number, names: string[], sample?: Behind): Point {
    const { columns, rows, sample_column } = this.data,
      row = rows[i],
      value = sample ? sample.value : as_number(row[y]),
      of_row = sample_column === null ? this.series_of(row) : String(row[sample_column]),
      name = sample ? `${sample.model}, ${sample.sample}` : of_row,
      open = this.opens(i, sample);
    return {
      x: as_number(row[x]),
      y: value,
      words: `${name ? `${name}: ` : ""}${columns[x]} ${short(as_number(row[x]))}, ${columns[y]} ${short(value)}${open ? " – click: its run" : ""}`,
      series: names.indexOf(this.series_of(row)),
      small: sample !== undefined,
      open,
    };
  }
}
