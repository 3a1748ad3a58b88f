// Compares `buoy tokenize` with @huggingface/tokenizers. Usage: node compare_tokenizers.mjs BUOY SCRATCH [COUNT]
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Tokenizer } from "@huggingface/tokenizers";
import { make_models } from "./models.mjs";
import { make_strings } from "./strings.mjs";

const [buoy, scratch, count = "5200"] = process.argv.slice(2);
const bundled = fileURLToPath(new URL("../../models/mini-mdm", import.meta.url));
const strings = make_strings(Number(count));

function run_buoy(folder, flags, lines) {
  const input = lines.map((line) => JSON.stringify(line)).join("\n") + "\n";
  const output = execFileSync(buoy, ["tokenize", "--model", folder, "--json", ...flags], { input, maxBuffer: 1 << 30, encoding: "utf8" });
  return output.trimEnd().split("\n").map((line) => JSON.parse(line));
}

let compared = 0;
let differing = 0;
function compare(what, inputs, got, expected) {
  if (got.length !== inputs.length) throw new Error(`${what}: ${got.length} answers for ${inputs.length} strings`);
  inputs.forEach((input, i) => {
    if (JSON.stringify(got[i]) === JSON.stringify(expected[i])) return;
    if (++differing <= 10) console.log(`DIFFERS ${what}\n  input    ${JSON.stringify(input)?.slice(0, 300)}\n  buoy     ${JSON.stringify(got[i])?.slice(0, 300)}\n  expected ${JSON.stringify(expected[i])?.slice(0, 300)}`);
  });
}

for (const { name, files, folder, share, skip } of make_models(scratch, bundled)) {
  const reference = new Tokenizer(files.tokenizer, files.config);
  const texts = strings.filter((text, i) => i % Math.round(1 / share) === 0 && !skip?.test(text));
  const encode = (add_special_tokens) => texts.map((text) => reference.encode(text, { add_special_tokens }).ids);
  const plain = encode(false);
  const special = encode(true);
  // The reference refuses an empty list; and its tidying of spaces loses text, so it is off.
  const decode = (skip_special_tokens) => special.map((ids) => (ids.length === 0 ? "" : reference.decode(ids, { skip_special_tokens, clean_up_tokenization_spaces: false })));
  compare(`${name}: encode`, texts, run_buoy(folder, [], texts), plain);
  compare(`${name}: encode --special`, texts, run_buoy(folder, ["--special"], texts), special);
  const all = decode(false);
  compare(`${name}: decode --special`, special, run_buoy(folder, ["--decode", "--special"], special), all);
  compare(`${name}: decode`, special, run_buoy(folder, ["--decode"], special), decode(true));
  // Ids cut anywhere: halves of characters become U+FFFD in the same way.
  const cut = special.map((ids, i) => ids.slice(i % 3, Math.max(1, ids.length - (i % 5))).filter((_, j) => (i + j) % 7 !== 0));
  compare(`${name}: decode of cut ids`, cut, run_buoy(folder, ["--decode", "--special"], cut), cut.map((ids) => (ids.length === 0 ? "" : reference.decode(ids, { skip_special_tokens: false, clean_up_tokenization_spaces: false }))));
  const restored = plain.map((ids) => (ids.length === 0 ? "" : reference.decode(ids, { skip_special_tokens: false, clean_up_tokenization_spaces: false })));
  const faithful = restored.filter((text, i) => text === texts[i]).length;
  compared += texts.length;
  console.log(`${name}: ${texts.length} strings; decode(encode(x)) = x for ${faithful}, as in the reference`);
  // Spans cover the text in order, and each token's bytes are in the characters it covers.
  const spans = run_buoy(folder, ["--spans"], texts);
  texts.forEach((text, i) => {
    const problem = check_spans(spans[i], text, plain[i]);
    if (problem && ++differing <= 10) console.log(`DIFFERS ${name}: spans of ${JSON.stringify(text).slice(0, 200)}: ${problem}`);
  });
}

function check_spans({ ids, spans }, text, expected) {
  if (JSON.stringify(ids) !== JSON.stringify(expected)) return "other ids";
  if (spans.length !== ids.length) return `${spans.length} spans for ${ids.length} ids`;
  const size = [...text].length;
  let previous = [0, 0];
  for (const [begin, end] of spans) {
    if (begin > end || end > size) return `[${begin},${end}) of ${size}`;
    if (begin < previous[0] || end < previous[1]) return `[${begin},${end}) after [${previous}]`;
    previous = [begin, end];
  }
  return null;
}

console.log(`tokenizer comparison: ${compared} strings, ${differing} differ`);
process.exit(differing === 0 ? 0 : 1);
