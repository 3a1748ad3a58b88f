// Writes goldens/mini.json: what the reference answers for the tokenizer in goldens/mini. Usage: node make_goldens.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Tokenizer } from "@huggingface/tokenizers";
import { make_strings } from "./strings.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (name) => JSON.parse(readFileSync(at(`goldens/mini/${name}`), "utf8"));
const reference = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));
const texts = make_strings(5200).filter((text, i) => i % 16 === 3 && [...text].length < 70).slice(0, 300);
const lines = texts.map((text) => {
  const ids = reference.encode(text, { add_special_tokens: true }).ids;
  const cut = ids.filter((_, i) => i % 3 !== 1);
  return JSON.stringify({ text, ids, cut, decoded: reference.decode(cut, { skip_special_tokens: false, clean_up_tokenization_spaces: false }) });
});
writeFileSync(at("goldens/mini.json"), `[\n${lines.join(",\n")}\n]\n`);
