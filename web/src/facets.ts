// What a table's rows differ in beside their numbers (a quantity, a part, a panel): points of one are shown at a time.
import { Cell } from "./table_rows";

export const EVERYTHING = "*"; // in the address: all of them at once
const MOST = 200; // more are no choice

// The name of each row's; empty where there is nothing to choose from. `apart`: columns that are told apart otherwise.
export function facets_of(columns: string[], rows: Cell[][], numbers: boolean[], apart: string[]): string[] {
  const words = columns
    .map((_, i) => i)
    .filter((i) => !numbers[i] && !apart.includes(columns[i]))
    .filter((i) => new Set(rows.map((row) => row[i])).size > 1);
  const names = rows.map((row) =>
      words
        .map((i) => String(row[i] ?? ""))
        .filter(Boolean)
        .join(" · "),
    ),
    count = new Set(names).size;
  return count > 1 && count <= MOST && 2 * count <= rows.length ? names : [];
}

// Which is shown: the one that was asked for where any of these rows has it, else that of the first row.
export const shown_of = (asked: string, facets: string[], rows: number[]) =>
  asked === EVERYTHING || rows.some((i) => facets[i] === asked) ? asked : (facets[rows[0]] ?? EVERYTHING);
