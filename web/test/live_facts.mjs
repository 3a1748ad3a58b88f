// Facts of runs that go on and of their branches: watched, stopped, forked, side by side.
import assert from "node:assert/strict";
import { planted } from "../mock/runs.mjs";
import { $, fragment, mock, moving, open, page, run_ready, text } from "./stage.mjs";

export const live_facts = {
  async "a live run is watched, stopped, stepped and goes on"() {
    await open("view=live");
    await page.type("textarea[aria-label=Prompt]", "The town of");
    await page.evaluate(`${$("input[aria-label=Steps]")}.value = "48"`); // or it is over before a slow page can stop it
    await page.click(".live-view button.primary");
    await page.until(
      `!${$(".live-bar")}.hidden && /Running/.test(${$(".live-bar")}.textContent)`,
      "the bar of a running run",
    );
    await page.until(`/[2-9] steps so far/.test(${$(".live-bar")}.textContent)`, "two steps");
    await page.evaluate(
      `Array.from(document.querySelectorAll(".live-bar button")).find(b => b.textContent === "Stop").click()`,
    );
    await page.until(`/Stopped/.test(${$(".live-bar")}.textContent)`, "stopped");
    const count = () => page.evaluate(`Number(/(\\d+) steps so far/.exec(${$(".live-bar")}.textContent)[1])`);
    // A step may still be on its way when the run has stopped.
    const run = mock.runs.get(/run=([^&]+)/.exec(await fragment())[1]);
    await page.until(`/\\b${mock.steps(run)} steps so far/.test(${$(".live-bar")}.textContent)`, "the last of them");
    const before = await count();
    await page.evaluate(
      `Array.from(document.querySelectorAll(".live-bar button")).find(b => b.textContent === "One step").click()`,
    );
    await page.until(
      `/Stopped/.test(${$(".live-bar")}.textContent) && /${before + 1} steps so far/.test(${$(".live-bar")}.textContent)`,
      "one step more",
    );
    assert.equal(await page.evaluate(`Number(${$(".scrubber")}.value)`), before, "the newest step is shown");
    await page.evaluate(
      `Array.from(document.querySelectorAll(".live-bar button")).find(b => b.textContent === "Go on").click()`,
    );
    await page.until(`${$(".live-bar")}.hidden`, "done");
    await page.until(
      `document.querySelectorAll(".text .t.mask").length === 0 && document.querySelectorAll(".text .t.c16, .text .t.c15").length > 10`,
      "the finished text, coloured",
    );
  },
  async "a step whose attention was missed is asked for again"() {
    const array = mock.array;
    let most = 2; // steps that the server has of its arrays, whatever it says of the run
    mock.array = function (run, name, query, S) {
      if (Number(query.get("step")) >= most) throw Object.assign(new Error("not yet"), { status: 404 });
      return array.call(this, run, name, query, Math.min(S, most));
    };
    try {
      await open("view=live");
      await page.type("textarea[aria-label=Prompt]", "The town of");
      await page.evaluate(`${$("input[aria-label=Steps]")}.value = "48"`);
      await page.click(".live-view button.primary");
      await page.until(`/[4-9] steps so far/.test(${$(".live-bar")}.textContent)`, "some steps");
      await page.evaluate(
        `Array.from(document.querySelectorAll(".live-bar button")).find(b => b.textContent === "Stop").click()`,
      );
      await page.until(`/Stopped/.test(${$(".live-bar")}.textContent)`, "stopped");
      const coloured = `document.querySelectorAll(".card.text .t.c16, .card.text .t.c15").length`;
      assert.equal(await page.evaluate(coloured), 0, "the newest step is not there yet");
      most = Infinity;
      await page.until(`${coloured} > 10`, "its colours");
      page.complaints = page.complaints.filter((line) => !line.includes("404"));
    } finally {
      mock.array = array;
    }
  },
  async "a fork stands beside its run and says what changed"() {
    await open("view=run&run=planted&step=5&layer=1&head=2&position=10");
    await run_ready();
    for (const label of ["Hide key", "Cut head", "Pin anchors"])
      await page.evaluate(
        `Array.from(document.querySelectorAll(".card.fork button")).find(b => b.textContent === "${label}").click()`,
      );
    assert.equal(await page.evaluate(`document.querySelectorAll(".card.fork .changes li").length`), 3);
    await page.evaluate(`${$(".card.fork button.primary")}.click()`);
    await page.until(`/bit for bit/.test(${$(".card.changed")}?.textContent ?? "")`, "the comparison");
    const words = await text(".card.changed");
    assert.match(words, /before step 5: key hidden: .* at 10; head cut: layer 1, head 2; anchors pinned: layer 1\./);
    assert.match(words, /Layer 1 is held at .* at 0, .* at \d+: what 7 keys would have drawn as anchors went there/);
    assert.ok(words.includes(` at ${moving(5, 1)}: `), words);
    assert.match(words, /Before step 5: the same tokens and the same attention, bit for bit/);
    assert.match(await fragment(), /view=compare&run=planted&other=fork-/);
    await page.until(
      `/24 tokens of the answer differ/.test(${$(".card.changed")}.textContent)`,
      "what differs in the end",
    );
  },
  async "a shorter branch stands beside the same steps, and can be stopped"() {
    const short = planted({ id: "short", title: "Short", parent: "planted", fork_step: 4, twist: 1, changes: [{ hide_keys: [1] }] }),
      N = 96;
    short.step_tokens.set(mock.runs.get("planted").step_tokens.subarray(0, 5 * N));
    mock.add(short);
    mock.live.set("short", { done: 7, left: null, state: "stopped", listeners: new Set() });
    try {
      await open("view=compare&run=planted&other=short&step=5&layer=2");
      const beside = `Array.from(document.querySelectorAll(".pair > .stack:last-child .row-mark span"), e => e.textContent).join()`;
      await page.until(`${beside} === "5,5"`, "the same step of the branch");
      const words = await page.until(
        `(() => { const words = ${$(".card.changed")}.textContent; return /In attention/.test(words) && words; })()`,
        "what differs",
      );
      assert.match(words, /Before step 4: the same tokens and the same attention, bit for bit/);
      // Of a run that goes on only what is written is compared.
      const { prompt_length } = short.info,
        a = mock.runs.get("planted").info.tokens,
        b = short.step_tokens.subarray(7 * N, 8 * N);
      const written = Array.from(b.keys()).filter((i) => i >= prompt_length && b[i] !== short.info.mask_id && b[i] !== a[i]);
      assert.ok(written.length > 0 && written.length < N - prompt_length);
      assert.ok(words.includes(`So far ${written.length} tokens of the answer differ: `), words);
      assert.deepEqual(
        await page.evaluate(`Array.from(document.querySelectorAll(".live-bar"), b => b.hidden ? "" : b.querySelector("b").textContent)`),
        ["", "B: Stopped · 7 steps so far"],
      );
      await page.evaluate(`location.hash = "#view=compare&run=planted&other=short&step=11&layer=2"`);
      await page.until(`${beside} === "6,6"`, "its newest step beside one that it has not reached");
      assert.doesNotMatch(await text(".card.changed"), /In attention/);
      const rows = (await page.saved("difference", "csv")).toString().trim().split("\n");
      assert.equal(rows.length, 1 + 7 * N, "nothing of steps that are still to come");
    } finally {
      mock.runs.delete("short");
      mock.live.delete("short");
    }
  },
  async "what is forced stands in a branch while it still runs"() {
    const N = 96,
      token = 5,
      branch = planted({ id: "forced", title: "Forced", parent: "planted", fork_step: 4, changes: [] }),
      position = branch.info.prompt_length + branch.info.commit_step.findIndex((step) => step > 8),
      again = branch.info.prompt_length + branch.info.commit_step.findIndex((step) => step < 2);
    branch.info.changes.push({ step: 4, force: [{ position, token }], remask: [again] });
    mock.add(branch);
    const live = { done: 2, left: null, state: "running", listeners: new Set() };
    mock.live.set("forced", live);
    try {
      await open("view=run&run=forced&step=1&layer=2");
      await page.until(`/\\b2 steps so far/.test(${$(".live-bar")}.textContent)`, "a run that goes on");
      for (let i = 0; i < 5; ++i) mock.step(branch, live);
      await page.until(`/\\b7 steps so far/.test(${$(".live-bar")}.textContent)`, "more steps");
      const looks = (step) =>
        page
          .evaluate(`location.hash = "#view=run&run=forced&step=${step}&layer=2"`)
          .then(() => page.until(`${$(".scrubber")}.value === "${step}"`))
          .then(() => page.settle())
          .then(() => page.evaluate(`[${position}, ${again}].map(i => ((e) => e.classList.contains("mask") ? "mask" : (e.classList.contains("new") ? "new" : "") + e.textContent)(document.querySelectorAll(".card.text .t")[i]))`));
      const { tokens, vocabulary } = branch.info;
      assert.deepEqual(await looks(2), ["mask", vocabulary[tokens[again]]]);
      assert.equal((await looks(3))[0], "mask", "no step wrote what was forced before the next");
      assert.deepEqual(await looks(4), ["new" + vocabulary[token], "mask"]);
      assert.deepEqual(await looks(5), [vocabulary[token], "mask"]);
    } finally {
      mock.runs.delete("forced");
      mock.live.delete("forced");
    }
  },
  async "what was forced is called as the branch knows it"() {
    const branch = planted({ id: "strange", title: "Strange", parent: "planted", fork_step: 4, changes: [] }),
      position = branch.info.prompt_length + 1;
    branch.info.changes.push({ step: 4, force: [{ position, token: 777 }] });
    branch.info.vocabulary[777] = " harbour";
    mock.add(branch);
    try {
      await open("view=compare&run=planted&other=strange&step=5&layer=2");
      await page.until(`/before step 4/.test(${$(".card.changed")}.textContent)`, "what differs");
      assert.match(await text(".card.changed"), new RegExp(`forced at ${position}: “harbour”`));
    } finally {
      mock.runs.delete("strange");
    }
  },
  async "what came between a run's description and its steps is there"() {
    const run = planted({ id: "between", title: "Between" }),
      live = { done: 9, left: null, state: "stopped", listeners: new Set() },
      info = mock.info;
    mock.add(run);
    mock.live.set("between", live);
    const answers = [];
    try {
      for (const late of [0, 4]) {
        // Described when `late` steps less were there.
        mock.info = function (it) {
          if (it !== run) return info.call(this, it);
          live.done -= late;
          const said = info.call(this, it);
          live.done += late;
          return { ...said, commit_step: said.commit_step.map((t) => (t < said.steps ? t : -1)) };
        };
        await open("view=run&run=between&step=8&layer=2");
        await page.until(`/\\b9 steps so far/.test(${$(".live-bar")}.textContent)`, "nine steps");
        const last = run.info.prompt_length + run.info.commit_step.indexOf(8);
        await page.evaluate(`location.hash = "#view=run&run=between&step=8&layer=2&position=${last}"`);
        await page.until(`/written at step 8/.test(document.body.textContent)`, "when it was written");
        answers.push(await text(".run-head .answer"));
      }
      assert.equal(answers[1], answers[0]);
      assert.doesNotMatch(answers[0], /none yet/);
    } finally {
      mock.info = info;
      mock.runs.delete("between");
      mock.live.delete("between");
    }
  },
  async "maps that grow do not flash"() {
    const run = planted({ id: "growing", title: "Growing" }),
      live = { done: 2, left: null, state: "running", listeners: new Set() };
    mock.add(run);
    mock.live.set("growing", live);
    try {
      await open("view=compare&run=planted&other=growing&step=1&layer=2");
      await page.until(`document.querySelectorAll(".cellmap canvas").length >= 4`, "maps");
      // What a frame shows: looked at after it was drawn.
      await page.evaluate(`window.black = window.frames = 0; window.looking = true;
        const one = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const look = () => { const channel = new MessageChannel(); channel.port1.onmessage = () => {
          ++window.frames;
          for (const c of document.querySelectorAll(".cellmap canvas")) { one.clearRect(0, 0, 1, 1); one.drawImage(c, 1, c.height - 2, 1, 1, 0, 0, 1, 1); const d = one.getImageData(0, 0, 1, 1).data; if (d[0] + d[1] + d[2] === 0) ++window.black; }
          if (window.looking) requestAnimationFrame(look); }; channel.port2.postMessage(0); }; requestAnimationFrame(look); 0`);
      const height = () => page.evaluate(`document.querySelectorAll(".cellmap canvas")[2].height`),
        before = await height();
      for (let t = 2; t < 12; ++t) {
        mock.step(run, live);
        await new Promise((done) => setTimeout(done, 60));
      }
      await page.until(`/12 steps so far/.test(document.body.textContent)`, "all steps");
      await page.settle();
      const [black, frames] = await page.evaluate(`window.looking = false, [window.black, window.frames]`);
      assert.ok((await height()) > before && frames > 5, `it grew, and ${frames} frames were seen`);
      assert.equal(black, 0, "no frame of a map is black");
    } finally {
      mock.runs.delete("growing");
      mock.live.delete("growing");
    }
  },
  async "a branch that differs too early is told"() {
    const fork = planted({
      id: "bad-fork",
      title: "bad",
      parent: "planted",
      fork_step: 5,
      twist: 1,
      changes: [{ hide_keys: [1] }],
    });
    fork.step_tokens.set(mock.runs.get("planted").step_tokens.subarray(0, 6 * 96));
    fork.arrays.received.data[2 * 4 * 96 + 3] += 1e-6;
    mock.add(fork);
    await open("view=compare&run=planted&other=bad-fork&step=3&layer=0");
    await page.until(
      `/which they should not/.test(${$(".card.changed")}?.textContent ?? "")`,
      "the difference before the fork",
    );
  },
};
