// The explorer in Chromium: every panel, the keyboard, the address, what is saved; against the mock server, whose anchors are known.
// usage: node web/test/explorer.mjs [--only WORDS]
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mock } from "../mock/server.mjs";
import { planted, planted_anchors } from "../mock/runs.mjs";
import { Browser } from "./browser.mjs";

const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : "";
const downloads = mkdtempSync(join(tmpdir(), "buoy-saved-"));
const mock = new Mock();
mock.add(planted({ id: "planted", title: "Planted" }));
mock.add(planted({ id: "hostile", title: "<img src=x onerror=alert(1)>", words: ["<script>window.broken=1</script>", "<b>b</b>", "&amp;", " '\"", "\u202e", "</span>"] }));
const port = await mock.listen(0), origin = `http://127.0.0.1:${port}`;
const browser = await Browser.start(), page = await browser.page({ width: 1280, height: 900, downloads });

const $ = (selector) => `document.querySelector(${JSON.stringify(selector)})`;
const text = (selector) => page.evaluate(`${$(selector)}?.textContent ?? ""`);
const open = async (fragment) => {
  await page.open(`${origin}/#token=mock&tour=off&${fragment}`);
  await page.until(`${$("#main")}?.childElementCount > 0`, `the view of ${fragment}`);
  await page.settle();
};
const run_ready = () => page.until(`document.querySelectorAll(".card.text .t.anchor").length || document.querySelectorAll(".card.anchors .words li").length`, "anchors in the text");
const fragment = () => page.evaluate("new Promise(d => setTimeout(() => d(location.hash), 260))");
const moving = (step, layer) => planted_anchors(96, step, layer)[1].position;

