"""Compares tables with those of a document, or writes them there: each stands after a line <!-- table: NAME -->."""
import pathlib

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "planted.md"


def read_table(lines, at):
    """Rows of the table that begins at the line, without its head."""
    rows = []
    for line in lines[at:]:
        if not line.startswith("|"):
            break
        rows.append([c.strip() for c in line.strip().strip("|").split("|")])
    return rows[2:]


def compare_tables(path, tables, write):
    """What differs, in words. With `write` the document is changed and nothing differs."""
    lines, problems = path.read_text().split("\n"), []
    for name, rows in tables.items():
        at = lines.index(f"<!-- table: {name} -->") + 1
        while not lines[at].startswith("|"):
            at += 1
        there = read_table(lines, at)
        if write:
            lines[at + 2:at + 2 + len(there)] = ["| " + " | ".join(row) + " |" for row in rows]
        elif there != rows:
            amiss = [f"got {got}, it says {said}" for got, said in zip(rows, there) if got != said]
            problems.append(f"{path.name}, {name}: {len(rows)} rows, it has {len(there)}; " + "; ".join(amiss))
    if write:
        path.write_text("\n".join(lines))
    return problems
