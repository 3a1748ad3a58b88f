// Tables of the mock server: one of samples, and a figure of means with the samples behind its points.
const DRIFT = {
  columns: ["sample", "layer", "turnover"],
  rows: Array.from({ length: 300 }, (_, i) => [["planted", "wide"][i % 2], i % 12, Number(((i * 37) % 100) / 100)]),
  sample_column: 0,
};
// Means of two samples a layer: of value layer and layer + 1 … the mean lies between them. And another quantity, whose samples are not known.
const MEANS = {
  columns: ["model", "data", "task", "quantity", "layer", "head", "part", "n", "mean"],
  rows: Array.from({ length: 8 }, (_, i) => ["planted", "*", "*", i < 4 ? "turnover" : "share", i % 4, -1, "all", 2, (i % 4) + 0.5]),
  sample_column: null,
};
const BEHIND = {
  columns: ["row", "model", "sample", "value"],
  rows: Array.from({ length: 8 }, (_, i) => [i >> 1, "planted", i % 2 ? "absent" : "planted", (i >> 1) + (i % 2)]),
};
// A figure of no means, and a tall one: every sample of each model lies behind it.
const CLAIMS = {
  columns: ["claim", "model", "n", "value", "null", "lo", "hi", "survives_holm"],
  rows: Array.from({ length: 5 }, (_, i) => [`claim ${i}`, "planted", 10 + i, i, i / 2, i - 1, i + 1, i % 2]),
  sample_column: null,
};
const CLAIMED = {
  columns: ["row", "panel", "model", "sample", "value"],
  rows: ["planted", "absent"].map((sample) => [null, "", "planted", sample, null]),
};
const TALL = `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="2000"><rect width="400" height="2000" fill="teal"/></svg>`;
const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="teal"/><script>window.broken = 2</script></svg>`;

const TABLES = { drift: DRIFT, turnover: MEANS, claims: CLAIMS };

// What is asked of a table; nothing where it is something else.
export function get_table(path) {
  if (path === "/tables")
    return Object.entries(TABLES).map(([id, { columns, rows }]) => ({
      id,
      title: id === "drift" ? "Drift <b>by</b> sample" : `${id}.csv`,
      columns,
      rows: rows.length,
      picture: id !== "drift",
      samples: id !== "drift",
    }));
  if (path === "/tables/turnover/samples") return BEHIND;
  if (path === "/tables/turnover/picture") return PICTURE;
  if (path === "/tables/claims/samples") return CLAIMED;
  if (path === "/tables/claims/picture") return TALL;
  return TABLES[path.slice("/tables/".length)];
}
