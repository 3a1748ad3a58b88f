// The page on the real server: recorded runs, live runs, forks, questions, one file. usage: node web/test/server.mjs BUOY [REPOSITORY]
// node web/test/server.mjs ADDRESS tries what can be tried on a server that is already there.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Browser } from "./browser.mjs";

const given = process.argv[2] ?? "build/release/buoy",
  there = given.startsWith("http"),
  buoy = resolve(given),
  repository = resolve(process.argv[3] ?? fileURLToPath(new URL("../..", import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), "buoy-explorer-")),
  traces = join(folder, "traces"),
  tables = join(folder, "tables.csv");
const call = (...words) =>
  execFileSync(buoy, words, { cwd: repository, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });

// Gives the address, and what ends the server: its exit code.
async function start() {
  if (there) return { address: given, end: async () => 0 };
  call(
    "trace",
    "-m",
    "mini-mdm",
    "--data",
    "data/micro_test.jsonl",
    "--limit",
    "1",
    "--gen-length",
    "16",
    "--steps",
    "8",
    "--per-head",
    "-o",
    traces,
  );
  call("trace", "-m", "mini-arm", "--data", "data/micro_test.jsonl", "--limit", "1", "--gen-length", "8", "-o", traces);
  writeFileSync(tables, "sample,model,turnover\nmicro-2026-000000,mini-mdm,0.5\nnowhere,mini-mdm,0.25\n");
  const server = spawn(
    buoy,
    ["serve", "--trace", traces, "--tables", tables, "--collections", join(folder, "collections")],
    { cwd: repository, stdio: ["ignore", "pipe", "ignore"] },
  );
  const ended = new Promise((done) => server.on("exit", (code, signal) => done(code ?? signal)));
  const address = await new Promise((done, failed) => {
    let held = "";
    server.stdout.setEncoding("utf8").on("data", (text) => {
      held += text;
      if (held.includes("\n")) done(held.split("\n")[0]);
    });
    void ended.then((code) => failed(new Error(`buoy serve ended with ${code} before it printed its address`)));
  });
  return { address, end: () => (server.kill("SIGINT"), ended) };
}
const { address, end } = await start();
const origin = new URL(address).origin,
  token = new URLSearchParams(new URL(address).hash.slice(1)).get("token");
const browser = await Browser.start(),
  page = await browser.page({ width: 1280, height: 900 });

const $ = (selector) => `document.querySelector(${JSON.stringify(selector)})`;
const text = (selector) => page.evaluate(`${$(selector)}?.textContent ?? ""`);
const press = (scope, label) =>
  page.evaluate(
    `Array.from(document.querySelectorAll(${JSON.stringify(scope + " button")})).find(b => b.textContent === ${JSON.stringify(label)}).click()`,
  );
const get = async (path) => (await fetch(`${origin}/api/v1${path}`, { headers: { "X-Buoy-Token": token } })).json();
const open = async (fragment) => {
  await page.open(`${origin}/#token=${token}&tour=off&${fragment}`);
  await page.until(`${$("#main")}?.childElementCount > 0`, `the view of ${fragment}`);
};
const fragment = () => page.evaluate("new Promise(d => setTimeout(() => d(location.hash), 260))");
const outlined = () =>
  page.evaluate(`Array.from(document.querySelectorAll(".card.text .t.anchor"), e => Number(e.dataset.i))`);
const collection = `towns-${Date.now().toString(36)}`;
const recorded = (await get("/runs")).find((r) => r.model === "mini-mdm").id;

