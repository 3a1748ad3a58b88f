// Rows of a table: what is a number, how they are sorted and filtered.
export type Cell = string | number | null;

export const as_number = (cell: Cell) =>
  typeof cell === "number" ? cell : cell === null || cell.trim() === "" ? NaN : Number(cell);
// A column is one of numbers where most of its cells that hold anything do: an answer that is a year makes none.
export function holds_numbers(rows: Cell[][], column: number): boolean {
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
