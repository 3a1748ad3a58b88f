// Facts of the other views: questions, tables; of every width and theme; of one file; of failures.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { planted } from "../mock/runs.mjs";
import { $, downloads, fragment, mock, moving, open, origin, page, run_ready, text } from "./stage.mjs";

// One address of every view, each with something to show.
const VIEWS = [
  "view=run&run=planted&step=4&layer=1&position=20",
  "view=compare&run=planted&other=hostile",
  "view=live",
  "view=ask",
  "view=tables",
];

export const view_facts = {
  async "an example is one click away"() {
    await open("view=ask");
    await page.until(
      `Array.from(document.querySelectorAll(".ask-view button")).some(b => b.textContent === "Make an example and ask it" && !b.hidden)`,
    );
    await page.evaluate(
      `Array.from(document.querySelectorAll(".ask-view button")).find(b => b.textContent === "Make an example and ask it").click()`,
    );
    await page.until(
      `/4 documents/.test(${$(".documents")}.textContent) && document.querySelectorAll(".given").length === 2`,
      "the example and its answers",
    );
    assert.match(await fragment(), /collection=example/);
    mock.collections.clear();
  },
  async "side by side shows a run alone, and finds one to stand beside it"() {
    await open("view=compare&run=planted&layer=1&step=3");
    await page.until(`/other=/.test(location.hash)`, "another run");
    mock.summaries = () => [];
    await open("view=compare&run=planted&layer=1&step=3");
    delete mock.summaries;
    await page.until(`document.querySelectorAll(".compare-view .t.anchor").length === 2`, "the run's anchors");
    const seen = `(() => { const c = document.createElement("canvas"); c.width = c.height = 1; const d = c.getContext("2d", {willReadFrequently: true}), m = document.querySelectorAll(".compare-view canvas")[0]; const w = (m.clientWidth - 30) / 96;
      d.drawImage(m, -(30 + Math.floor((${moving(2, 1)} + 0.5) * w)), -(18 + Math.floor(2.5 * (m.clientHeight - 20) / 12))); const [r, , b] = d.getImageData(0, 0, 1, 1).data; return r - b > 60; })()`;
    await page.until(seen, "an orange anchor in its map");
  },
  async "a collection is written, asked and logged"() {
    await open("view=ask");
    await page.type("input[aria-label='Name of a new collection']", "towns");
    await page.evaluate(
      `Array.from(document.querySelectorAll(".ask-view button")).find(b => b.textContent === "Create").click()`,
    );
    await page.until(`/0 documents/.test(${$(".documents")}.textContent)`, "an empty collection");
    await page.evaluate(
      `Array.from(document.querySelectorAll(".ask-view button")).find(b => b.textContent === "Add a document").click()`,
    );
    await page.type(".editing input", "Mormenholm");
    await page.type(".editing textarea", "The mayor is <i>Jalo</i>.");
    await page.click(".editing button.primary");
    await page.until(`/1 document.*<i>Jalo<\\/i>/.test(${$(".documents")}.textContent)`, "the document");
    await page.type("input[aria-label=Question]", "Who is mayor?");
    await page.key("Enter");
    await page.until(
      `document.querySelectorAll(".given").length === 2 && document.querySelectorAll(".drawn sub").length > 10`,
      "two answers and what they copied",
    );
    // Half of the heads look at the same word in Doc1; the other model's look at BOS.
    const given = await page.until(
      `(() => { const all = Array.from(document.querySelectorAll(".given"), e => e.textContent); return all.every(t => /by chance/.test(t)) && all; })()`,
      "both supports",
    );
    const { tokens, regions, prompt_length } = planted({ id: "same", title: "same", S: 6 }).info;
    const occurs = tokens
      .slice(prompt_length)
      .map((t) => tokens.filter((u, i) => u === t && /^Doc/.test(regions[i])).length);
    const chance = occurs.reduce((a, b) => a + b, 0) / occurs.length / 96;
    const copied = given.find((words) => words.includes("50.0 % of layers")) ?? "",
      said = Number(/by chance ([\d.]+) %/.exec(copied)?.[1]);
    assert.ok(Math.abs(said - chance * 100) < 0.006 && !copied.includes("weak"), `${given.join()}: chance ${chance}`);
    assert.ok(
      given.some((words) => words.includes("weak support: 0.00 % of layers")),
      given.join(),
    );
    assert.equal(
      await page.evaluate(`document.querySelectorAll(".given.weak .drawn sub").length`),
      0,
      "what draws on nothing names nothing",
    );
    assert.equal(await text(".drawn sub"), "1", "the heads look at Doc1");
    assert.equal(mock.collections.get("towns").log.length, 1);
    await page.evaluate(
      `Array.from(document.querySelectorAll(".document button")).find(b => b.textContent === "Remove").click()`,
    );
    await page.until(`/0 documents/.test(${$(".documents")}.textContent)`, "no document");
  },
  async "tables sort, filter and open a sample's run"() {
    await open("view=tables&table=drift");
    await page.until(`document.querySelectorAll("tbody tr").length === 200`, "the first rows");
    for (const [order, first] of [
      ["ascending", "0"],
      ["descending", "0.99"],
    ]) {
      await page.evaluate(`document.querySelectorAll("th button")[2].click()`);
      await page.until(`${$("th:nth-child(3)")}.getAttribute("aria-sort") === "${order}"`, order);
      assert.equal(await text("tbody tr td:nth-child(3)"), first);
    }
    await page.type("input[type=search]", "turnover>=0.9 layer=4");
    await page.until(
      `Array.from(document.querySelectorAll("tbody tr"), r => r.cells[1].textContent).every(v => v === "4")`,
      "filtered rows",
    );
    const rows = mock.get("/tables/drift").rows.filter((r) => r[2] >= 0.9 && r[1] === 4);
    assert.equal(await page.evaluate(`document.querySelectorAll("tbody tr").length`), rows.length);
    assert.equal(await page.evaluate(`document.querySelectorAll(".point").length`), rows.length);
    await page.evaluate(`${$(".point.opens")}.dispatchEvent(new MouseEvent("click"))`);
    await page.until(`${$(".run-head h1")}?.textContent === "Planted"`, "the run of the point");
  },
  async "nothing is wider than the screen from 390 to 2560 pixels"() {
    await open("view=run&run=planted");
    for (const width of [390, 600, 899, 900, 1280, 1900, 2560]) {
      await page.resize(width, 900);
      for (const view of VIEWS) {
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
      for (const view of VIEWS) {
        await open(view);
        const { found, seen } = await page.nameless();
        assert.deepEqual(found, [], view);
        assert.ok(seen > 10, `${view} has ${seen} controls`);
      }
      await open("view=run&run=planted&step=4&layer=1");
      const poor =
        await page.evaluate(`(() => { const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        return Array.from({length: 33}, (_, i) => { const e = document.createElement("span"); e.className = "t c" + i; document.querySelector(".text").append(e); const s = getComputedStyle(e), a = lum(s.color), b = lum(s.backgroundColor); e.remove(); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }).filter(v => v < 4.5); })()`);
      assert.deepEqual(poor, [], "WCAG AA on every level");
    }
    await page.dark(false);
  },
  async "one file holds the run and needs no server"() {
    const built = (name) => readFileSync(new URL(`../../buoy/serve/page/${name}`, import.meta.url), "utf8"),
      data = {},
      run = "/api/v1/runs/planted";
    const keep = (path, packed) => {
      const [bare, query] = path.slice(7).split("?"),
        answer = mock.get(bare, new URLSearchParams(query)),
        bytes = Buffer.isBuffer(answer) ? answer : Buffer.from(JSON.stringify(answer));
      data[path] = packed ? "gz:" + gzipSync(bytes).toString("base64") : bytes.toString("base64");
    };
    for (const path of [
      "/api/v1/about",
      "/api/v1/runs",
      run,
      `${run}/pieces`,
      `${run}/steps/tokens`,
      `${run}/steps/guesses`,
      `${run}/steps/guess_confidence`,
      `${run}/anchors?rows=all`,
      `${run}/anchors?rows=read`,
    ])
      keep(path, false);
    for (const path of ["received", "received_read", "received_heads"]) keep(`${run}/arrays/${path}`, true);
    const file = join(downloads, "one.html");
    writeFileSync(
      file,
      built("index.html")
        .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${built("app.css")}</style>`)
        .replace(/<script src[^>]*><\/script>/, "")
        .replace(
          "</body>",
          () => `<script>window.BUOY_DATA = ${JSON.stringify(data)}</script><script>${built("app.js")}</script></body>`,
        ),
    );
    await page.open(`file://${file}#tour=off&view=run&run=planted&step=4&layer=2&position=20`);
    await page.until(`document.querySelectorAll(".card.text .t.anchor").length === 2`, "anchors from the file");
    assert.equal(await page.evaluate(`document.querySelectorAll(".card.grid .cell").length`), 12);
    await page.until(`/needs a server/.test(${$(".card.rows")}.textContent)`, "what is not in the file");
    assert.deepEqual(
      await page.evaluate(
        `Array.from(document.querySelectorAll("nav button")).filter(b => !b.hidden).map(b => b.textContent)`,
      ),
      ["Run", "Side by side", "Study"],
    );
    // In a notebook the page is the text of a frame, which has no address and no storage of its own.
    for (const sandbox of [null, "allow-scripts"]) {
      await page.open("data:text/html,<body></body>");
      await page.until("document.body");
      page.complaints = [];
      await page.evaluate(
        `(() => { const f = document.createElement("iframe"); ${sandbox ? `f.setAttribute("sandbox", "${sandbox}");` : ""} f.width = 900; f.height = 700; f.srcdoc = ${JSON.stringify(readFileSync(file, "utf8").replace("</body>", () => `<script>const look = setInterval(() => { if (document.querySelectorAll(".card.text .t.anchor").length) { document.querySelector("select[aria-label=Layer]").value = "2"; document.querySelector("select[aria-label=Layer]").dispatchEvent(new Event("change")); setTimeout(() => parent.postMessage(document.querySelector(".card.anchors").textContent, "*"), 300); clearInterval(look); } }, 50)</script></body>`))}; window.told = ""; window.addEventListener("message", (e) => (window.told = e.data)); document.body.append(f); })()`,
      );
      assert.match(await page.until("window.told", `the page in a frame${sandbox ? ` (${sandbox})` : ""}`), /layer 2/);
    }
    assert.deepEqual(
      page.requests.filter((url) => url.startsWith("file:") && !url.includes("one.html")),
      [],
    );
    page.requests = page.requests.filter((url) => !url.startsWith("file:"));
  },
  async "a link to a run that is gone says so, and what to do"() {
    await page.open(`${origin}/#token=mock&tour=off&view=run&run=gone`);
    await page.until(`/no run "gone".*choose another run above/.test(${$(".status")}?.textContent ?? "")`, "the line");
    page.complaints = page.complaints.filter((line) => !line.includes("404"));
  },
  async "a wrong token is one line on the page"() {
    await page.open(`${origin}/#token=wrong`);
    await page.until(
      `/token: missing or wrong. Open the address that buoy printed/.test(${$(".status")}?.textContent ?? "")`,
      "the server's line, and what to do",
    );
    page.complaints = page.complaints.filter((line) => !line.includes("401"));
  },
  async "an address pasted over another is taken, and its token with it"() {
    await page.open(`${origin}/#token=wrong`);
    await page.until(`/missing or wrong/.test(${$(".status")}?.textContent ?? "")`, "the server's line");
    page.complaints = page.complaints.filter((line) => !line.includes("401"));
    await page.evaluate(`location.hash = "#token=mock&tour=off&run=planted&step=2"`);
    await page.until(`/Planted/.test(document.title) && !/token/.test(location.hash)`, "the run, and no token in the address");
    await run_ready();
    assert.match(await page.evaluate("location.hash"), /step=2/);
    await page.evaluate(`location.hash = "#view=run"`);
    await page.until(`/run=/.test(location.hash) && ${$(".chooser")}.value !== ""`, "the first run, where an address names none");
  },
  async "a server that is gone is one line on the page"() {
    await open("view=live");
    await page.type("textarea[aria-label=Prompt]", "The town of");
    await page.evaluate(`${$("input[aria-label=Steps]")}.value = "2000"`);
    await page.click(".live-view button.primary");
    await page.until(`/[2-9] steps so far/.test(${$(".live-bar")}.textContent)`, "a run that is watched");
    assert.equal(await page.evaluate("document.activeElement.id"), "main", "who pressed Run by keyboard is not lost");
    // Stopped, with all its steps there: while steps come, a slow page may just be loading the run anew and not watch it.
    await page.evaluate(
      `Array.from(document.querySelectorAll(".live-bar button")).find(b => b.textContent === "Stop").click()`,
    );
    const run = mock.runs.get(/run=([^&]+)/.exec(await fragment())[1]);
    await page.until(`/Stopped/.test(${$(".live-bar")}.textContent)`, "stopped");
    await page.until(`/\\b${mock.steps(run)} steps so far/.test(${$(".live-bar")}.textContent)`, "the last of them");
    await page.until(`document.querySelectorAll(".card.text .t.c16, .card.text .t.c15").length > 10`, "the colours");
    mock.server.closeAllConnections?.();
    await new Promise((done) => mock.server.close(done));
    await page.until(`/steps so far · the server does not answer/.test(${$(".live-bar")}.textContent)`, "it is told");
    await page.evaluate(`location.hash = "#view=run&run=hostile&step=1"`);
    await page.until(`/the server does not answer/.test(${$(".status")}.textContent)`, "the line");
    page.complaints = page.complaints.filter((line) => !/ERR_(CONNECTION|SOCKET|INCOMPLETE|EMPTY)/.test(line));
  },
};
