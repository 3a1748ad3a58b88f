"""Trains the byte-level BPE tokenizer on MicroWorld text, and checks buoy-pack's own encoder against it.

    python3 training/tokenizer.py train TOOLS_DIRECTORY OUTPUT/tokenizer.json
    python3 training/tokenizer.py check TOOLS_DIRECTORY tokenizer.json
"""
import json
import subprocess
import sys

from evaluate import prompt
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPECIAL = ["<|bos|>", "<|eos|>", "<|mdm_mask|>", "<|pad|>"]  # ids 0 to 3
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def lines(tools, *flags):
    out = subprocess.run([tools + "/buoy-world", "world", *flags], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in out.stdout.splitlines()]


def texts(tools, seed, items):
    for noise in (0, 2):
        for item in lines(tools, "--seed", str(seed), "--task", "all", "--world", "both", "-n", str(items),
                          "-k", "6", "--noise", str(noise)):
            yield prompt(item) + " " + item["answers"][0]
    # The tasks over several facts came after the tokenizer was trained: `check` reads them, `train` does not.
    for level in ("easy", "hard") if seed != 5 else ():
        for item in lines(tools, "--seed", str(seed), "--task", "several", "-n", str(items // 10), "--level", level):
            yield prompt(item) + " " + item["answers"][0]
    for item in lines(tools, "--seed", str(seed), "--world", "both", "-n", str(items // 10), "--documents", "-k", "8"):
        yield item["text"]


def train(tools, path):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts(tools, 5, 20000), trainers.BpeTrainer(
        vocab_size=2048, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|bos|> $A", pair="<|bos|> $A $B:1", special_tokens=[("<|bos|>", 0)])
    tokenizer.save(path)


def check(tools, path):
    tokenizer = Tokenizer.from_file(path)
    sample = list(texts(tools, 6, 2000)) + ["a  b \n\n c", " 1234567 x", "[SEP] ,.?\n\nQ", "  ", "\n \n", "x ."]
    out = subprocess.run([tools + "/buoy-pack", "--tokenizer", path, "--tokenize"], check=True, capture_output=True,
                         input="".join(t + "\0" for t in sample), text=True).stdout.splitlines()
    bad = [t for t, ids in zip(sample, out) if [int(i) for i in ids.split()] !=
           tokenizer.encode(t, add_special_tokens=False).ids]
    print(f"tokenizer: {len(sample)} texts, {len(bad)} differ; "
          f"{sum(len(ids.split()) for ids in out) / sum(map(len, sample)):.3f} tokens a character")
    if bad or len(out) != len(sample):
        sys.exit(f"tokenizer: {bad[:1]!r}")


if __name__ == "__main__":
    {"train": train, "check": check}[sys.argv[1]](*sys.argv[2:])
