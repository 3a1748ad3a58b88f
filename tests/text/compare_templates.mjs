// Compares `buoy tokenize --chat` with @huggingface/jinja, and with Jinja2 where python3 has it.
// Usage: node compare_templates.mjs BUOY SCRATCH
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Template } from "@huggingface/jinja";
import { conversations, families } from "./chats.mjs";
import { constructs, refusals } from "./constructs.mjs";

const [buoy, scratch] = process.argv.slice(2);
const here = fileURLToPath(new URL(".", import.meta.url));

// Every render is a case: the template, its special tokens, the variables of the call.
const cases = [];
for (const family of families) {
  for (const conversation of conversations) {
    for (const add_generation_prompt of [true, false]) {
      cases.push({ ...family, name: `${family.name}: ${conversation.name}`, variables: { tools: null, documents: null, ...conversation.variables, messages: conversation.messages, add_generation_prompt }, reference: "both" });
    }
  }
}
for (const construct of constructs) {
  cases.push({ name: construct.name, template: construct.template, tokens: {}, reference: construct.reference, variables: { tools: null, documents: null, ...construct.variables, messages: [], add_generation_prompt: true } });
}
for (const [name, template, message] of refusals) {
  cases.push({ name: `refused: ${name}`, template, tokens: {}, message, reference: "both", variables: { messages: [], add_generation_prompt: true } });
}

let folders = 0;
function run_buoy({ template, tokens, variables }) {
  const folder = join(scratch, `template${folders++}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify({ ...tokens, chat_template: template }));
  const { add_generation_prompt, ...rest } = variables;
  const flags = add_generation_prompt ? [] : ["--no-generation-prompt"];
  // From a file: a template that is refused ends buoy before it reads, and a pipe would break.
  writeFileSync(join(folder, "input.json"), JSON.stringify(rest));
  const input = openSync(join(folder, "input.json"));
  const result = spawnSync(buoy, ["tokenize", "--chat", "--date", "today", "--model", folder, ...flags], { stdio: [input, "pipe", "pipe"], encoding: "utf8", maxBuffer: 1 << 28 });
  closeSync(input);
  if (result.error) throw result.error;
  return result.status === 0 ? { text: result.stdout } : { error: result.stderr.trim() };
}

function run_javascript({ template, tokens, variables }) {
  try {
    return { text: new Template(template).render({ ...tokens, ...variables }) };
  } catch (error) {
    return { error: String(error) };
  }
}

function run_python(all) {
  if (spawnSync("python3", ["-c", "import jinja2"]).status !== 0) return null;
  const path = join(scratch, "cases.json");
  writeFileSync(path, JSON.stringify(all.map(({ template, tokens, variables }) => ({ template, variables: { ...tokens, ...variables } }))));
  return JSON.parse(execFileSync("python3", [join(here, "render.py"), path], { encoding: "utf8", maxBuffer: 1 << 28 }));
}

const same = (a, b) => (a.error === undefined) === (b.error === undefined) && a.text === b.text;
const python = run_python(cases);
const counts = { javascript: 0, python: 0 };
let differing = 0;
cases.forEach((one, i) => {
  const ours = run_buoy(one);
  const compare = (name, theirs) => {
    ++counts[name];
    if (same(ours, theirs)) return;
    if (++differing <= 10) console.log(`DIFFERS ${one.name} (${name})\n  buoy     ${JSON.stringify(ours)}\n  expected ${JSON.stringify(theirs)}`);
  };
  if (one.reference === "both") compare("javascript", run_javascript(one));
  if (python) compare("python", python[i]);
  if (one.message !== undefined && !ours.error?.includes(one.message)) {
    ++differing;
    console.log(`DIFFERS ${one.name}: the error ${JSON.stringify(ours)} does not say ${JSON.stringify(one.message)}`);
  }
});
console.log(python ? `Jinja2 (python): ${counts.python} renders compared` : "Jinja2 (python): not compared, python3 has no jinja2 (Debian: python3-jinja2)");
console.log(`chat template comparison: ${counts.javascript} renders, ${differing} differ`);
process.exit(differing === 0 ? 0 : 1);
