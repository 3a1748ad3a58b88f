// First paint and frame times while scrubbing and panning, for a trace of 512 × 32 × 12 and for 8192 tokens × 128 steps. Reported, never judged.
import { Mock } from "../mock/server.mjs";
import { planted } from "../mock/runs.mjs";
import { Browser } from "./browser.mjs";

const mock = new Mock();
mock.add(planted({ id: "paper", title: "512 tokens, 32 steps, 12 layers, 12 heads", N: 512, S: 32, L: 12, H: 12 }));
mock.add(planted({ id: "large", title: "8192 tokens, 128 steps, 8 layers", N: 8192, S: 128, L: 8, H: 8 }));
const origin = `http://127.0.0.1:${await mock.listen(0)}`,
  browser = await Browser.start(),
  page = await browser.page({ width: 1280, height: 900 });

// Frames while something happens `count` times, one after the other.
const frames = (count, act) =>
  page.evaluate(`new Promise((done) => {
  const times = [], act = ${act};
  let last = 0, n = 0;
  const frame = (now) => {
    if (last) times.push(now - last);
    last = now;
    if (n < ${count}) { act(n++); requestAnimationFrame(frame); }
    else { times.sort((a, b) => a - b); done({ median: times[times.length >> 1], p95: times[Math.floor(times.length * 0.95)], worst: times[times.length - 1] }); }
  };
  requestAnimationFrame(frame);
})`);
const show = ({ median, p95, worst }) =>
  `median ${median.toFixed(1)} ms, 95 % ${p95.toFixed(1)} ms, worst ${worst.toFixed(1)} ms`;
const scrub =
  "(n) => { const s = document.querySelector('.scrubber'); s.value = String(n % (Number(s.max) + 1)); s.dispatchEvent(new Event('input')); }";
const pan = `(n) => { const c = document.querySelector(".card.map canvas"); c.dispatchEvent(new WheelEvent("wheel", {deltaX: (n % 80 < 40 ? 1 : -1) * 25, bubbles: true, cancelable: true})); }`;

try {
  for (const id of ["paper", "large"]) {
    const begun = Date.now();
    await page.open(`${origin}/#token=mock&tour=off&view=run&run=${id}&layer=3`);
    await page.until("document.querySelectorAll('.card.text .t.anchor').length > 0", "anchors");
    const shown = Date.now() - begun,
      paint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN");
    console.log(`${id}: first paint ${paint.toFixed(0)} ms, the whole view after ${shown} ms`);
    await new Promise((done) => setTimeout(done, 500));
    console.log(`  scrubbing: ${show(await frames(128, scrub))}`);
    await page.evaluate(
      "for (let i = 0; i < 3; ++i) document.querySelector('.card.map [aria-label=\"Zoom in\"]').click(); document.querySelector('.card.map').scrollIntoView()",
    );
    console.log(`  panning: ${show(await frames(120, pan))}`);
  }
  for (const line of page.complaints) console.log(`console: ${line}`);
  if (page.complaints.length) process.exitCode = 1;
} finally {
  await browser.close();
  mock.server.closeAllConnections?.();
  mock.server.close();
}
