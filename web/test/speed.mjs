// First paint and frame times while scrubbing and panning, for a trace of 512 × 32 × 12 and for 8192 tokens × 128 steps; with BUOY also how long a live
// run's steps take to the page. Reported, never judged. usage: node web/test/speed.mjs [BUOY]
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Mock } from "../mock/server.mjs";
import { planted } from "../mock/runs.mjs";
import { Browser } from "./browser.mjs";

const mock = new Mock();
mock.add(planted({ id: "paper", title: "512 tokens, 32 steps, 12 layers, 12 heads", N: 512, S: 32, L: 12, H: 12 }));
mock.add(planted({ id: "large", title: "8192 tokens, 128 steps, 8 layers", N: 8192, S: 128, L: 8, H: 8 }));
const origin = `http://127.0.0.1:${await mock.listen(0)}`,
  browser = await Browser.start(),
  page = await browser.page({ width: 1280, height: 900 });

const show = (times) => {
  const sorted = times.slice().sort((a, b) => a - b),
    at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1);
  return `median ${at(0.5)} ms, 95 % ${at(0.95)} ms, worst ${at(1)} ms`;
};
// Times between frames while something happens `count` times, one after the other.
const frames = (count, act) =>
  page.evaluate(`new Promise((done) => {
  const times = [], act = ${act};
  let last = 0, n = 0;
  const frame = (now) => {
    if (last) times.push(now - last);
    last = now;
    if (n < ${count}) { act(n++); requestAnimationFrame(frame); }
    else done(times);
  };
  requestAnimationFrame(frame);
})`);
// The same, with the processor time of the page's own thread: what a busy machine does not change.
await page.send("Performance.enable", { timeDomain: "threadTicks" });
const busy = async () =>
  (await page.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
const told = async (count, act) => {
  const before = await busy(),
    times = await frames(count, act),
    each = ((await busy()) - before) / count;
  return `${show(times)}; ${(each * 1000).toFixed(1)} ms of the page's thread each`;
};
const scrub =
  "(n) => { const s = document.querySelector('.scrubber'); s.value = String(n % (Number(s.max) + 1)); s.dispatchEvent(new Event('input')); }";
const pan = `(n) => { const c = document.querySelector(".card.map canvas"); c.dispatchEvent(new WheelEvent("wheel", {deltaX: (n % 80 < 40 ? 1 : -1) * 25, bubbles: true, cancelable: true})); }`;

async function recorded(id) {
  const begun = Date.now();
  await page.open(`${origin}/#token=mock&tour=off&view=run&run=${id}&layer=3`);
  await page.until("document.querySelectorAll('.card.text .t.anchor').length > 0", "anchors");
  const shown = Date.now() - begun,
    paint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN");
  console.log(`${id}: first paint ${paint.toFixed(0)} ms, the whole view after ${shown} ms`);
  await new Promise((done) => setTimeout(done, 500));
  console.log(`  scrubbing: ${await told(128, scrub)}`);
  await page.evaluate(
    "for (let i = 0; i < 3; ++i) document.querySelector('.card.map [aria-label=\"Zoom in\"]').click(); document.querySelector('.card.map').scrollIntoView()",
  );
  console.log(`  panning: ${await told(120, pan)}`);
}

// From the moment a step is computed, by the server's clock, which is this machine's, until the page has heard of it and until it shows it.
async function live(buoy) {
  const folder = mkdtempSync(join(tmpdir(), "buoy-speed-"));
  const server = spawn(buoy, ["serve", "-m", "mini-mdm", "--collections", join(folder, "collections")], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    stdio: ["ignore", "pipe", "ignore"],
  });
  const address = await new Promise((done) => server.stdout.once("data", (text) => done(String(text).split("\n")[0])));
  const heard = [],
    seen = [];
  for (let run = 0; run < 3; ++run) {
    await page.open(`${address}&tour=off&view=live`);
    await page.until("document.querySelector('.live-view')", "the view of new runs");
    await page.evaluate(`(() => { window.heard = {}; window.seen = {}; window.computed = {}; const Source = EventSource, now = () => performance.timeOrigin + performance.now();
      window.EventSource = class extends Source { constructor(...given) { super(...given); this.addEventListener("step", (e) => { const d = JSON.parse(e.data); window.heard[d.step] ??= now() - d.computed; window.computed[d.step + 1] = d.computed; }); } };
      new MutationObserver(() => { const n = /(\\d+) steps so far/.exec(document.querySelector(".live-bar").textContent)?.[1]; for (const step of Object.keys(window.computed)) if (Number(step) <= Number(n)) window.seen[step] ??= now() - window.computed[step]; }).observe(document.querySelector(".live-bar"), { childList: true, subtree: true, characterData: true });
      const press = (label) => Array.from(document.querySelectorAll(".live-view button")).find(b => b.textContent === label).click(); press("Fill in an example"); press("Run"); })()`);
    await page.until(
      "document.querySelector('.live-bar').hidden && document.querySelectorAll('.text .t.mask').length === 0 && Object.keys(window.heard).length > 8",
      "the finished run",
    );
    heard.push(...(await page.evaluate("Object.values(window.heard)")));
    seen.push(...(await page.evaluate("Object.values(window.seen)")));
    if (process.env.BY_STEP) console.log(JSON.stringify(await page.evaluate("Object.fromEntries(Object.entries(window.seen).map(([n, t]) => [n, [Math.round(window.heard[n - 1]), Math.round(t)]]))")));
  }
  console.log(`live steps of mini-mdm, computed to heard (${heard.length}): ${show(heard)}`);
  console.log(`  computed to shown (${seen.length}): ${show(seen)}`);
  await page.open("about:blank"); // what is still being fetched is not cut off by the server's end
  const ended = new Promise((done) => server.on("exit", done));
  server.kill("SIGINT");
  await ended;
  rmSync(folder, { recursive: true, force: true });
}

try {
  console.log(`load ${loadavg()[0].toFixed(1)}`);
  for (const id of ["paper", "large"]) await recorded(id);
  if (process.argv[2]) await live(resolve(process.argv[2]));
  for (const line of page.complaints) console.log(`console: ${line}`);
  if (page.complaints.length) process.exitCode = 1;
} finally {
  await browser.close();
  mock.server.closeAllConnections?.();
  mock.server.close();
}
