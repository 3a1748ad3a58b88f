// Tables of a study: sorted, filtered, drawn as points; a row or a point opens the run of its sample.
import { get_json, RunSummary } from "./api";
import { Card } from "./card";
import { button, h, replace, select, set_choices } from "./dom";
import { points_chart, short } from "./points_chart";
import { reason } from "./run";
import { Store } from "./state";

interface TableInfo {
  id: string;
  title: string;
  columns: string[];
}
type Cell = string | number | null;
interface TableData {
  columns: string[];
  rows: Cell[][];
  sample_column: number | null;
}

const PAGE = 200,
  POINTS = 4000;

const as_number = (cell: Cell) =>
  typeof cell === "number" ? cell : cell === null || cell.trim() === "" ? NaN : Number(cell);
// A column is one of numbers where most of its cells that hold anything do: an answer that is a year makes none.
function holds_numbers(rows: Cell[][], column: number): boolean {
  const cells = rows.map((row) => row[column]).filter((cell) => cell !== null && String(cell).trim() !== "");
  return cells.filter((cell) => Number.isFinite(as_number(cell))).length * 2 > cells.length;
}
export function compare_cells(a: Cell, b: Cell): number {
  const x = as_number(a),
    y = as_number(b);
  if (Number.isFinite(x) && Number.isFinite(y)) return x - y;
  if (Number.isFinite(x) !== Number.isFinite(y)) return Number.isFinite(x) ? -1 : 1;
  return String(a ?? "").localeCompare(String(b ?? ""));
}

// Words must all occur; `column<3`, `column>=0.5` and `column=text` compare.
export function filter_of(text: string, columns: string[]): (row: Cell[]) => boolean {
  const tests = text
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => {
      const match = /^([^<>=]+)(<=|>=|<|>|=)(.+)$/.exec(word),
        column = match ? columns.indexOf(match[1]) : -1;
      if (!match || column < 0)
        return (row: Cell[]) =>
          row.some((cell) =>
            String(cell ?? "")
              .toLowerCase()
              .includes(word.toLowerCase()),
          );
      const wanted = Number(match[3]);
      return (row: Cell[]) => {
        const value = as_number(row[column]);
        switch (match[2]) {
          case "<":
            return value < wanted;
          case ">":
            return value > wanted;
          case "<=":
            return value <= wanted;
          case ">=":
            return value >= wanted;
        }
        return Number.isFinite(wanted) && Number.isFinite(value)
          ? value === wanted
          : String(row[column] ?? "").toLowerCase() === match[3].toLowerCase();
      };
    });
  return (row) => tests.every((test) => test(row));
}

export class TablesView {
  readonly element: HTMLElement;
  private chooser = select("Table", [], "", (table) => this.store.set({ table }));
  private filter = h("input", {
    type: "search",
    class: "filter",
    "aria-label": "Filter rows",
    placeholder: "filter: words, or column>0.5",
  });
  private x = select("Across", [], "", () => this.draw_points());
  private y = select("Up", [], "", () => this.draw_points());
  private card = new Card("table", "Table", () => ({ columns: this.data?.columns ?? [], rows: this.chosen() }));
  private figure = new Card("points", "Points", () => ({ columns: this.data?.columns ?? [], rows: this.chosen() }));
  private data: TableData | null = null;
  private numbers: boolean[] = []; // which columns hold numbers
  private tables: TableInfo[] | null = null;
  private sort = { column: -1, down: false };
  private shown = PAGE;
  private held = "";

  constructor(
    private store: Store,
    private runs: () => RunSummary[],
    private open: (id: string) => void,
  ) {
    this.filter.addEventListener("input", () => {
      this.shown = PAGE;
      this.draw();
    });
    this.figure.tool(this.x, this.y);
    this.element = h(
      "div",
      { class: "tables-view" },
      h("div", { class: "row" }, this.chooser, this.filter),
      h(
        "div",
        { class: "columns" },
        h("div", { class: "left" }, this.card.element),
        h("div", { class: "right" }, this.figure.element),
      ),
    );
  }

  update(): void {
    const wanted = this.store.state.table;
    if (this.tables && this.held === wanted) return;
    void this.load(wanted);
  }

