// Facts of the tour: what a first visitor is shown, where there are runs and where there are none yet.
import assert from "node:assert/strict";
import { planted, planted_anchors } from "../mock/runs.mjs";
import { $, fragment, mock, origin, page, run_ready, text } from "./stage.mjs";

const next = () => page.click(".tour button.primary");
const title = (words) => page.until(`${$(".tour h2")}?.textContent === ${JSON.stringify(words)}`, `the stop “${words}”`);
const first_visit = async () => {
  await page.open(`${origin}/#token=mock&tour=off`);
  await page.until(`${$("#main")}`);
  await page.evaluate("localStorage.clear()");
  await page.open(`${origin}/#token=mock`);
};

export const tour_facts = {
  async "the tour is about two runs, and counts in them what floats and what stays"() {
    const twin = planted({ id: "twin", title: "Planted" });
    twin.info.mask = "causal";
    twin.info.model = "left-to-right";
    twin.info.sample = "planted";
    mock.add(twin);
    await first_visit();
    await title("Masks become words");
    await next();
    await title("Who is looked at");
    // The strongest anchor moves with the layer; that of the deepest is the strongest of all.
    const at = (layer) => planted_anchors(96, 5, layer)[1].position;
    assert.ok((await text(".tour")).includes(` at ${at(3)} (`), await text(".tour"));
    await next();
    await title("What floats");
    const words = await text(".tour");
    assert.ok(words.includes("Now layer 2") && words.includes(` at ${at(2)} (`), words);
    assert.match(words, /Of its 4 layers 4 have an anchor; the strongest stands on 4 different tokens\. .* it floats/);
    assert.match(await fragment(), /step=5&layer=2/);
    await next();
    await title("What stays");
    assert.match(await fragment(), /view=compare&run=planted&other=twin/);
    await page.until(`${$(".pair > .stack:last-child.lit")} !== null`, "the other run, lit");
    for (const stop of ["All steps at once", "Look closer"]) {
      await next();
      await title(stop);
    }
    assert.match(await text(".tour"), /computed exactly/);
    await next();
    await title("Touch it");
    assert.match(await text(".tour"), /7 of 7/);
    assert.match(await fragment(), new RegExp(`view=run&.*position=${at(2)}(&|$)`));
    await next();
    assert.ok(await page.evaluate(`${$(".tour")}.hidden`));
    await page.open(`${origin}/#token=mock`);
    await run_ready();
    await new Promise((done) => setTimeout(done, 900));
    assert.ok(await page.evaluate(`${$(".tour")}.hidden`), "not twice");
    await page.evaluate(`Array.from(document.querySelectorAll(".end button"))[0].click()`);
    await page.click(".tour .skip-tour");
    assert.ok(await page.evaluate(`${$(".tour")}.hidden`));
    mock.runs.delete("twin");
  },
  async "the tour of a run that appends speaks of no masks, and promises nothing that needs a model that is not there"() {
    const kept = new Map(mock.runs),
      alone = planted({ id: "alone", title: "Planted" });
    Object.assign(alone.info, { mask: "causal", mask_id: null, can_recompute: false });
    mock.runs.clear();
    mock.add(alone);
    try {
      await first_visit();
      await title("Word after word");
      assert.match(await text(".tour"), /1 of 6.*appending token after token/);
      for (const stop of ["Who is looked at", "What floats", "All steps at once", "Look closer"]) {
        await next();
        await title(stop);
      }
      assert.doesNotMatch(await text(".tour"), /computed exactly/);
      await page.key("Escape");
    } finally {
      mock.runs.clear();
      for (const [id, run] of kept) mock.runs.set(id, run);
    }
  },
  async "the tour begins also where anchors are slow to come"() {
    const of_run = mock.of_run;
    let give = () => {};
    const wait = new Promise((done) => (give = done));
    mock.of_run = function (run, rest, query) {
      const answer = of_run.call(this, run, rest, query);
      return rest === "/anchors" ? wait.then(() => answer) : answer;
    };
    try {
      await first_visit();
      await page.until(`document.querySelectorAll(".card.text .t").length > 0`, "the run");
      await new Promise((done) => setTimeout(done, 1000)); // by now the tour has asked for them too
      give();
      await title("Masks become words");
    } finally {
      mock.of_run = of_run;
      give();
    }
  },
  async "a first visitor of a server without runs is shown an example of both models"() {
    const kept = new Map(mock.runs);
    mock.runs.clear();
    try {
      await first_visit();
      await title("What floats?");
      assert.match(await text(".tour"), /put to mini-mdm and mini-arm/);
      await next();
      await title("Masks become words");
      assert.equal(mock.runs.size, 2);
      await run_ready();
      for (const stop of ["Who is looked at", "What floats", "What stays"]) {
        await next();
        await title(stop);
      }
      assert.match(await text(".tour"), /The same question to mini-arm/);
      await page.key("Escape");
      assert.ok(await page.evaluate(`${$(".tour")}.hidden`));
    } finally {
      mock.runs.clear();
      for (const [id, run] of kept) mock.runs.set(id, run);
    }
  },
};
