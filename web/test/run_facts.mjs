// Facts of the run view: what is shown of a run whose anchors are known, and how it is moved, saved and linked.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { planted } from "../mock/runs.mjs";
import { $, downloads, fragment, mock, moving, open, page, run_ready, text } from "./stage.mjs";

export const run_facts = {
  async "the token leaves the address"() {
    await open("run=planted");
    assert.ok(!(await fragment()).includes("token"));
    assert.equal(await page.evaluate("sessionStorage.getItem('buoy-token')"), "mock");
  },
  async "anchors in text and words are the planted ones"() {
    for (const [step, layer] of [
      [0, 0],
      [4, 2],
      [11, 3],
    ]) {
      await open(`view=run&run=planted&step=${step}&layer=${layer}`);
      await page.until(`document.querySelectorAll(".card.text .t.anchor").length === 2`, "two outlined tokens");
      const outlined = await page.evaluate(
        `Array.from(document.querySelectorAll(".card.text .t.anchor"), e => Number(e.dataset.i))`,
      );
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
    const level = (i) =>
      page.evaluate(`Number(/ c(\\d+)/.exec(document.querySelector('.card.text [data-i="${i}"]').className)[1])`);
    const received = mock.runs.get("planted").arrays.received,
      lift = (i) => received.data[(4 * 4 + 2) * 96 + i] * 96;
    for (const i of [0, 1, moving(4, 2), 95])
      assert.equal(await level(i), Math.round(Math.min(Math.max(Math.log2(lift(i)) / 8 + 0.5, 0), 1) * 32));
  },
  async "masks, guesses and commitments are told apart"() {
    await open("view=run&run=planted&step=3&layer=0");
    await run_ready();
    const run = mock.runs.get("planted").info,
      counts = await page.evaluate(
        `({ mask: document.querySelectorAll(".text .t.mask").length, fresh: document.querySelectorAll(".text .t.new").length, guess: document.querySelectorAll(".text .t.guess").length })`,
      );
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
    const first = await page.evaluate(
      `Array.from(document.querySelectorAll(".card.rows .bars li:first-child .value"), e => e.textContent)`,
    );
    const run = mock.runs.get("planted"),
      row = run.arrays.received.data[(4 * 4 + 2) * 96 + 20] - 0.1 / 96 + 0.1,
      best = run.arrays.received.data[(4 * 4 + 2) * 96 + moving(4, 2)] - 0.1 / 96;
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
    assert.equal(
      await page.evaluate(`${$("select[aria-label=Layer]")}.value + "," + ${$("select[aria-label=Head]")}.value`),
      "3,1",
    );
  },
  async "the address reproduces the view"() {
    const wanted = "view=run&run=planted&step=7&layer=2&head=1&position=33&target=5&rows=read&null=first";
    await open(wanted);
    await run_ready();
    assert.equal(await fragment(), "#" + wanted);
    const shown = await page.evaluate(
      `[${$(".scrubber")}.value, ${$("select[aria-label=Layer]")}.value, ${$("select[aria-label=Head]")}.value, ${$("select[aria-label=Rows]")}.value, ${$("select[aria-label=Null]")}.value].join()`,
    );
    assert.equal(shown, "7,2,1,read,first");
    await page.evaluate(`location.hash = "#view=run&run=planted&step=2&layer=1"`);
    await page.until(`${$(".scrubber")}.value === "2"`, "the step of the new address");
    await page.evaluate(
      `Array.from(document.querySelectorAll("nav button")).find(b => b.textContent === "Study").click()`,
    );
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
    for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "]", "]", "[", "}", "ArrowDown", "ArrowDown", "r", "n"])
      await page.key(key);
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
    const r = await page.evaluate(
      `(() => { const r = ${$(".card.map canvas")}.getBoundingClientRect(); return {x: r.x, y: r.y, w: r.width, h: r.height}; })()`,
    );
    const cell = (r.w - 30) / 96,
      row = Math.floor((r.h - 20) / 12);
    await page.click_at(r.x + 30 + 40.5 * cell, r.y + 18 + 6.5 * row);
    assert.match(await fragment(), /step=6&layer=1&position=40/);
    const pixel = (step, position) =>
      page.evaluate(`(() => { const c = document.createElement("canvas"); c.width = c.height = 1; const d = c.getContext("2d", {willReadFrequently: true});
      d.drawImage(${$(".card.map canvas")}, -(30 + Math.floor((${position} + 0.5) * ${cell})), -(18 + Math.floor((${step} + 0.5) * ${row}))); return Array.from(d.getImageData(0, 0, 1, 1).data.slice(0, 3)); })()`);
    const [red, , blue] = await pixel(3, moving(3, 1)),
      [plain_red, , plain_blue] = await pixel(3, 60);
    assert.ok(red - blue > 60, `an anchor is orange, got ${red}, ${blue}`);
    assert.ok(Math.abs(plain_red - plain_blue) < 40, `a token without excess is pale, got ${plain_red}, ${plain_blue}`);
  },
  async "every panel is saved as SVG, PNG and CSV"() {
    await open("view=run&run=planted&step=4&layer=2&position=20");
    await page.until(
      `document.querySelectorAll(".card.rows .bars li").length === 20 && document.querySelector(".flow-chart") && document.querySelector(".card.candidates li")`,
    );
    const names = await page.evaluate(`Array.from(document.querySelectorAll("[data-card]"), e => e.dataset.card)`);
    assert.deepEqual(names, [
      "anchors",
      "text",
      "map",
      "writing",
      "flow",
      "token",
      "grid",
      "rows",
      "candidates",
      "fork",
    ]);
    await page.evaluate(`document.querySelector('[data-card="map"] [data-save="csv"]').click()`);
    const file = join(downloads, "buoy-map.csv");
    for (let i = 0; i < 400 && !existsSync(file); ++i) await new Promise((done) => setTimeout(done, 25));
    for (const name of names) {
      for (const kind of ["svg", "png", "csv"]) {
        const bytes = await page.saved(name, kind);
        if (kind === "png") assert.equal(bytes.toString("latin1", 1, 4), "PNG", name);
        if (kind === "svg") assert.ok(bytes.toString().startsWith("<svg ") && bytes.length > 300, name);
        if (kind === "svg")
          assert.ok(
            await page.evaluate(
              `new DOMParser().parseFromString(${JSON.stringify(bytes.toString())}, "image/svg+xml").querySelector("parsererror") === null`,
            ),
            `${name}.svg is XML`,
          );
      }
    }
    const map = readFileSync(file, "utf8").trim().split("\n");
    assert.equal(map[0], "step,position,received_over_null,anchor");
    assert.equal(map.length, 1 + 12 * 96);
    const row = map[1 + 4 * 96 + moving(4, 2)].split(","),
      received = mock.runs.get("planted").arrays.received.data[(4 * 4 + 2) * 96 + moving(4, 2)];
    assert.ok(Math.abs(Number(row[2]) - received * 96) < 1e-3 && row[3] === "1", row.join());
  },
  async "what is scrolled is saved whole"() {
    mock.add(planted({ id: "long", title: "Long", N: 400 }));
    await page.resize(390, 800);
    try {
      await open("view=run&run=long&step=4&layer=2&position=399");
      await page.until(`${$(".card.text .text")}.scrollTop > 0`, "a text that is scrolled to the token");
      const scrolled = await page.evaluate(`${$(".card.text .text")}.scrollTop`),
        svg = (await page.saved("text", "svg")).toString(),
        height = Number(/height="(\d+)/.exec(svg)[1]),
        at = Array.from(svg.matchAll(/<text x="[^"]+" y="([-.\d]+)"/g), (m) => Number(m[1]));
      assert.ok(at.length > 300 && Math.min(...at.slice(1)) > 26 && Math.max(...at) < height, `${height}: ${at.join(" ")}`);
      assert.equal(await page.evaluate(`${$(".card.text .text")}.scrollTop`), scrolled, "and stays where it was");
    } finally {
      await page.resize(1280, 900);
      mock.runs.delete("long");
    }
  },
  async "steps are called by their passes"() {
    const run = planted({ id: "thinned", title: "Every fourth", S: 6 });
    run.info.step_numbers = run.info.step_numbers.map((t) => 4 * t);
    mock.add(run);
    await open("view=run&run=thinned&step=3&layer=2&position=20");
    await page.until(`document.querySelectorAll(".card.rows .bars li").length === 20 && ${$(".flow-chart")}`);
    assert.equal(await text(".count"), "step 12 of 0 … 20");
    assert.equal(await text(".card.fork .primary"), "Fork at step 12");
    assert.equal(await text(".card.map .row-mark"), "12");
    for (const card of ["anchors", "flow", "rows", "candidates"])
      assert.match(await text(`.card.${card} .body`), /[Ss]tep 12\b/, card);
    mock.runs.delete("thinned");
  },
  async "that the model is not at hand is said while it is so"() {
    const run = planted({ id: "far", title: "Far" });
    run.info.can_recompute = false;
    mock.add(run);
    await open("view=run&run=far&step=3");
    await page.until(`/Forks need the model/.test(${$(".card.fork")}.textContent)`, "what is missing");
    await page.evaluate(`location.hash = "#view=run&run=planted&step=3"`);
    await page.until(`${$(".run-head h1")}.textContent === "Planted" && ${$(".card.fork .note")}.hidden`, "nothing is missing");
    mock.runs.delete("far");
  },
  async "a menu closes by Escape or a click beside it, a list is pressed by keys"() {
    await open("view=run&run=planted&step=4&layer=2&position=20");
    await page.until(`document.querySelectorAll(".card.rows .bars li").length === 20`);
    const menus = `document.querySelectorAll("details.menu[open]").length`;
    for (const close of [() => page.key("Escape"), () => page.click(".run-head h1")]) {
      await page.click(".card.text summary");
      assert.equal(await page.evaluate(menus), 1);
      await close();
      assert.equal(await page.evaluate(menus), 0);
    }
    assert.match(await fragment(), /position=20/, "the token is still chosen");
    await page.evaluate(`document.querySelectorAll(".card.rows .bars li")[3].focus()`);
    await page.key(" ");
    assert.match(await fragment(), /target=\d+/);
    assert.equal(await page.evaluate(`${$(".play")}.getAttribute("aria-pressed")`), "false", "and the run does not play");
  },
  async "text from data stays text"() {
    await open("view=run&run=hostile&step=2&position=3");
    await page.until(`document.querySelectorAll(".card.rows .bars li").length === 20`);
    assert.equal(await page.evaluate("window.broken"), undefined);
    assert.equal(await page.evaluate(`document.querySelectorAll("#app img, #app script, #app .text b").length`), 0);
    assert.match(await text(".run-head h1"), /^<img/);
    assert.ok((await text(".card.text")).includes("<script>window.broken=1</script>"));
  },
};
