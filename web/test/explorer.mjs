// The explorer in Chromium: every panel, the keyboard, the address, what is saved; against the mock server, whose anchors are known.
// usage: node web/test/explorer.mjs [--only WORDS]
import { run_facts } from "./run_facts.mjs";
import { hold, leave } from "./stage.mjs";
import { study_facts } from "./study_facts.mjs";
import { tour_facts } from "./tour_facts.mjs";
import { view_facts } from "./view_facts.mjs";

const only = process.argv.indexOf("--only");
try {
  if (!(await hold({ ...run_facts, ...study_facts, ...tour_facts, ...view_facts }, only < 0 ? "" : process.argv[only + 1]))) process.exitCode = 1;
} finally {
  await leave();
}
