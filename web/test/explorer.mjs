// The explorer in Chromium: every panel, the keyboard, the address, what is saved; against the mock server, whose anchors are known.
// usage: node web/test/explorer.mjs [--only WORDS]
import { live_facts } from "./live_facts.mjs";
import { run_facts } from "./run_facts.mjs";
import { hold, leave } from "./stage.mjs";
import { study_facts } from "./study_facts.mjs";
import { tour_facts } from "./tour_facts.mjs";
import { view_facts } from "./view_facts.mjs";

const only = process.argv.indexOf("--only"),
  words = only < 0 ? "" : process.argv[only + 1],
  facts = { ...run_facts, ...live_facts, ...study_facts, ...tour_facts, ...view_facts };
try {
  if (!(await hold(facts, words))) process.exitCode = 1;
} finally {
  await leave();
}
