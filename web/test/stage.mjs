// What the page's facts are tried on: the mock server, whose anchors are known, and one page in Chromium.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mock } from "../mock/server.mjs";
import { planted, planted_anchors } from "../mock/runs.mjs";
import { Browser } from "./browser.mjs";

export const downloads = mkdtempSync(join(tmpdir(), "buoy-saved-"));
export const mock = new Mock();
mock.add(planted({ id: "planted", title: "Planted" }));
mock.add(
  planted({
    id: "hostile",
    title: "<img src=x onerror=alert(1)>",
    words: ["<script>window.broken=1</script>", "<b>b</b>", "&amp;", " '\"", "\u202e", "</span>"],
  }),
);
export const origin = `http://127.0.0.1:${await mock.listen(0)}`;
const browser = await Browser.start();
export const page = await browser.page({ width: 1280, height: 900, downloads });

export const $ = (selector) => `document.querySelector(${JSON.stringify(selector)})`;
export const text = (selector) => page.evaluate(`${$(selector)}?.textContent ?? ""`);
export const open = async (fragment) => {
  await page.open(`${origin}/#token=mock&tour=off&${fragment}`);
  await page.until(`${$("#main")}?.childElementCount > 0`, `the view of ${fragment}`);
  await page.settle();
};
export const run_ready = () =>
  page.until(
    `document.querySelectorAll(".card.text .t.anchor").length || document.querySelectorAll(".card.anchors .words li").length`,
    "anchors in the text",
  );
export const fragment = () => page.evaluate("new Promise(d => setTimeout(() => d(location.hash), 260))");
export const moving = (step, layer) => planted_anchors(96, step, layer)[1].position;

// Tries every fact whose name contains the words. After each the console must be silent, and nothing asked elsewhere.
export async function hold(facts, words) {
  let failed = 0,
    count = 0;
  for (const [fact, body] of Object.entries(facts)) {
    if (!fact.includes(words)) continue;
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
  console.log(`${count - failed} of ${count} facts hold`);
  return failed === 0 && count > 0;
}

export async function leave() {
  await browser.close();
  mock.server.closeAllConnections?.();
  mock.server.close();
  rmSync(downloads, { recursive: true, force: true });
}
