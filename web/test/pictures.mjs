// Takes a picture of every screen at three widths, light and dark: node web/test/pictures.mjs ADDRESS FOLDER [FRAGMENT …]
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser } from "./browser.mjs";

const [address, folder, ...fragments] = process.argv.slice(2),
  base = new URL(address),
  token = new URLSearchParams(base.hash.slice(1)).get("token");
const widths = (process.env.WIDTHS ?? "390,1280,2560").split(",").map(Number),
  themes = (process.env.THEMES ?? "light,dark").split(",");
mkdirSync(folder, { recursive: true });
const browser = await Browser.start();
try {
  for (const width of widths) {
    for (const theme of themes) {
      const page = await browser.page({ width, height: width < 500 ? 844 : 900, dark: theme === "dark" });
      for (const fragment of fragments.length ? fragments : [""]) {
        await page.open(`${base.origin}/#token=${token}&tour=off&${fragment}`);
        await page.until("document.querySelector('#main')?.childElementCount");
        await new Promise((done) => setTimeout(done, 900));
        writeFileSync(
          join(folder, `${fragment.replace(/[^a-z0-9]+/gi, "_") || "start"}-${width}-${theme}.png`),
          await page.picture(process.env.FULL !== "0"),
        );
      }
      for (const line of page.complaints) console.log(`${width} ${theme}: ${line}`);
      await page.close();
    }
  }
} finally {
  await browser.close();
}
