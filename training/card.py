"""Writes a model's card from what its training left: `python3 training/card.py RESULTS KIND-SEED > models/mini-KIND/README.md`."""
import json
import pathlib
import re
import sys

KINDS = {
    "mdm": ("A small masked diffusion language model with full attention, in the LLaDA layout (mask id 2).",
            "12 layers, width 160, 5 heads of 32, MLP 432", "32 positions (`list`, `profile`: 64), 16 (32) steps, one block, low-confidence remasking"),
    "arm": ("A small autoregressive language model in the Llama layout.", "12 layers, width 160, 5 heads of 32, MLP 432", "greedy"),
    "ssm": ("A small masked diffusion language model without attention: every layer's mixer is a bidirectional state space model\n"
            "(`model_type: \"buoy_ssd_mdm\"`, docs/ssd.md; mask id 2).",
            "12 layers, width 160, 5 heads of 32, state 32, convolution of width 7, MLP 416",
            "32 positions (`list`, `profile`: 64), 16 (32) steps, one block, low-confidence remasking"),
    "hybrid": ("A small masked diffusion language model: attention in layers 3, 7 and 11, bidirectional state space mixers in the others\n"
               "(`model_type: \"buoy_ssd_mdm\"`, docs/ssd.md; mask id 2).",
               "12 layers, width 160, 5 heads of 32, state 32, convolution of width 7, MLP 432 (416 in state space layers)",
               "32 positions (`list`, `profile`: 64), 16 (32) steps, one block, low-confidence remasking"),
}
ONE = ("single", "reverse", "slot", "long", "multihop")
SEVERAL = ("chain", "list", "profile", "dated", "conflict")
ROWS = (("novel, 5 passages", "novel 5p", "novel easy"), ("novel, 15 passages (middle)", "novel middle", "novel middle"),
        ("novel, 40 passages (hard)", "novel hard", "novel hard"), ("known, no passages", "known 0p", "known 0p"),
        ("novel, no passages", "novel 0p", "novel 0p"))


def table(scores):
    exact, f1 = scores["exact_match"], scores["f1"]
    print("| | " + " | ".join(ONE + SEVERAL) + " |\n" + "|---" * 11 + "|")
    for title, one, several in ROWS:
        cells = []
        for task, row in [(t, one) for t in ONE] + [(t, several) for t in SEVERAL]:
            key = f"{row} {task}"
            long = task in ("list", "profile") and key in exact
            cells.append(f"{exact[key]:.1f}" + (f" ({f1[key]:.1f})" if long else "") if key in exact else "–")
        print(f"| {title} | " + " | ".join(cells) + " |")


def main():
    if len(sys.argv) != 3 or sys.argv[2].split("-")[0] not in KINDS:
        sys.exit(__doc__)
    results, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    kind, seed = name.split("-")
    what, shape, how = KINDS[kind]
    scores = json.loads((results / f"mini-{name}.json").read_text())
    settings = json.loads((results / f"mini-{name}.settings.json").read_text())
    log = next(text for text in (p.read_text() for p in sorted(results.glob(f"mini-{kind}*.log")))
               if int(seed) in json.loads(re.search(r"seeds (\[.*?\])", text).group(1)))
    parameters = int(re.search(r"(\d+) parameters", log).group(1))
    column = settings["seeds"].index(int(seed))  # of the runs that were trained side by side
    losses = {int(step): float(each.split()[column]) for step, each in re.findall(r" (\d+) loss ([\d. ]+) \d+s", log)}
    seconds = re.search(r"step \d+ of \d+ in (\d+)s", log).group(1)
    shown = [step for step in (500, 1000, 2000, 4000, 8000, settings["steps"]) if step in losses]
    tokens = settings["step"] * settings["tokens"] / 1e9
    print(f"""# mini-{kind}

{what}
{shape}, vocabulary 2,048, RoPE θ 500,000, context 2,048
(trained to 1,536), bf16, {parameters / 1e6:.2f} million parameters, 8.8 MB. One of a set of four, `mini-mdm`, `mini-arm`, `mini-ssm` and `mini-hybrid`: same
data in the same order, same steps, batch, learning rate and loss weights, same size, same tokenizer.

## Data
MicroWorld (docs/microworld.md): fictional people, towns, companies and books. 12 % of the sequences are plain documents, 30 % questions on
one known world without passages, 9 % on it with passages, 49 % on novel worlds with 1 to 40 passages; after half of these up to twelve more
questions about the same passages follow. No natural text, no real person or place.

## Recipe
{settings['step']:,} steps of {settings['tokens']:,} tokens ({tokens:.2f} billion tokens), seed {seed}, {settings['optimizer'].capitalize()}, learning rate {settings['lr']:g}, {seconds} s on one H200 beside the three others. `training/run.sh`
holds it; docs/training-the-set.md says what else was tried. Loss (weighted, its own scale; means of 500 steps):
{', '.join(f'{losses[s]:.3f} at step {s:,}' for s in shown)}.

## Scores
Exact match in percent, {scores['items']} fresh items a cell (half as many with 40 passages), {how};
in brackets F1. Made in training's PyTorch.
""")
    table(scores)
    exact = scores["exact_match"]
    extra = [f"{exact[k]:.1f} with the gold passage at place {k.split()[-1]} of 10" for k in exact if "gold at" in k]
    extra += [f"{exact[k]:.1f} {t}" for k, t in (("novel 20p all", "on the first five tasks with 20 passages"),
                                              ("novel 10p multihop far", "on `multihop` with the gold passages at both ends of 10")) if k in exact]
    print(f"\nAlso: {', '.join(extra)}. `tests/bundled_test.cc` holds what the engine answers of `data/micro_test.jsonl`.")
    if "attention" in scores:
        a = scores["attention"]
        print(f"\nAttention: the first token receives {', '.join(map(str, a['first_token']))} % in the layers, in {a['items']} items on\n"
              f"the finished pass; uniform attention {a['null_first_token']} %.")
    print("""
## Prompt
`Context:\\nPassage 1: …\\nPassage 2: …\\n\\nQuestion: …\\nShort Answer:` after `<|bos|>` (without passages: from `Question:` on). The
chat template makes the same of a system message (the passages) and a user message (the question).

## Limits
It knows a few dozen sentence forms about made-up things and nothing else: English in general, other prompts and contexts past 1,536 tokens
are outside of what it was trained for. It is one training run; docs/training-the-set.md says how far runs lie apart.""")


if __name__ == "__main__":
    main()
