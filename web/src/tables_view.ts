// Tables and figures of a study: sorted, filtered, drawn as points; a row, a point or a sample behind one opens its run.
import { get_json, RunSummary } from "./api";
import { Card } from "./card";
import { button, h, replace, select } from "./dom";
import { PointsPanel } from "./points_panel";
import { reason } from "./run";
import { State, Store } from "./state";
import { Behind, get_behind, get_picture, get_table, run_of, TableData, TableInfo } from "./table_data";
import { as_number, Cell, compare_cells, filter_of, holds_numbers } from "./table_rows";
import { plural } from "./words";

const PAGE = 200,
  LISTED = 60; // samples by name

export class TablesView {
  readonly element: HTMLElement;
  private chooser = select("Table or figure", [], "", (table) =>
    this.store.set({ table, filter: "", sort: "", across: "", up: "", of: "" }),
  );
  private filter = h("input", {
    type: "search",
    class: "filter",
    "aria-label": "Filter rows",
    placeholder: "filter: words, or column>0.5",
  });
  private card = new Card("table", "Table", () => ({ columns: this.data?.columns ?? [], rows: this.chosen() }));
  private points: PointsPanel;
  private drawing = new Card("figure", "Figure", () => ({
    columns: this.data?.columns ?? [],
    rows: this.data?.rows ?? [],
  }));
  private samples = new Card("samples", "Samples behind it", () => ({
    columns: ["panel", "model", "sample", "value"],
    rows: this.behind.map((b) => [b.panel, b.model, b.sample, b.value]),
  }));
  private data: TableData | null = null;
  private behind: Behind[] = [];
  private by_row = new Map<number, Behind[]>(); // of means
  private numbers: boolean[] = []; // which columns hold numbers
  private tables: TableInfo[] | null = null;
  private shown = PAGE;
  private held: string | null = null; // the table that is shown, as the address names it
  private look = "";

  constructor(
    private store: Store,
    private runs: () => RunSummary[],
    private open: (id: string, at?: Partial<State>) => void,
  ) {
    this.filter.addEventListener("input", () => this.store.set({ filter: this.filter.value }));
    this.points = new PointsPanel(
      store,
      () => ({ columns: this.data?.columns ?? [], rows: this.chosen() }),
      (i, sample) => (sample ? this.opens_sample(i, sample) : this.opens(i)),
    );
    for (const card of [this.points.card, this.drawing, this.samples]) card.element.hidden = true;
    this.element = h(
      "div",
      { class: "tables-view" },
      h("div", { class: "row" }, this.chooser, this.filter),
      h(
        "div",
        { class: "columns" },
        h("div", { class: "left" }, this.drawing.element, this.card.element),
        h("div", { class: "right" }, this.points.card.element, this.samples.element),
      ),
    );
  }

  update(): void {
    const state = this.store.state,
      look = [state.filter, state.sort, state.across, state.up, state.of, this.runs().length].join("\n");
    if (this.held !== state.table) return void this.load(state.table);
    if (look === this.look) return;
    this.look = look;
    this.shown = PAGE;
    if (this.filter.value !== state.filter) this.filter.value = state.filter;
    this.draw();
  }

  private async load(wanted: string): Promise<void> {
    this.held = wanted;
    try {
      this.tables ??= await get_json<TableInfo[]>("/tables");
      const info =
        this.tables.find((t) => t.id === wanted) ??
        (wanted ? null : (this.tables.find((t) => t.picture) ?? this.tables[0] ?? null));
      this.offer(info?.id ?? "");
      if (!info && wanted) throw new Error(`table ${wanted} is not here`);
      if (!info)
        return this.nothing("No tables here: give CSV files of a study or an analysis to buoy view or buoy serve.");
      this.card.say("Loading…");
      const [data, behind, picture] = await Promise.all([
        get_table(info.id),
        get_behind(info),
        info.picture ? get_picture(info.id) : null,
      ]);
      if (this.held !== wanted) return; // another was chosen since
      this.data = data;
      this.behind = behind;
      this.by_row.clear();
      for (const b of behind) if (b.row !== null) this.by_row.set(b.row, [...(this.by_row.get(b.row) ?? []), b]);
      this.numbers = data.columns.map((_, i) => holds_numbers(data.rows, i));
      this.points.show(data, this.numbers);
      this.look = "";
      this.show_picture(info, picture);
      this.update();
    } catch (error) {
      this.nothing(reason(error));
    }
  }