  private async load(wanted: string): Promise<void> {
    try {
      this.tables ??= await get_json<TableInfo[]>("/tables");
      const id = wanted || this.tables[0]?.id || "";
      set_choices(
        this.chooser,
        this.tables.map((t) => ({ value: t.id, label: t.title })),
        id,
      );
      this.held = wanted;
      if (!id)
        return this.card.say("No tables here: give CSV files of a study or an analysis to buoy view or buoy serve.");
      this.data = await get_json<TableData>(`/tables/${encodeURIComponent(id)}`);
      this.sort = { column: -1, down: false };
      this.shown = PAGE;
      const rows = this.data.rows;
      this.numbers = this.data.columns.map((_, i) => holds_numbers(rows, i));
      const numeric = this.data.columns
        .map((name, i) => ({ name, i }))
        .filter(({ i }) => this.numbers[i]);
      const choices = numeric.map(({ name, i }) => ({ value: String(i), label: name }));
      set_choices(this.x, choices, choices[Math.max(choices.length - 2, 0)]?.value ?? "");
      set_choices(this.y, choices, choices[choices.length - 1]?.value ?? "");
      this.draw();
    } catch (error) {
      this.card.clear(reason(error));
    }
  }

  private chosen(): Cell[][] {
    if (!this.data) return [];
    const rows = this.data.rows.filter(filter_of(this.filter.value, this.data.columns)),
      { column, down } = this.sort;
    return column < 0
      ? rows
      : rows
          .map((row, i) => ({ row, i }))
          .sort((a, b) => (down ? -1 : 1) * compare_cells(a.row[column], b.row[column]) || a.i - b.i)
          .map(({ row }) => row);
  }

  private run_of(row: Cell[]): string | null {
    const column = this.data?.sample_column ?? null;
    if (column === null) return null;
    const sample = String(row[column] ?? ""),
      runs = this.runs();
    const model = this.data ? this.data.columns.indexOf("model") : -1;
    const fits = runs.filter((r) => r.sample === sample || r.id === sample);
    return (fits.find((r) => model >= 0 && r.model === row[model]) ?? fits[0])?.id ?? null;
  }

  private draw(): void {
    const data = this.data;
    if (!data) return;
    const rows = this.chosen();
    const head = data.columns.map((name, i) => {
      const here = this.sort.column === i,
        mark = here ? (this.sort.down ? " ▼" : " ▲") : "";
      return h(
        "th",
        { "aria-sort": here ? (this.sort.down ? "descending" : "ascending") : "none", scope: "col" },
        button(
          name + mark,
          () => {
            this.sort = here ? { column: this.sort.down ? -1 : i, down: !this.sort.down } : { column: i, down: false };
            this.draw();
          },
          { class: "link keep" },
        ),
      );
    });
    const body = rows.slice(0, this.shown).map((row) => {
      const run = this.run_of(row);
      return h(
        "tr",
        {},
        ...row.map((cell, i) =>
          h(
            "td",
            { class: this.numbers[i] ? "n" : "" },
            i === data.sample_column && run
              ? button(String(cell), () => this.open(run), { class: "link keep sample", title: "Open this run" })
              : typeof cell === "number" && !Number.isInteger(cell)
                ? String(Number(cell.toPrecision(6)))
                : String(cell ?? ""),
          ),
        ),
      );
    });
    this.card.say(`${rows.length} of ${data.rows.length} rows`);
    replace(
      this.card.body,
      h(
        "div",
        { class: "rows-of-table", tabindex: 0, role: "region", "aria-label": "Rows" },
        h(
          "table",
          { "aria-label": "Rows of the table" },
          h("thead", {}, h("tr", {}, ...head)),
          h("tbody", {}, ...body),
        ),
      ),
      rows.length > this.shown &&
        button(`Show ${Math.min(PAGE, rows.length - this.shown)} more`, () => {
          this.shown += PAGE;
          this.draw();
        }),
    );
    this.draw_points();
  }

  private draw_points(): void {
    const data = this.data,
      i = Number(this.x.value),
      j = Number(this.y.value);
    if (!data || this.numbers.filter(Boolean).length < 2)
      return this.figure.clear("Points need two columns of numbers.");
    const rows = this.chosen().filter(
      (row) => Number.isFinite(as_number(row[i])) && Number.isFinite(as_number(row[j])),
    );
    if (!rows.length) return this.figure.clear("No row has both numbers.");
    const points = rows.slice(0, POINTS).map((row) => {
      const run = this.run_of(row),
        [x, y] = [as_number(row[i]), as_number(row[j])],
        sample = data.sample_column === null ? "" : `${String(row[data.sample_column])}: `,
        words = `${sample}${data.columns[i]} ${short(x)}, ${data.columns[j]} ${short(y)}${run ? " – click: its run" : ""}`;
      return { x, y, words, open: run ? () => this.open(run) : null };
    });
    this.figure.say(rows.length > POINTS ? `The first ${POINTS} of ${rows.length} points.` : "");
    replace(
      this.figure.body,
      points_chart(points, data.columns[i], data.columns[j]),
      h("p", { class: "soft" }, "A point is a row; click it for the run of its sample, where there is one."),
    );
  }
}
