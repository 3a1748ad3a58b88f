// Facts of figures and tables and what lies behind them; of links to them and to answers; of what is asked of the model instead of a trace.
import assert from "node:assert/strict";
import { planted } from "../mock/runs.mjs";
import { $, fragment, mock, moving, open, page, text } from "./stage.mjs";

const press = (where, label) =>
  page.evaluate(
    `Array.from(document.querySelectorAll(${JSON.stringify(`${where} button`)})).find(b => b.textContent === ${JSON.stringify(label)}).click()`,
  );

export const study_facts = {
  async "a figure opens with its drawing, and the samples behind its points are one click away"() {
    await open("view=tables");
    await page.until(`${$(".drawing")}?.naturalWidth === 40`, "the drawing of the first figure");
    assert.equal(await page.evaluate("window.broken"), undefined, "nothing in a drawing runs");
    await page.until(`${$(".drawing")}.clientWidth === 64`, "a small drawing is not blown up");
    // Four means, each with two samples around it.
    await page.until(`document.querySelectorAll(".point").length === 12`, "means and samples");
    const at = await page.evaluate(
      `Array.from(document.querySelectorAll(".point.small.opens"), p => p.querySelector("title").textContent)`,
    );
    assert.deepEqual(
      at,
      [0, 1, 2, 3].map((layer) => `planted, planted: layer ${layer}, mean ${layer} – click: its run`),
    );
    assert.match(await text(".card.samples"), /2 runs; of 1 the trace is not here/);
    await page.evaluate(`document.querySelectorAll(".point.small.opens")[2].dispatchEvent(new MouseEvent("click"))`);
    await page.until(`${$(".run-head h1")}?.textContent === "Planted"`, "the run of the sample");
    assert.match(await fragment(), /view=run&run=planted&layer=2/, "at the layer of its point");
    // Another quantity, and all of them: one at a time, or they would hide each other.
    const shown = (of) =>
      open(`view=tables&table=turnover${of}`).then(() =>
        page.until(`document.querySelectorAll(".point").length && document.querySelectorAll(".point").length`),
      );
    assert.deepEqual([await shown("&of=share"), await shown("&of=*"), await shown("&of=nothing")], [4, 16, 12]);
    assert.deepEqual(
      await page.evaluate(`Array.from(document.querySelector("[aria-label='Points of']").options, o => o.text)`),
      ["turnover", "share", "everything"],
    );
    // By keyboard, from the list.
    await open("view=tables&table=turnover");
    await page.until(`${$(".sample-list button")} !== null`, "samples by name");
    await page.evaluate(`${$(".sample-list button")}.focus()`);
    await page.key("Enter");
    await page.until(`${$(".run-head h1")}?.textContent === "Planted"`, "the run of the sample, by keyboard");
  },
  async "a figure of no means can be read however tall it is, and has its samples by name"() {
    mock.add(planted({ id: "elsewhere", title: "Elsewhere", model: "another" }));
    await open("view=tables&table=claims");
    await page.until(`${$(".drawing")}?.naturalWidth === 400`, "the drawing");
    const [wide, high, room] = await page.evaluate(
      `[".drawing", ".drawing", ".card.figure > .body"].map((s, i) => document.querySelector(s)[["clientWidth", "clientHeight", "clientHeight"][i]])`,
    );
    assert.ok(wide > 400 && high > 4.9 * wide, `drawn ${wide} × ${high}`);
    assert.ok(room < 900 && room < high, `it scrolls in ${room}`);
    const axes = await page.evaluate(`["Across", "Up"].map(a => document.querySelector(\`[aria-label=\${a}]\`).value)`);
    assert.deepEqual(axes, ["null", "value"], "numbers that tell something, not how many there are");
    assert.match(await text(".card.samples"), /2 runs; of 1 the trace is not here/);
    await page.evaluate(`${$(".sample-list button")}.click()`);
    await page.until(`${$(".run-head h1")}?.textContent === "Planted"`, "the run of the sample");
    const groups = await page.evaluate(
      `Array.from(document.querySelectorAll(".chooser optgroup"), g => [g.label, Array.from(g.children).every(o => o.textContent.includes(\`— \${g.label}\`))])`,
    );
    assert.ok(groups.length > 1 && groups.every(([, its]) => its), `runs stand with their models: ${groups}`);
    mock.runs.delete("elsewhere");
  },
  async "a figure is saved as it is drawn, with its numbers"() {
    await open("view=tables");
    await page.until(`${$(".drawing")}?.naturalWidth === 40`, "the drawing");
    const svg = (await page.saved("figure", "svg")).toString(),
      drawing = await page.evaluate(`${$(".drawing")}.src`);
    assert.ok(svg.startsWith("<svg ") && svg.includes(`href="${drawing}"`), "the drawing lies in the file itself");
    const looks =
      await page.evaluate(`new Promise((done, failed) => { const image = new Image(); image.onerror = failed; image.onload = () => { const c = document.createElement("canvas"); c.width = image.width; c.height = image.height; const d = c.getContext("2d"); d.drawImage(image, 0, 0);
      const all = d.getImageData(0, 0, c.width, c.height).data, colours = new Set(); for (let i = 0; i < all.length; i += 4) colours.add(all.slice(i, i + 3).join()); done(colours.size); }; image.src = "data:image/png;base64,${(await page.saved("figure", "png")).toString("base64")}"; })`);
    assert.ok(looks > 3, `the picture has ${looks} colours`);
    const [columns, ...rows] = (await page.saved("figure", "csv")).toString().trim().split("\n"),
      table = mock.get("/tables/turnover");
    assert.deepEqual([columns, rows.length], [table.columns.join(), table.rows.length]);
  },
  async "a saved table has no formulas"() {
    const get = mock.get;
    mock.get = function (path, ...rest) {
      const answer = get.call(this, path, ...rest);
      const rows = [
        ["=cmd|'/c calc'!A0", -1, 0.5],
        ["-2,5 [1]", 1, -0.25],
        ["+A1", 2, 1],
      ];
      return path === "/tables/drift" ? { ...answer, rows } : answer;
    };
    try {
      await open("view=tables&table=drift");
      await page.until(`document.querySelectorAll("tbody tr").length === 3`, "the rows");
      assert.deepEqual((await page.saved("table", "csv")).toString().trim().split("\n").slice(1), [
        "'=cmd|'/c calc'!A0,-1,0.5",
        '"-2,5 [1]",1,-0.25',
        "'+A1,2,1",
      ]);
    } finally {
      mock.get = get;
    }
  },
  async "a link to a table has its filter, order and axes"() {
    const link = "view=tables&run=planted&table=drift&filter=layer%3C3&sort=-turnover&across=layer&up=turnover";
    await open(link);
    await page.until(`document.querySelectorAll("tbody tr").length === 75`, "the rows of three layers");
    assert.equal(await text("tbody tr td:nth-child(3)"), "0.98", "largest first");
    assert.equal(await page.evaluate(`${$(".filter")}.value`), "layer<3");
    assert.equal(await fragment(), "#" + link);
    await page.evaluate(`document.querySelectorAll("th button")[1].click()`);
    assert.match(await fragment(), /sort=layer/);
    await open("view=tables&table=nothing");
    await page.until(`/table nothing is not here/.test(${$(".card.table")}.textContent)`, "one line");
  },
  async "heads that were not recorded are computed by the model"() {
    const run = planted({ id: "plain", title: "Plain" });
    delete run.arrays.received_heads;
    mock.add(run);
    await open(`view=run&run=plain&step=4&layer=2&position=${moving(4, 2)}`);
    await page.until(`document.querySelectorAll(".card.grid .cell").length === 12`, "a grid");
    assert.match(await text(".card.grid"), /Computed by the model/);
    const cell = await page.evaluate(
      `document.querySelector('.card.grid .cell[data-row="2"][data-column="1"] title').textContent`,
    );
    const lift = run.heads[((4 * 4 + 2) * 3 + 1) * 96 + moving(4, 2)] * 96;
    assert.equal(cell, `layer 2, head 1: ${lift.toFixed(lift >= 9.95 ? 1 : 2)} ×`);
    mock.runs.delete("plain");
  },
  async "state space layers are called what they are"() {
    mock.add(planted({ id: "hybrid", title: "Hybrid", state_spaces: 3 }));
    for (const [layer, words] of [
      [2, /^Implicit attention of a state space layer, recomputed: step 4, layer 2/],
      [3, /^Exact, recomputed: step 4, layer 3/],
    ]) {
      await open(`view=run&run=hybrid&step=4&layer=${layer}&position=20`);
      await page.until(`${$(".card.rows .body p")} !== null`, "rows");
      assert.match(await text(".card.rows .body p"), words);
      assert.match(await text(".run-head"), /4 layers × 3 heads, 3 state space \(implicit attention\)/);
    }
    mock.runs.delete("hybrid");
  },
  async "a question that was asked is in the address"() {
    await open("view=ask");
    await page.until(
      `Array.from(document.querySelectorAll(".ask-view button")).some(b => b.textContent === "Make an example and ask it" && !b.hidden)`,
    );
    await press(".ask-view", "Make an example and ask it");
    await page.until(`document.querySelectorAll(".given").length === 2`, "two answers");
    const link = (await fragment()).slice(1);
    assert.match(link, /collection=example&ask=q1$/);
    await open(link);
    await page.until(`document.querySelectorAll(".given .drawn").length > 10`, "the same answers, from the link alone");
    assert.equal(await text(".card.answers h2"), "Who serves as mayor of Mormenholm?");
    assert.equal(await page.evaluate(`document.querySelectorAll(".card.answers ol.passages li").length`), 2);
    await open("view=ask&collection=example&ask=q99");
    await page.until(`/q99 are not remembered any more/.test(${$(".ask-view")}.textContent)`, "one line");
    mock.collections.clear();
  },
  async "the sampler is chosen"() {
    await open("view=live");
    await page.type("textarea[aria-label=Prompt]", "The town of");
    await page.evaluate(
      `${$(".more")}.open = true; ${$("select[aria-label='Which masks first']")}.value = "random"; ${$("input[aria-label=Threshold]")}.value = "0.9"; 0`,
    );
    await page.click(".live-view button.primary");
    await page.until(`${$(".run-view")} !== null`, "the run");
    const id = /run=([^&]+)/.exec(await fragment())[1],
      { remasking, threshold, top_p } = mock.runs.get(id).info.sampler;
    assert.deepEqual({ remasking, threshold, top_p }, { remasking: "random", threshold: 0.9, top_p: undefined });
  },
  async "another view begins at its top"() {
    await open("view=run&run=planted&step=5&layer=1&position=10");
    await page.until(`${$(".card.fork button")} !== null`);
    await page.evaluate("window.scrollTo(0, 600)");
    await page.evaluate(`location.hash = "#view=compare&run=planted&other=hostile"`);
    await page.until(`${$(".compare-view")} !== null`, "the other view");
    await page.settle();
    assert.equal(await page.evaluate("window.scrollY"), 0);
  },
};