const facts = {
  async "anchors of a trace are the server's"() {
    const anchors = await get(`/runs/${recorded}/anchors?rows=all`),
      layer = anchors[0].layer,
      step = anchors[0].step;
    await open(`view=run&run=${recorded}&step=${step}&layer=${layer}`);
    await page.until(`document.querySelectorAll(".card.text .t.anchor").length > 0`, "anchors");
    assert.deepEqual(
      await outlined(),
      anchors.filter((a) => a.step === step && a.layer === layer).map((a) => a.position),
    );
  },
  async "a token's row is recomputed and adds up to one"() {
    await open(`view=run&run=${recorded}&step=2&layer=3&head=1&position=40`);
    await page.until(`document.querySelectorAll(".card.rows .bars li").length === 20`, "both lists");
    await page.until(
      `document.querySelectorAll(".card.candidates .bars li").length === 10 && document.querySelectorAll(".card.grid .cell").length === 60 && ${$(".flow-chart")} !== null`,
      "the other panels",
    );
    // A token may be a line break: its record goes over two lines, and the numbers stand on the last.
    const numbers = (await page.saved("rows", "csv"))
        .toString()
        .split("\n")
        .map((line) => /,([-+.\de]+),[-+.\de]+$/.exec(line))
        .filter(Boolean),
      sum = numbers.reduce((total, found) => total + Number(found[1]), 0);
    assert.ok(Math.abs(sum - 1) < 1e-4, `the row adds up to ${sum}`);
  },
  async "a causal trace is shown as it grows"() {
    const id = (await get("/runs")).find((r) => r.model === "mini-arm").id;
    await open(`view=run&run=${id}&step=0&layer=0`);
    await page.until(
      `document.querySelectorAll(".card.text .t.absent").length > 0 && document.querySelectorAll(".card.text .t.new").length === 1`,
      "one token written, others not there",
    );
  },
  async "a live run is watched to its end, and its steps appear at once"() {
    await open("view=live");
    await press(".live-view", "Fill in an example");
    await page.evaluate(`window.heard = {}; window.seen = {}; const Source = EventSource;
      window.EventSource = class extends Source { constructor(...given) { super(...given); this.addEventListener("step", (e) => { const n = JSON.parse(e.data).step + 1; window.heard[n] ??= performance.now(); }); } };
      new MutationObserver(() => { const n = /(\\d+) steps so far/.exec(document.querySelector(".live-bar").textContent)?.[1]; if (n) window.seen[n] ??= performance.now(); }).observe(document.querySelector(".live-bar"), { childList: true, subtree: true, characterData: true }); 0`);
    await press(".live-view", "Run");
    await page.until(
      `${$(".live-bar")}.hidden && document.querySelectorAll(".card.text .t.anchor, .card.anchors .lead").length > 0 && document.querySelectorAll(".text .t.mask").length === 0`,
      "the finished run",
    );
    const delays = await page.evaluate(
      `Object.keys(window.heard).filter(n => n in window.seen).map(n => window.seen[n] - window.heard[n])`,
    );
    console.log(
      `        ${delays.length} steps shown; from event to page: median ${delays.sort((a, b) => a - b)[delays.length >> 1]?.toFixed(1)} ms`,
    );
    await page.until(`/Jalo Dawen/.test(${$(".answer")}.textContent)`, "the answer");
  },
  async "a live run stops, steps, is shortened and goes on"() {
    await open("view=live");
    await page.type("textarea[aria-label=Prompt]", "The town of Mormenholm");
    // So many that it is not over before a slow page can stop it.
    for (const label of ["Tokens", "Steps"]) await page.evaluate(`${$(`input[aria-label=${label}]`)}.value = "256"; 0`);
    await press(".live-view", "Run");
    await page.until(`/Running|Waiting/.test(${$(".live-bar")}.textContent) && !${$(".live-bar")}.hidden`, "a run");
    await press(".live-bar", "Stop");
    await page.until(`/Stopped/.test(${$(".live-bar")}.textContent)`, "stopped");
    const id = /run=([^&]+)/.exec(await fragment())[1],
      { steps } = await get(`/runs/${id}`);
    await press(".live-bar", "One step");
    await page.until(`/Stopped.* ${steps + 1} steps so far/.test(${$(".live-bar")}.textContent)`, "one step more");
    await press(".live-bar", "Set");
    await page.until(`/Write how many steps/.test(${$(".live-bar")}.textContent)`, "nothing to set");
    await page.type(".live-bar input", "x3"); // a field of numbers takes numbers alone
    await press(".live-bar", "Set");
    await page.until(`/3 steps left/.test(${$(".live-bar")}.textContent)`, "the server knows");
    await press(".live-bar", "Go on");
    await page.until(`${$(".live-bar")}.hidden`, "done");
    assert.equal((await get(`/runs/${id}`)).steps, steps + 4, "three steps more than the one");
  },
  async "a fork is the same bits before its step"() {
    await open(`view=run&run=${recorded}&step=3&layer=2&head=1&position=30`);
    await page.until(
      `document.querySelectorAll(".card.text .t").length > 100 && !${$(".card.fork button.primary")}.hidden`,
    );
    await press(".card.fork", "Hide key");
    await press(".card.fork", "Cut head");
    await press(".card.fork", "Pin anchors");
    await page.evaluate(`${$(".card.fork button.primary")}.click()`);
    await page.until(
      `/Before step 3: the same tokens and the same attention, bit for bit/.test(${$(".card.changed")}?.textContent ?? "")`,
      "the same bits",
    );
    await page.until(
      `${$(".live-bar")}.hidden && /In attention/.test(${$(".card.changed")}.textContent)`,
      "what differs",
    );
    assert.match(await text(".card.changed"), /head cut: layer 2, head 1; anchors pinned: layer 2\./);
    await page.until(`/Layer 2 is held at/.test(${$(".card.changed")}.textContent)`, "where anchors are held");
    assert.deepEqual((await page.nameless()).found, []);
  },
  async "a token is masked again, and another forced"() {
    const step = 5,
      run = await get(`/runs/${recorded}`),
      at = (is) => run.prompt_length + run.commit_step.findIndex(is),
      written = at((s) => s < step),
      masked = at((s) => s >= step),
      token = (name, position) =>
        page.evaluate(
          `(() => { const e = document.querySelectorAll(".card.text-${name} .t")[${position}]; return e.classList.contains("mask") ? "a mask" : e.textContent + (e.classList.contains("new") ? ", written now" : ""); })()`,
        );
    await open(`view=run&run=${recorded}&step=${step}&layer=2&position=${written}`);
    await page.until(
      `!${$(".card.fork button.primary")}.hidden && document.querySelectorAll(".card.text .t").length > 100`,
    );
    await press(".card.fork", "Force");
    assert.match(await text(".card.fork .note"), /Write the text to force first/);
    for (const time of ["once", "twice"]) {
      await press(".card.fork", "Re-mask");
      assert.equal(await page.evaluate(`document.querySelectorAll(".card.fork .changes li").length`), 1, time);
    }
    await page.evaluate(`document.querySelectorAll(".card.text .t")[${masked}].click()`);
    await page.type("input[aria-label='Text to force']", "several words here");
    await press(".card.fork", "Force");
    await page.evaluate(`${$(".card.fork button.primary")}.click()`);
    await page.until(`/tokens, expected one/.test(${$(".card.fork .note")}.textContent)`, "too long a text");
    page.complaints = page.complaints.filter((line) => !line.includes("400"));
    // Another text at the same token takes the first one's place.
    await page.type("input[aria-label='Text to force']", " mayor");
    await press(".card.fork", "Force");
    await page.evaluate(`${$(".card.fork button.primary")}.click()`);
    const words = await page.until(
      `(() => { const words = ${$(".card.changed")}?.textContent ?? ""; return /In attention/.test(words) && ${$(".live-bar")}.hidden && !words.includes("So far") && words; })()`,
      "what differs in the end",
    );
    assert.match(words, new RegExp(`forced at ${masked}: “mayor”; masked again: .* at ${written}\\.`));
    assert.match(words, /Before step 5: the same tokens and the same attention, bit for bit/);
    await page.evaluate(`location.hash = location.hash.replace(/step=\\d+/, "step=${step}")`);
    await page.until(`Number(${$(".scrubber")}.value) === ${step}`, "the step of the fork");
    // The model is sure of what was masked again: it writes it anew in the very step.
    assert.deepEqual(
      [await token("A", written), await token("B", written), await token("A", masked), await token("B", masked)],
      [run.pieces[written], `${run.pieces[written]}, written now`, "a mask", " mayor, written now"],
    );
  },
  async "two models stand side by side on one prompt"() {
    await open("view=live");
    await press(".live-view", "Fill in an example");
    await page.evaluate(
      `document.querySelectorAll(".live-view [aria-label=Models] input").forEach(b => (b.checked = true))`,
    );
    await press(".live-view", "Run");
    await page.until(
      `document.querySelectorAll(".compare-view .run-head h1").length === 2 && /mini-mdm/.test(${$(".compare-view")}.textContent) && /mini-arm/.test(${$(".compare-view")}.textContent)`,
      "two runs",
    );
    await page.until(
      `Array.from(document.querySelectorAll(".compare-view .answer")).every(e => /Jalo/.test(e.textContent))`,
      "two answers",
    );
  },
  async "a collection is asked and logged"() {
    await open("view=ask");
    await page.type("input[aria-label='Name of a new collection']", collection);
    await press(".ask-view", "Create");
    await page.until(`/0 documents/.test(${$(".documents")}.textContent)`, "an empty collection");
    await press(".ask-view", "Add a document");
    await page.type(".editing input", "Town hall");
    await page.type(".editing textarea", "The mayor of Mormenholm is Jalo Dawen. Mormenholm is a town in Lowfen.");
    await page.click(".editing button.primary");
    await page.until(`/1 document/.test(${$(".documents")}.textContent)`, "the document");
    await page.type("input[aria-label=Question]", "Who serves as mayor of Mormenholm?");
    await page.key("Enter");
    await page.until(
      `document.querySelectorAll(".given").length === 2 && Array.from(document.querySelectorAll(".given")).every(e => /of layers and heads copied/.test(e.textContent))`,
      "two answers with their support",
    );
    assert.match(await text(".given .said"), /Jalo/);
    const passage = () => text(".card.answers ol.passages li");
    assert.match(await passage(), /^Doc1 Town hall The mayor of .* score 0\.\d\d$/);
    await open((await fragment()).slice(1));
    await page.until(`document.querySelectorAll(".given .said").length === 2`, "the same from the link alone");
    assert.match(await passage(), /^Doc1 Town hall The mayor of /);
    const log = await (
      await fetch(`${origin}/api/v1/collections/${collection}/log`, { headers: { "X-Buoy-Token": token } })
    ).text();
    assert.equal(
      log
        .trim()
        .split("\n")
        .filter((line) => line.includes("Who serves as mayor")).length,
      1,
    );
  },
  async "a table opens the run of its sample"() {
    await open("view=tables");
    await page.until(`document.querySelectorAll("tbody tr").length === 2`, "the rows");
    await page.click("button.sample");
    await page.until(`${$(".run-head h1")} !== null`);
    assert.match(await fragment(), new RegExp(`run=${recorded}`));
  },
  async "one file shows the run without a server"() {
    const file = join(folder, "one.html"),
      trace = execFileSync("sh", ["-c", `ls ${traces}/mini-mdm*`], { encoding: "utf8" }).trim();
    call("view", trace, "--html", file);
    assert.ok(statSync(file).size < 10e6, `${statSync(file).size} bytes`);
    assert.ok(readFileSync(file, "utf8").includes("Content-Security-Policy"));
    await page.open(`file://${file}#tour=off&view=run&step=2&layer=3&position=40`);
    await page.until(
      `document.querySelectorAll(".card.text .t.c16").length > 0 && document.querySelectorAll(".card.grid .cell").length === 60 && ${$(".flow-chart")} !== null`,
      "the run",
    );
    // Its guesses are the trace's own: one for each mask, and what is written was guessed.
    const looks = await page.evaluate(
      `({ masks: document.querySelectorAll(".card.text .t.mask").length, guesses: document.querySelectorAll(".card.text .t.guess").length })`,
    );
    assert.ok(looks.masks > 0 && looks.guesses === looks.masks, JSON.stringify(looks));
    assert.deepEqual((await page.nameless()).found, []);
    assert.deepEqual(
      page.requests.filter((url) => url.startsWith("file:") && !url.includes("one.html")),
      [],
    );
    page.requests = page.requests.filter((url) => !url.startsWith("file:"));
  },
};

// These need files of this test's own.
if (there) for (const fact of Object.keys(facts)) if (/table|one file/.test(fact)) delete facts[fact];
let failed = 0;
try {
  for (const [fact, body] of Object.entries(facts)) {
    const begun = Date.now();
    try {
      await body();
      assert.deepEqual(page.complaints, [], "the console has nothing to say");
      assert.deepEqual(
        page.requests.filter((url) => !url.startsWith(origin) && !/^(data|blob|about):/.test(url)),
        [],
        "no request off the origin",
      );
      console.log(`ok      ${fact} (${Date.now() - begun} ms)`);
    } catch (error) {
      ++failed;
      page.complaints = [];
      console.log(`FAILED  ${fact}\n        ${String(error.message ?? error).replace(/\n/g, "\n        ")}`);
    }
  }
} finally {
  await browser.close();
  const code = await end();
  if (code !== 0 && code !== 130) {
    ++failed;
    console.log(`FAILED  buoy serve ended with ${code} after SIGINT`);
  }
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${Object.keys(facts).length - failed} of ${Object.keys(facts).length} facts hold`);
process.exitCode = failed ? 1 : 0;