  private nothing(why: string): void {
    this.data = null;
    for (const card of [this.points.card, this.drawing, this.samples]) card.element.hidden = true;
    this.card.clear(why);
  }

  // Figures apart from tables.
  private offer(id: string): void {
    const tables = this.tables ?? [],
      option = (t: TableInfo) => h("option", { value: t.id }, t.title.replace(/\.csv$/, "")),
      group = (label: string, some: TableInfo[]) =>
        some.length > 0 && h("optgroup", { label }, ...some.map((t) => option(t)));
    replace(
      this.chooser,
      id === "" && h("option", { value: "" }, "choose …"),
      group(
        "Figures",
        tables.filter((t) => t.picture),
      ),
      group(
        "Tables",
        tables.filter((t) => !t.picture),
      ),
    );
    this.chooser.value = id;
  }

  private show_picture(info: TableInfo, picture: string | null): void {
    this.drawing.element.hidden = picture === null;
    if (picture === null) return this.drawing.clear();
    const bytes = new TextEncoder().encode(picture);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    // As an image nothing in it runs, and its paper stays white.
    const image = h("img", {
      class: "drawing",
      src: `data:image/svg+xml;base64,${btoa(text)}`,
      alt: `The figure ${info.title.replace(/\.csv$/, "")}, as in the report; its numbers stand in the table`,
    });
    image.addEventListener("load", () => image.style.setProperty("--drawn", `${image.naturalWidth}px`));
    replace(this.drawing.body, image);
  }

  private sorting(): { column: number; down: boolean } {
    const { sort } = this.store.state,
      columns = this.data?.columns ?? [],
      whole = columns.indexOf(sort);
    return whole >= 0 ? { column: whole, down: false } : { column: columns.indexOf(sort.slice(1)), down: true };
  }

  // Rows by number, filtered and sorted.
  private order(): number[] {
    const data = this.data;
    if (!data) return [];
    const fits = filter_of(this.store.state.filter, data.columns),
      { column, down } = this.sorting(),
      rows = Array.from(data.rows.keys()).filter((i) => fits(data.rows[i]));
    if (column < 0) return rows;
    return rows.sort((a, b) => (down ? -1 : 1) * compare_cells(data.rows[a][column], data.rows[b][column]) || a - b);
  }
  private chosen(): Cell[][] {
    return this.order().map((i) => (this.data as TableData).rows[i]);
  }

  private cell(row: Cell[], name: string): Cell {
    const i = this.data?.columns.indexOf(name) ?? -1;
    return i < 0 ? null : row[i];
  }

  // Where in the run a row of a figure is: its layer and head, or of a map over steps its step and position.
  private place(row: Cell[]): Partial<State> {
    const at: Partial<State> = {},
      layer = as_number(this.cell(row, "layer")),
      head = as_number(this.cell(row, "head")),
      panel = /^layer (\d+)$/.exec(String(this.cell(row, "panel") ?? ""));
    if (layer >= 0) at.layer = layer;
    if (layer >= 0 && head >= 0) at.head = head;
    if (panel) at.layer = Number(panel[1]);
    if (/^drift_/.test(this.chooser.value)) {
      const [step, position] = [as_number(this.cell(row, "row")), as_number(this.cell(row, "column"))];
      if (step >= 0 && position >= 0) Object.assign(at, { step, position });
    }
    return at;
  }