const facts = {
  async "the token leaves the address"() {
    await open("run=planted");
    assert.ok(!(await fragment()).includes("token"));
    assert.equal(await page.evaluate("sessionStorage.getItem('buoy-token')"), "mock");
  },
  async "anchors in text and words are the planted ones"() {
    for (const [step, layer] of [[0, 0], [4, 2], [11, 3]]) {
      await open(`view=run&run=planted&step=${step}&layer=${layer}`);
      await page.until(`document.querySelectorAll(".card.text .t.anchor").length === 2`, "two outlined tokens");
      const outlined = await page.evaluate(`Array.from(document.querySelectorAll(".card.text .t.anchor"), e => Number(e.dataset.i))`);
      assert.deepEqual(outlined, [0, moving(step, layer)]);
      const words = await text(".card.anchors .lead");
      assert.match(words, /2 tokens are anchors/);
      assert.ok(words.includes(` at ${moving(step, layer)} (`), words);
      if (step) assert.match(words, /1 stayed, 1 came, 1 went/);
    }
  },
  async "colours follow received over null"() {
    await open("view=run&run=planted&step=4&layer=2");
    await page.until(`document.querySelectorAll(".card.text .t.anchor").length === 2`);
    const level = (i) => page.evaluate(`Number(/ c(\\d+)/.exec(document.querySelector('.card.text [data-i="${i}"]').className)[1])`);
    const received = mock.runs.get("planted").arrays.received, lift = (i) => received.data[(4 * 4 + 2) * 96 + i] * 96;
    for (const i of [0, 1, moving(4, 2), 95]) assert.equal(await level(i), Math.round((Math.min(Math.max(Math.log2(lift(i)) / 8 + 0.5, 0), 1)) * 32));
  },
  async "masks, guesses and commitments are told apart"() {
    await open("view=run&run=planted&step=3&layer=0");
    await run_ready();
    const run = mock.runs.get("planted").info, counts = await page.evaluate(`({ mask: document.querySelectorAll(".text .t.mask").length, fresh: document.querySelectorAll(".text .t.new").length, guess: document.querySelectorAll(".text .t.guess").length })`);
    assert.equal(counts.fresh, run.commit_step.filter((c) => c === 3).length);
    assert.equal(counts.mask, run.commit_step.filter((c) => c > 3).length);
    assert.equal(counts.guess, counts.mask);
  },
  async "a click on a token opens rows, columns, grid and candidates"() {
    await open("view=run&run=planted&step=4&layer=2");
    await run_ready();
    await page.click('.card.text [data-i="20"]');
    await page.until(`document.querySelectorAll(".card.rows .bars li").length === 20`, "two lists of ten");
    assert.match(await text(".card.token .lead"), /position 20/);
    const first = await page.evaluate(`Array.from(document.querySelectorAll(".card.rows .bars li:first-child .value"), e => e.textContent)`);
    const run = mock.runs.get("planted"), row = run.arrays.received.data[(4 * 4 + 2) * 96 + 20] - 0.1 / 96 + 0.1, best = run.arrays.received.data[(4 * 4 + 2) * 96 + moving(4, 2)] - 0.1 / 96;
    assert.equal(first[0], `${(Math.max(row, best) * 100).toFixed(1)} %`);
    assert.equal(await page.evaluate(`document.querySelectorAll(".card.grid .cell").length`), 12);
    assert.ok(await page.until(`document.querySelectorAll(".card.candidates .bars li").length >= 5`));
    await page.click('.card.text [data-i="0"]', 8);
    await page.until(`/attention from 20 to 0/.test(${$(".card.grid")}.textContent)`, "the grid between two tokens");
    assert.match(await fragment(), /target=0/);
  },
  async "a cell of the grid fixes layer and head"() {
    await open("view=run&run=planted&step=4&position=20");
    await page.until(`document.querySelectorAll(".card.rows .bars li").length === 20`);
    await page.click('.card.grid .cell[data-row="3"][data-column="1"]');
    assert.match(await fragment(), /layer=3&head=1/);
    assert.equal(await page.evaluate(`${$("select[aria-label=Layer]")}.value + "," + ${$("select[aria-label=Head]")}.value`), "3,1");
  },
  async "the address reproduces the view"() {
    const wanted = "view=run&run=planted&step=7&layer=2&head=1&position=33&target=5&rows=read&null=first";
    await open(wanted);
    await run_ready();
    assert.equal(await fragment(), "#" + wanted);
    const shown = await page.evaluate(`[${$(".scrubber")}.value, ${$("select[aria-label=Layer]")}.value, ${$("select[aria-label=Head]")}.value, ${$("select[aria-label=Rows]")}.value, ${$("select[aria-label=Null]")}.value].join()`);
    assert.equal(shown, "7,2,1,read,first");
    await page.evaluate(`location.hash = "#view=run&run=planted&step=2&layer=1"`);
    await page.until(`${$(".scrubber")}.value === "2"`, "the step of the new address");
    await page.evaluate(`Array.from(document.querySelectorAll("nav button")).find(b => b.textContent === "Tables").click()`);
    await page.until(`${$(".tables-view")} !== null`, "another view");
    await page.evaluate("history.back()");
    await page.until(`${$(".run-view")} !== null && ${$(".scrubber")}.value === "2"`, "back where it was");
  },
  async "an address beyond the run is brought back into it"() {
    await open("view=run&run=planted&step=999&layer=77&head=9&position=5000");
    await run_ready();
    assert.equal(await fragment(), "#view=run&run=planted&step=11");
  },
  async "keys move step, layer, head, token, rows and null"() {
    await open("view=run&run=planted&step=3");
    await run_ready();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "]", "]", "[", "}", "ArrowDown", "ArrowDown", "r", "n"]) await page.key(key);
    assert.equal(await fragment(), "#view=run&run=planted&step=4&layer=0&head=0&position=1&rows=read&null=first");
    for (const key of ["Escape", "End", "{", "r", "n", "n", "]"]) await page.key(key);
    assert.equal(await fragment(), "#view=run&run=planted&step=11&layer=1");
    await page.key("Home");
    await page.key("a");
    assert.match(await fragment(), /position=0/);
    await page.key("a");
    assert.match(await fragment(), new RegExp(`position=${moving(0, 1)}`));
    await page.key("?");
    assert.ok(await page.evaluate(`${$("dialog.help")}.open`));
    await page.key("Escape");
    await page.key(" ");
    await page.until(`Number(${$(".scrubber")}.value) >= 2`, "playing");
    await page.key(" ");
  },
  async "a click in the map chooses step and token"() {
    await open("view=run&run=planted&layer=1");
    await run_ready();
    await page.evaluate(`${$(".card.map canvas")}.scrollIntoView({block: "center"})`);
    const r = await page.evaluate(`(() => { const r = ${$(".card.map canvas")}.getBoundingClientRect(); return {x: r.x, y: r.y, w: r.width, h: r.height}; })()`);
    const cell = (r.w - 30) / 96, row = Math.floor((r.h - 20) / 12);
    await page.click_at(r.x + 30 + 40.5 * cell, r.y + 18 + 6.5 * row);
    assert.match(await fragment(), /step=6&layer=1&position=40/);
    const pixel = (step, position) => page.evaluate(`(() => { const c = document.createElement("canvas"); c.width = c.height = 1; const d = c.getContext("2d", {willReadFrequently: true});
      d.drawImage(${$(".card.map canvas")}, -(30 + Math.floor((${position} + 0.5) * ${cell})), -(18 + Math.floor((${step} + 0.5) * ${row}))); return Array.from(d.getImageData(0, 0, 1, 1).data.slice(0, 3)); })()`);
    const [red, , blue] = await pixel(3, moving(3, 1)), [plain_red, , plain_blue] = await pixel(3, 60);
    assert.ok(red - blue > 60, `an anchor is orange, got ${red}, ${blue}`);
    assert.ok(Math.abs(plain_red - plain_blue) < 40, `a token without excess is pale, got ${plain_red}, ${plain_blue}`);
  },
  async "every panel is saved as SVG, PNG and CSV"() {
    await open("view=run&run=planted&step=4&layer=2&position=20");
    await page.until(`document.querySelectorAll(".card.rows .bars li").length === 20 && document.querySelector(".flow-chart") && document.querySelector(".card.candidates li")`);
    const names = await page.evaluate(`Array.from(document.querySelectorAll("[data-card]"), e => e.dataset.card)`);
    assert.deepEqual(names, ["anchors", "text", "map", "writing", "flow", "token", "grid", "rows", "candidates", "fork"]);
    const press = (name, kind) => page.evaluate(`document.querySelector('[data-card="${name}"] [data-save="${kind}"]').click()`);
    await press("map", "csv");
    const file = join(downloads, "buoy-map.csv");
    for (let i = 0; i < 400 && !existsSync(file); ++i) await new Promise((done) => setTimeout(done, 25));
    // One is saved by the browser; of the rest, which it would ask about, what it was given to save is read.
    await page.evaluate(`window.saved = {}; window.blobs = {}; const make = URL.createObjectURL.bind(URL);
      URL.createObjectURL = (blob) => { const url = make(blob); window.blobs[url] = blob; return url; };
      HTMLAnchorElement.prototype.click = function () { const read = new FileReader(); read.onload = () => (window.saved[this.download] = read.result); read.readAsDataURL(window.blobs[this.href]); }; 0`);
    for (const name of names) {
      for (const kind of ["svg", "png", "csv"]) {
        await press(name, kind);
        const bytes = Buffer.from((await page.until(`window.saved["buoy-${name}.${kind}"]`, `${name}.${kind}`)).split(",")[1], "base64");
        if (kind === "png") assert.equal(bytes.toString("latin1", 1, 4), "PNG", name);
        if (kind === "svg") assert.ok(bytes.toString().startsWith("<svg ") && bytes.length > 300, name);
        if (kind === "svg") assert.ok(await page.evaluate(`new DOMParser().parseFromString(${JSON.stringify(bytes.toString())}, "image/svg+xml").querySelector("parsererror") === null`), `${name}.svg is XML`);
      }
    }
    const map = readFileSync(file, "utf8").trim().split("\n");
    assert.equal(map[0], "step,position,received_over_null,anchor");
    assert.equal(map.length, 1 + 12 * 96);
    const row = map[1 + 4 * 96 + moving(4, 2)].split(","), received = mock.runs.get("planted").arrays.received.data[(4 * 4 + 2) * 96 + moving(4, 2)];
    assert.ok(Math.abs(Number(row[2]) - received * 96) < 1e-3 && row[3] === "1", row.join());
  },
  async "text from data stays text"() {
    await open("view=run&run=hostile&step=2&position=3");
    await page.until(`document.querySelectorAll(".card.rows .bars li").length === 20`);
    assert.equal(await page.evaluate("window.broken"), undefined);
    assert.equal(await page.evaluate(`document.querySelectorAll("#app img, #app script, #app .text b").length`), 0);
    assert.match(await text(".run-head h1"), /^<img/);
    assert.ok((await text(".card.text")).includes("<script>window.broken=1</script>"));
  },
  async "a live run is watched, stopped, stepped and goes on"() {
    await open("view=live");
    await page.type("textarea[aria-label=Prompt]", "The town of");
    await page.click(".live-view button.primary");
    await page.until(`!${$(".live-bar")}.hidden && /Running/.test(${$(".live-bar")}.textContent)`, "the bar of a running run");
    await page.until(`/[2-9] steps so far/.test(${$(".live-bar")}.textContent)`, "two steps");
    await page.evaluate(`Array.from(document.querySelectorAll(".live-bar button")).find(b => b.textContent === "Stop").click()`);
    await page.until(`/Stopped/.test(${$(".live-bar")}.textContent)`, "stopped");
    const count = () => page.evaluate(`Number(/(\\d+) steps so far/.exec(${$(".live-bar")}.textContent)[1])`);
    await new Promise((done) => setTimeout(done, 150));
    const before = await count();
    await page.evaluate(`Array.from(document.querySelectorAll(".live-bar button")).find(b => b.textContent === "One step").click()`);
    await page.until(`/Stopped/.test(${$(".live-bar")}.textContent) && /${before + 1} steps so far/.test(${$(".live-bar")}.textContent)`, "one step more");
    assert.equal(await page.evaluate(`Number(${$(".scrubber")}.value)`), before, "the newest step is shown");
    await page.evaluate(`Array.from(document.querySelectorAll(".live-bar button")).find(b => b.textContent === "Go on").click()`);
    await page.until(`${$(".live-bar")}.hidden`, "done");
    await page.until(`document.querySelectorAll(".text .t.mask").length === 0 && document.querySelectorAll(".text .t.c16, .text .t.c15").length > 10`, "the finished text, coloured");
  },
  async "a fork stands beside its run and says what changed"() {
    await open("view=run&run=planted&step=5&layer=1&head=2&position=10");
    await run_ready();
    for (const label of ["Hide key", "Cut head"]) await page.evaluate(`Array.from(document.querySelectorAll(".card.fork button")).find(b => b.textContent === "${label}").click()`);
    assert.equal(await page.evaluate(`document.querySelectorAll(".card.fork .changes li").length`), 2);
    await page.evaluate(`${$(".card.fork button.primary")}.click()`);
    await page.until(`/bit for bit/.test(${$(".card.changed")}?.textContent ?? "")`, "the comparison");
    const words = await text(".card.changed");
    assert.match(words, /before step 5: key hidden: .* at 10; head cut: layer 1, head 2/);
    assert.match(words, /Before step 5: the same tokens and the same attention, bit for bit/);
    assert.match(await fragment(), /view=compare&run=planted&other=fork-/);
    await page.until(`/24 tokens of the answer differ/.test(${$(".card.changed")}.textContent)`, "what differs in the end");
  },
  async "a branch that differs too early is told"() {
    const fork = planted({ id: "bad-fork", title: "bad", parent: "planted", fork_step: 5, twist: 1, changes: [{ hide_keys: [1] }] });
    fork.step_tokens.set(mock.runs.get("planted").step_tokens.subarray(0, 6 * 96));
    fork.arrays.received.data[2 * 4 * 96 + 3] += 1e-6;
    mock.add(fork);
    await open("view=compare&run=planted&other=bad-fork&step=3&layer=0");
    await page.until(`/which they should not/.test(${$(".card.changed")}?.textContent ?? "")`, "the difference before the fork");
  },
  async "a collection is written, asked and logged"() {
    await open("view=ask");
    await page.type("input[aria-label='Name of a new collection']", "towns");
    await page.evaluate(`Array.from(document.querySelectorAll(".ask-view button")).find(b => b.textContent === "Create").click()`);
    await page.until(`/0 documents/.test(${$(".documents")}.textContent)`, "an empty collection");
    await page.evaluate(`Array.from(document.querySelectorAll(".ask-view button")).find(b => b.textContent === "Add a document").click()`);
    await page.type(".editing input", "Mormenholm");
    await page.type(".editing textarea", "The mayor is <i>Jalo</i>.");
    await page.click(".editing button.primary");
    await page.until(`/1 documents.*<i>Jalo<\\/i>/.test(${$(".documents")}.textContent)`, "the document");
    await page.type("input[aria-label=Question]", "Who is mayor?");
    await page.key("Enter");
    await page.until(`document.querySelectorAll(".given").length === 2 && document.querySelectorAll(".drawn sub").length > 10`, "two answers and what they drew on");
    // 0.7 of the mass is on passages, which are 57 of 96 tokens; the other model's is 0.05.
    const given = await page.until(`(() => { const all = Array.from(document.querySelectorAll(".given"), e => e.textContent); return all.every(t => /what even attention would/.test(t)) && all; })()`, "both supports");
    assert.ok(given.some((words) => words.includes(`passages ${((0.7 * 96) / 57).toFixed(2)} × what`) && !words.includes("weak")), given.join());
    assert.ok(given.some((words) => words.includes(`weak support: its rows gave the passages ${((0.05 * 96) / 57).toFixed(2)} ×`)), given.join());
    assert.equal(await page.evaluate(`document.querySelectorAll(".given.weak .drawn sub").length`), 0, "what draws on nothing names nothing");
    assert.equal(await text(".drawn sub"), "1", "Doc1 has 0.5 of the mass");
    assert.equal(mock.collections.get("towns").log.length, 1);
    await page.evaluate(`Array.from(document.querySelectorAll(".document button")).find(b => b.textContent === "Remove").click()`);
    await page.until(`/0 documents/.test(${$(".documents")}.textContent)`, "no document");
  },
  async "tables sort, filter and open a sample's run"() {
    await open("view=tables");
    await page.until(`document.querySelectorAll("tbody tr").length === 200`, "the first rows");
    await page.evaluate(`document.querySelectorAll("th button")[2].click()`);
    assert.equal(await text("tbody tr td:nth-child(3)"), "0");
    await page.evaluate(`document.querySelectorAll("th button")[2].click()`);
    assert.equal(await text("tbody tr td:nth-child(3)"), "0.99");
    await page.type("input[type=search]", "turnover>=0.9 layer=4");
    await page.until(`Array.from(document.querySelectorAll("tbody tr"), r => r.cells[1].textContent).every(v => v === "4")`, "filtered rows");
    const rows = mock.get("/tables/drift").rows.filter((r) => r[2] >= 0.9 && r[1] === 4);
    assert.equal(await page.evaluate(`document.querySelectorAll("tbody tr").length`), rows.length);
    assert.equal(await page.evaluate(`document.querySelectorAll(".point").length`), rows.length);
    await page.evaluate(`${$(".point.opens")}.dispatchEvent(new MouseEvent("click"))`);
    await page.until(`${$(".run-head h1")}?.textContent === "Planted"`, "the run of the point");
  },
  async "the tour can be walked and skipped"() {
    await page.open(`${origin}/#token=mock`);
    await page.until(`${$(".tour")} && !${$(".tour")}.hidden`, "the tour on a first visit");
    for (let i = 0; i < 6; ++i) await page.click(".tour button.primary");
    assert.match(await text(".tour"), /7 of 7/);
    assert.match(await fragment(), new RegExp(`position=(${moving(0, 3)}|0)(&|$)`), "a first visitor finds the strongest anchor chosen");
    await page.click(".tour button.primary");
    assert.ok(await page.evaluate(`${$(".tour")}.hidden`));
    await page.open(`${origin}/#token=mock`);
    await run_ready();
    await new Promise((done) => setTimeout(done, 900));
    assert.ok(await page.evaluate(`${$(".tour")}.hidden`), "not twice");
    await page.evaluate(`Array.from(document.querySelectorAll(".end button"))[0].click()`);
    await page.click(".tour .skip-tour");
    assert.ok(await page.evaluate(`${$(".tour")}.hidden`));
  },
  async "nothing is wider than the screen from 390 to 2560 pixels"() {
    await open("view=run&run=planted");
    for (const width of [390, 600, 899, 900, 1280, 1900, 2560]) {
      await page.resize(width, 900);
      for (const view of ["view=run&run=planted&step=4&layer=1&position=20", "view=compare&run=planted&other=hostile", "view=live", "view=ask", "view=tables"]) {
        await page.evaluate(`location.hash = "#${view}"`);
        await page.settle();
        await page.settle();
        const over = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert.ok(over <= 0, `${view} at ${width}: ${over} pixels too wide`);
      }
    }
    await page.resize(1280, 900);
  },
  async "controls have names and text has contrast"() {
    for (const dark of [false, true]) {
      await page.dark(dark);
      for (const view of ["view=run&run=planted&step=4&layer=1&position=20", "view=live", "view=ask", "view=tables"]) {
        await open(view);
        const nameless = await page.evaluate(`Array.from(document.querySelectorAll("button, select, input, textarea, canvas, svg[role]")).filter(e => !(e.textContent.trim() || e.getAttribute("aria-label") || e.closest("label")?.textContent.trim())).map(e => e.outerHTML.slice(0, 120))`);
        assert.deepEqual(nameless, []);
      }
      await open("view=run&run=planted&step=4&layer=1");
      const poor = await page.evaluate(`(() => { const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        return Array.from({length: 33}, (_, i) => { const e = document.createElement("span"); e.className = "t c" + i; document.querySelector(".text").append(e); const s = getComputedStyle(e), a = lum(s.color), b = lum(s.backgroundColor); e.remove(); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }).filter(v => v < 4.5); })()`);
      assert.deepEqual(poor, [], "WCAG AA on every level");
    }
    await page.dark(false);
  },
  async "one file holds the run and needs no server"() {
    const built = (name) => readFileSync(new URL(`../../buoy/serve/page/${name}`, import.meta.url), "utf8"), data = {}, run = "/api/v1/runs/planted";
    const keep = (path, packed) => {
      const [bare, query] = path.slice(7).split("?"), answer = mock.get(bare, new URLSearchParams(query)), bytes = Buffer.isBuffer(answer) ? answer : Buffer.from(JSON.stringify(answer));
      data[path] = packed ? "gz:" + gzipSync(bytes).toString("base64") : bytes.toString("base64");
    };
    for (const path of ["/api/v1/about", "/api/v1/runs", run, `${run}/pieces`, `${run}/steps/tokens`, `${run}/steps/guesses`, `${run}/steps/guess_confidence`, `${run}/anchors?rows=all`, `${run}/anchors?rows=read`]) keep(path, false);
    for (const path of ["received", "received_read", "received_heads"]) keep(`${run}/arrays/${path}`, true);
    const file = join(downloads, "one.html");
    writeFileSync(file, built("index.html").replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${built("app.css")}</style>`).replace(/<script src[^>]*><\/script>/, "")
      .replace("</body>", () => `<script>window.BUOY_DATA = ${JSON.stringify(data)}</script><script>${built("app.js")}</script></body>`));
    await page.open(`file://${file}#tour=off&view=run&run=planted&step=4&layer=2&position=20`);
    await page.until(`document.querySelectorAll(".card.text .t.anchor").length === 2`, "anchors from the file");
    assert.equal(await page.evaluate(`document.querySelectorAll(".card.grid .cell").length`), 12);
    await page.until(`/needs a server/.test(${$(".card.rows")}.textContent)`, "what is not in the file");
    assert.deepEqual(await page.evaluate(`Array.from(document.querySelectorAll("nav button")).filter(b => !b.hidden).map(b => b.textContent)`), ["Run", "Side by side", "Tables"]);
    // In a notebook the page is the text of a frame, which has no address and no storage of its own.
    for (const sandbox of [null, "allow-scripts"]) {
      await page.open("data:text/html,<body></body>");
      await page.until("document.body");
      page.complaints = [];
      await page.evaluate(`(() => { const f = document.createElement("iframe"); ${sandbox ? `f.setAttribute("sandbox", "${sandbox}");` : ""} f.width = 900; f.height = 700; f.srcdoc = ${JSON.stringify(readFileSync(file, "utf8").replace("</body>", () => `<script>const look = setInterval(() => { if (document.querySelectorAll(".card.text .t.anchor").length) { document.querySelector("select[aria-label=Layer]").value = "2"; document.querySelector("select[aria-label=Layer]").dispatchEvent(new Event("change")); setTimeout(() => parent.postMessage(document.querySelector(".card.anchors").textContent, "*"), 300); clearInterval(look); } }, 50)</script></body>`))}; window.told = ""; window.addEventListener("message", (e) => (window.told = e.data)); document.body.append(f); })()`);
      assert.match(await page.until("window.told", `the page in a frame${sandbox ? ` (${sandbox})` : ""}`), /layer 2/);
    }
    assert.deepEqual(page.requests.filter((url) => url.startsWith("file:") && !url.includes("one.html")), []);
    page.requests = page.requests.filter((url) => !url.startsWith("file:"));
  },
  async "a wrong token is one line on the page"() {
    await page.open(`${origin}/#token=wrong`);
    await page.until(`/token: missing or wrong/.test(${$(".status")}?.textContent ?? "")`, "the server's line");
    page.complaints = page.complaints.filter((line) => !line.includes("403"));
  },
  async "a server that is gone is one line on the page"() {
    await open("view=run&run=planted&step=1");
    await run_ready();
    mock.server.closeAllConnections?.();
    await new Promise((done) => mock.server.close(done));
    await page.evaluate(`location.hash = "#view=run&run=hostile&step=1"`);
    await page.until(`/the server does not answer/.test(${$(".status")}.textContent)`, "the line");
    page.complaints = page.complaints.filter((line) => !line.includes("ERR_CONNECTION_REFUSED"));
  },
};

let failed = 0, count = 0;
try {
  for (const [fact, body] of Object.entries(facts)) {
    if (!fact.includes(only)) continue;
    ++count;
    const begun = Date.now();
    try {
      await body();
      assert.deepEqual(page.complaints, [], "the console has nothing to say");
      const elsewhere = page.requests.filter((url) => !url.startsWith(origin) && !/^(data|blob|about):/.test(url));
      assert.deepEqual(elsewhere, [], "no request off the origin");
      console.log(`ok      ${fact} (${Date.now() - begun} ms)`);
    } catch (error) {
      ++failed;
      page.complaints = [];
      console.log(`FAILED  ${fact}\n        ${String(error.message ?? error).replace(/\n/g, "\n        ")}`);
    }
  }
} finally {
  await browser.close();
  mock.server.closeAllConnections?.();
  mock.server.close();
  rmSync(downloads, { recursive: true, force: true });
}
console.log(`${count - failed} of ${count} facts hold`);
process.exitCode = failed || !count ? 1 : 0;
