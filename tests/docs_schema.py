"""Compares the tables of columns and quantities in docs/ with the CSV files that the documents' commands wrote.

A heading that names files (### `summaries.csv`, `figures/classes*.csv`) is followed by a table whose first column is "column" and
whose second is the type: text, integer or number, "or empty" where cells may be. Of several patterns that fit a file the longest
counts. A table whose first column is "quantity" lists what may stand in the column of that name of summaries.csv.
"""
import csv
import fnmatch
import re

SUMMARIES = "summaries.csv"
TYPES = {
    "text": lambda cell: cell != "",
    "integer": lambda cell: re.fullmatch(r"-?\d+", cell) is not None,
    "number": lambda cell: re.fullmatch(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", cell) is not None,
}


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text):
    """(line, heading before it, rows as dicts) of every table."""
    heading, lines, i = "", text.split("\n"), 0
    while i < len(lines):
        if lines[i].startswith("#"):
            heading = lines[i]
        if lines[i].startswith("|") and i + 1 < len(lines) and re.match(r"\|[-:| ]+\|\s*$", lines[i + 1]):
            names, rows, first = cells_of(lines[i]), [], i + 1
            i += 2
            while i < len(lines) and lines[i].startswith("|"):
                rows.append(dict(zip(names, cells_of(lines[i]))))
                i += 1
            yield first, heading, rows
        else:
            i += 1


class Schemas:
    def __init__(self, documents, root):
        self.columns = []  # (place, pattern, [(column, type)])
        self.quantities = {}  # name: place
        for path in documents:
            for line, heading, rows in tables(path.read_text()):
                place = f"{path.relative_to(root)}:{line}"
                if rows and "column" in rows[0] and "type" in rows[0]:
                    wanted = [(name, row["type"]) for row in rows for name in re.findall(r"`([^`]+)`", row["column"])]
                    for pattern in re.findall(r"`([^`]+)`", heading):
                        self.columns.append((place, pattern, wanted))
                if rows and "quantity" in rows[0] and "part" in rows[0]:
                    for row in rows:
                        for name in re.findall(r"`([^`]+)`", row["quantity"]):
                            self.quantities[name] = place

    def find(self, name, document):
        """The longest pattern that fits, of two the document's own; `name` is the file's path."""
        fitting = [c for c in self.columns if fnmatch.fnmatch(name, "*/" + c[1])]
        return max(fitting, key=lambda c: (len(c[1]), c[0].startswith(f"{document}:")), default=None)


def cell_problem(row, wanted):
    for cell, (column, kind) in zip(row, wanted):
        name, _, optional = kind.partition(" or ")
        if name not in TYPES or optional not in ("", "empty"):
            return f"column {column} has the type {kind!r}, expected {', '.join(TYPES)}, \"or empty\" after it or not"
        if not (optional and cell == "") and not TYPES[name](cell):
            return f"column {column} holds {cell!r}, which is no {kind}"
    return None


def file_problems(rows, wanted):
    header = [column for column, _ in wanted]
    if not rows or rows[0] != header:
        yield f"has the columns {','.join(rows[0]) if rows else 'none'}; the document says {','.join(header)}"
        return
    if len(rows) == 1:
        yield "has no line"
    for row in rows[1:]:
        problem = cell_problem(row, wanted)
        if problem:
            yield problem
            return


WANTED = [("name", "text"), ("n", "integer"), ("mean", "number or empty")]
# Rows of a file and what must be said of them; None: nothing.
CASES = [
    ([["name", "n", "mean"], ["a", "-1", "1.5e-07"], ["b", "2", ""]], None),
    ([["name", "mean", "n"], ["a", "1.5", "1"]], "has the columns name,mean,n"),
    ([["name", "n"], ["a", "1"]], "has the columns name,n"),
    ([["name", "n", "mean"]], "has no line"),
    ([["name", "n", "mean"], ["", "1", "1"]], "column name holds ''"),
    ([["name", "n", "mean"], ["a", "1.5", "1"]], "column n holds '1.5'"),
    ([["name", "n", "mean"], ["a", "1", "nan"]], "column mean holds 'nan'"),
]


def self_problems():
    """What this comparison itself overlooks."""
    for rows, wanted in CASES:
        said = list(file_problems(rows, WANTED))
        if (wanted is None and said) or (wanted is not None and (len(said) != 1 or wanted not in said[0])):
            yield f"docs_schema.py: {wanted!r} expected, reported: {said}"


def problems(root, documents, whole):
    """`documents` are pairs of a document and the folder its commands ran in; `whole`: they are all there are."""
    schemas = Schemas(sorted((root / "docs").glob("*.md")), root)
    used, seen, found = set(), set(), []
    for path, folder in documents:
        for file in sorted(folder.glob("*/**/*.csv")):
            if (folder / file.relative_to(folder).parts[0]).is_symlink():
                continue
            name = f"{path.name}: {file.relative_to(folder)}"
            schema = schemas.find(str(file), path.relative_to(root))
            if schema is None:
                found.append(f"{name}: no document says what its columns are")
                continue
            with file.open(newline="") as stream:
                rows = list(csv.reader(stream))
            used.add(schema[:2])
            found += [f"{schema[0]}: {name}: {p}" for p in file_problems(rows, schema[2])]
            if file.name == SUMMARIES and rows and "quantity" in rows[0]:
                seen |= {row[rows[0].index("quantity")] for row in rows[1:]}
    found += [f"{SUMMARIES}: no document explains the quantity {q}" for q in sorted(seen - set(schemas.quantities))]
    if whole:
        found += [f"{place}: no command wrote a file like {pattern}" for place, pattern, _ in schemas.columns
                  if (place, pattern) not in used]
        found += [f"{place}: no command wrote the quantity {q}" for q, place in schemas.quantities.items() if q not in seen]
    return found