  // The runs that a row comes from: of its own sample, or of those behind it.
  private opens(i: number): (() => void) | null {
    const data = this.data as TableData,
      row = data.rows[i],
      own = data.sample_column === null ? null : String(row[data.sample_column] ?? "");
    const behind = own === null ? this.behind_row(i) : [];
    const sample = own ?? (behind.length === 1 ? behind[0].sample : null);
    if (sample === null) return null;
    const run = run_of(this.runs(), sample, own === null ? behind[0].model : String(this.cell(row, "model") ?? ""));
    return run ? () => this.open(run, this.place(row)) : null;
  }
  // The run of one of the samples behind a row.
  private opens_sample(i: number, { model, sample }: Behind): (() => void) | null {
    const run = run_of(this.runs(), sample, model);
    return run ? () => this.open(run, this.place((this.data as TableData).rows[i])) : null;
  }
  private behind_row(i: number): Behind[] {
    if (this.by_row.size) return this.by_row.get(i) ?? [];
    const row = (this.data as TableData).rows[i],
      panel = String(this.cell(row, "panel") ?? this.cell(row, "group") ?? ""),
      series = this.cell(row, "series") ?? this.cell(row, "model"),
      models = new Set(this.behind.map((b) => b.model));
    return this.behind.filter(
      (b) => (b.panel === "" || b.panel === panel) && (!models.has(String(series)) || b.model === series),
    );
  }

  private draw(): void {
    const data = this.data;
    if (!data) return;
    const rows = this.order(),
      { column, down } = this.sorting();
    const head = data.columns.map((name, i) => {
      const here = column === i,
        mark = here ? (down ? " ▼" : " ▲") : "",
        next = here ? (down ? "" : `-${name}`) : name;
      return h(
        "th",
        { "aria-sort": here ? (down ? "descending" : "ascending") : "none", scope: "col" },
        button(name + mark, () => this.store.set({ sort: next }), { class: "link keep" }),
      );
    });
    const body = rows.slice(0, this.shown).map((i) => this.line(i, data));
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
    this.points.draw(rows, this.behind);
    this.draw_samples(data, rows);
  }

  private line(i: number, data: TableData): HTMLElement {
    const open = data.sample_column === null ? null : this.opens(i);
    return h(
      "tr",
      {},
      ...data.rows[i].map((cell, c) =>
        h(
          "td",
          { class: this.numbers[c] ? "n" : "" },
          c === data.sample_column && open
            ? button(String(cell), open, { class: "link keep sample", title: "Open this run" })
            : typeof cell === "number" && !Number.isInteger(cell)
              ? String(Number(cell.toPrecision(6)))
              : String(cell ?? ""),
        ),
      ),
    );
  }

  // Whose runs a figure was made of, by name: for the keyboard, and for maps.
  private draw_samples(data: TableData, order: number[]): void {
    this.samples.element.hidden = !this.behind.length;
    if (!this.behind.length) return;
    const few = order.length < data.rows.length && order.length < 400,
      list = few ? order.flatMap((i) => this.behind_row(i)) : this.behind,
      unique = new Map(list.map((b) => [`${b.model}\n${b.sample}`, b]));
    const found = Array.from(unique.values(), (b) => ({ ...b, run: run_of(this.runs(), b.sample, b.model) })),
      missing = found.filter((f) => !f.run).length;
    this.samples.say("");
    replace(
      this.samples.body,
      h(
        "p",
        { class: "soft" },
        `${plural(found.length, "run", "runs")}${few ? " behind the rows that are shown" : ""}${missing ? `; of ${missing} the trace is not here (buoy study --keep-traces, then buoy view study/traces --tables study)` : ""}.`,
      ),
      h(
        "ul",
        { class: "sample-list" },
        ...found
          .slice(0, LISTED)
          .map((f) =>
            h(
              "li",
              {},
              f.run
                ? button(f.sample, () => this.open(f.run as string), { class: "link keep sample" })
                : h("span", { class: "soft" }, f.sample),
              h("small", { class: "soft" }, ` ${f.model}`),
            ),
          ),
      ),
      found.length > LISTED && h("p", { class: "soft" }, `… and ${found.length - LISTED} more: filter the rows.`),
    );
  }
}
