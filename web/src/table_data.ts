// A study's tables as the server has them, with what lies behind a figure's points.
import { get_json, get_text, RunSummary } from "./api";
import { Cell } from "./table_rows";

export interface TableInfo {
  id: string;
  title: string;
  columns: string[];
  rows: number;
  picture: boolean; // it is a figure's, and was drawn
  samples: boolean; // what lies behind its rows is known
}
export interface TableData {
  columns: string[];
  rows: Cell[][];
  sample_column: number | null;
}
// A sample behind a row of means, with its own value, or behind a panel of a figure.
export interface Behind {
  row: number | null;
  panel: string;
  model: string;
  sample: string;
  value: number;
}

const MOST = 2000; // rows of means whose samples are fetched at once; a map's are those of its panels

export const get_table = (id: string) => get_json<TableData>(`/tables/${encodeURIComponent(id)}`);
export const get_picture = (id: string) => get_text(`/tables/${encodeURIComponent(id)}/picture`);

export async function get_behind(info: TableInfo): Promise<Behind[]> {
  if (!info.samples || (info.columns.includes("mean") && info.rows > MOST)) return [];
  const { columns, rows } = await get_json<{ columns: string[]; rows: Cell[][] }>(
    `/tables/${encodeURIComponent(info.id)}/samples`,
  );
  const at = (row: Cell[], name: string) => {
    const i = columns.indexOf(name);
    return i < 0 ? null : row[i];
  };
  return rows.map((row) => ({
    row: at(row, "row") as number | null,
    panel: String(at(row, "panel") ?? ""),
    model: String(at(row, "model") ?? ""),
    sample: String(at(row, "sample") ?? ""),
    value: Number(at(row, "value") ?? NaN),
  }));
}

// The run of a sample: its model's, or anyone's where none is named.
export function run_of(runs: RunSummary[], sample: string, model: string): string | null {
  const fits = runs.filter((r) => r.sample === sample || r.id === sample);
  return fits.find((r) => model === "" || r.model === model)?.id ?? null;
}
