// Tries whether the page's tests bite: each bug below, put into a copy of the source, must make its fact fail. Needs esbuild.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MUTANTS = [
  ["colours-linear", "theme.ts", "Math.log2(lift) / (2 * SPAN)", "(lift - 1) / (2 * SPAN)", "colours follow"],
  ["axes-count-samples", "points_panel.ts", "varies(i) && !ABOUT.test(columns[i])", "varies(i)", "a figure of no means"],
  ["runs-of-all-models", "words.ts", "    group: r.model,\n", "", "a figure of no means"],
  ["pasted-addresses-wait", "main.ts", "location.reload();", "", "an address pasted"],
  [
    "anchors-of-the-next-step",
    "run_view.ts",
    "a.step === step && a.layer === s.layer",
    "a.step === step + 1 && a.layer === s.layer",
    "anchors in text",
  ],
  [
    "commitments-look-old",
    "run.ts",
    `this.is_forced(step + 1, position)) return "new";`,
    `this.is_forced(step + 1, position)) return "old";`,
    "masks, guesses",
  ],
  [
    "a-run-alone-stays-grey",
    "compare_view.ts",
    "if (a.run) this.update(",
    "if (a.run && b.run) this.update(",
    "side by side shows",
  ],
  [
    "fork-check-compares-nothing",
    "compare_view.ts",
    "if (one[i] !== two[i]) return false;",
    "if (one[i] !== one[i]) return false;",
    "a branch that differs",
  ],
  [
    "pins-of-another-layer",
    "fork.ts",
    "layer < 0 || p.layer === layer",
    "layer < 0 || p.layer !== layer",
    "a fork stands",
  ],
  ["resized-maps-wait-a-frame", "cell_map.ts", "if (other) this.draw_now();", "if (false) this.draw_now();", "maps that grow"],
  ["old-descriptions-stand", "run.ts", "        run.take_newest();\n", "", "what came between"],
  ["forced-by-the-step-before", "run.ts", " && !this.is_forced(step + 1, position)", "", "what is forced stands"],
  ["forced-words-of-the-parent", "fork.ts", "quoted(branch.piece(f.token", "quoted(run.piece(f.token", "what was forced is called"],
  ["all-quantities-on-one-scale", "facets.ts", "(facets[rows[0]] ?? EVERYTHING)", "EVERYTHING", "a figure opens"],
  ["a-slider-without-a-name", "controls.ts", `"aria-label": "Step"`, `"data-label": "Step"`, "controls have names"],
  ["layer-not-in-the-address", "state.ts", `(["step", "layer", "head"`, `(["step", "head"`, "the address reproduces"],
  ["support-counts-every-word", "support.ts", "run.info.tokens[j] === token", "true", "a collection is written"],
  ["filter-ignores-comparison", "table_rows.ts", "return value >= wanted;", "return true;", "tables sort"],
  [
    "samples-of-the-row-above",
    "table_data.ts",
    `row: at(row, "row") as number | null,`,
    `row: (at(row, "row") as number) - 1,`,
    "a figure opens",
  ],
  ["sorting-is-forgotten", "state.ts", `"filter", "sort", "across"`, `"filter", "across"`, "a link to a table"],
  ["grids-without-their-null", "token_panel.ts", ": uniform),", ": 1),", "heads that were not recorded"],
  ["the-tour-of-masks-alone", "tour.ts", "masked.mask_id() === null,", "false,", "the tour of a run that appends"],
  ["the-tour-promises-exact-rows", "tour.ts", "masked.info.can_recompute ?", "true ?", "the tour of a run that appends"],
  ["the-tour-counts-every-anchor", "tour_facts.ts", "at === step && lift >", "lift >", "the tour is about"],
  ["another-view-begins-below", "main.ts", "if (anew) window.scrollTo(0, 0);", "", "another view begins"],
  ["answers-are-not-recalled", "ask_view.ts", "this.store.set({ ask: asked.id });", "", "a question that was asked"],
  [
    "words-become-numbers",
    "live.ts",
    "input instanceof HTMLSelectElement ? input.value : Number(input.value)",
    "Number(input.value)",
    "the sampler is chosen",
  ],
  ["a-missed-step-stays-missing", "run.ts", "this.fetched.longer(`/arrays/${part}`, array.shape[0], then);", "", "a step whose"],
  ["formulas-are-saved", "card.ts", "looks_like_a_formula(value) ?", "false ?", "a saved table has no formulas"],
  [
    "pictures-are-left-out",
    "to_svg.ts",
    "return picture(node, node.src, at);",
    `return "";`,
    "a figure is saved as it is drawn",
  ],
  [
    "svg-left-open",
    "card.ts",
    "const svg = whole(this.body, () => to_svg(this.body, this.title));",
    `const svg = to_svg(this.body, this.title).replace("</svg>", "");`,
    "every panel is saved",
  ],
  ["what-is-scrolled-is-cut", "to_svg.ts", `element.classList.add("whole");`, "", "what is scrolled"],
  ["branches-are-stretched", "compare_view.ts", "if (kin(a, b)) return", "if (false) return", "a shorter branch"],
  ["masks-count-as-differing", "compare_view.ts", "&& a.is_written(i) && b.is_written(i)", "", "a shorter branch"],
  ["rows-are-called-by-their-place", "maps.ts", "pass: (step) => run.pass(step),\n    bands: bands_of(run),", "pass: (step) => step,\n    bands: bands_of(run),", "steps are called"],
  [
    "who-asks-second-is-not-told",
    "run.ts",
    "void request.then(then); // whoever",
    "if (!this.told) void request.then(then); this.told = true; // whoever",
    "the tour begins also",
  ],
  ["a-list-hears-no-space", "chart.ts", `e.key !== "Enter" && e.key !== " "`, `e.key !== "Enter"`, "a menu closes"],
];

const web = fileURLToPath(new URL("..", import.meta.url)),
  tree = mkdtempSync(join(tmpdir(), "buoy-page-mutants-"));
let survived = 0;
try {
  mkdirSync(join(tree, "buoy/serve/page"), { recursive: true });
  cpSync(web, join(tree, "web"), { recursive: true });
  for (const [name, file, before, after, fact] of MUTANTS) {
    const path = join(tree, "web/src", file),
      source = readFileSync(path, "utf8");
    if (source.split(before).length !== 2) {
      console.log(`${name}: ${file} has its text ${source.split(before).length - 1} times, expected once`);
      ++survived;
      continue;
    }
    writeFileSync(
      path,
      source.replace(before, () => after),
    );
    const built = spawnSync(join(tree, "web/build.sh"), { encoding: "utf8" });
    const run =
      built.status === 0
        ? spawnSync(process.execPath, [join(tree, "web/test/explorer.mjs"), "--only", fact], {
            encoding: "utf8",
            env: { ...process.env, BUOY_PATIENCE: "8000" },
          })
        : null;
    writeFileSync(path, source);
    const died = run !== null && run.status === 1 && run.stdout.includes("FAILED");
    if (!died) ++survived;
    console.log(
      `${died ? "found   " : "SURVIVED"}  ${name}${built.status === 0 ? "" : `: does not build: ${built.stderr}`}`,
    );
  }
} finally {
  rmSync(tree, { recursive: true, force: true });
}
process.exitCode = survived ? 1 : 0;
