"""Reads what Buoy wrote: CSV tables and .npz arrays, by the standard library alone."""
import array
import ast
import csv
import json
import struct
import zipfile


class Array:
    """A flat array with its shape; a[i] is a row, or a number in one dimension."""

    def __init__(self, values, shape):
        self.values, self.shape = values, shape

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, i):
        if not 0 <= i < self.shape[0]:
            raise IndexError(i)
        if len(self.shape) == 1:
            return self.values[i]
        size = len(self.values) // self.shape[0]
        return Array(self.values[i * size:(i + 1) * size], self.shape[1:])


def read_npy(data):
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode("latin-1"))
    body, kind = data[10 + length:], header["descr"][1:]
    count = 1
    for n in header["shape"]:
        count *= n
    if kind.startswith("U"):
        width = int(kind[1:])
        text = body.decode("utf-32-le") if body else ""
        values = [text[i * width:(i + 1) * width].rstrip("\0") for i in range(count)]
    else:
        values = array.array({"f4": "f", "f8": "d", "i8": "q", "i4": "i", "u1": "B", "i1": "b", "b1": "B"}[kind])
        values.frombytes(body[:count * values.itemsize])
    return Array(values, header["shape"]) if header["shape"] else values[0]


class Npz:
    def __init__(self, path):
        self.file = zipfile.ZipFile(path)
        self.cache = {}

    def __getitem__(self, name):
        if name not in self.cache:
            self.cache[name] = read_npy(self.file.read(name + ".npy"))
        return self.cache[name]

    @property
    def header(self):
        return json.loads(self["header"])


def read_csv(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def number(text):
    return float(text) if text else None


class Summaries:
    """summaries.csv: means over samples by model, quantity, part, layer and head; data and task pooled."""

    def __init__(self, path):
        self.rows = {}
        for row in read_csv(path):
            if row["data"] == "*" and row["task"] == "*":
                key = (row["model"], row["quantity"], row["part"], int(row["layer"]), int(row["head"]))
                self.rows[key] = {k: number(row[k]) for k in ("n", "mean", "lo", "hi", "null")}

    def layers(self, model, quantity, part=""):
        """(layers, rows) in order, of numbers that belong to no one head."""
        found = sorted((k[3], row) for k, row in self.rows.items() if k[:3] == (model, quantity, part) and k[3] >= 0 and k[4] < 0)
        return [layer for layer, _ in found], [row for _, row in found]

    def heads(self, model, quantity, part=""):
        """{(layer, head): mean}"""
        return {k[3:]: row["mean"] for k, row in self.rows.items() if k[:3] == (model, quantity, part) and k[4] >= 0}

    def parts(self, model, quantity):
        return {k[2]: row for k, row in self.rows.items() if k[:2] == (model, quantity) and k[3] < 0}
