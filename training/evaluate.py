"""Exact match and F1 on fresh items, by task and level, and where attention goes, for an exported checkpoint.

    python3 training/evaluate.py CHECKPOINT TOOLS_DIRECTORY --tokenizer tokenizer.json --items 1000 --out scores.json
"""
import argparse
import collections
import json
import re
import string
import subprocess
import time

import torch

from checkpoint import load_checkpoint
from model import BOS, EOS, MASK

TASKS = ("single", "reverse", "slot", "long", "multihop")
SEVERAL = ("chain", "list", "profile", "dated", "conflict")
LONG = ("list", "profile")  # answers of up to 64 tokens


def normalise(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(got, want):
    """Of the words both have, as often as both have them; 1 when both are empty."""
    got, want = normalise(got).split(), normalise(want).split()
    common = sum((collections.Counter(got) & collections.Counter(want)).values())
    return 2 * common / (len(got) + len(want)) if got or want else 1.0


def prompt(item):
    context = "".join(f"Passage {i + 1}: {p['text']}\n" for i, p in enumerate(item["passages"]))
    return (f"Context:\n{context}\n" if context else "") + f"Question: {item['question']}\nShort Answer:"


def cells(items):
    """The most important ones first: the time may end before the list."""
    n = str(items)
    for task in TASKS:
        yield f"novel 5p {task}", ["--task", task, "-n", n]
    for task in SEVERAL:
        yield f"novel easy {task}", ["--task", task, "-n", n, "--level", "easy"]
    for task in TASKS + SEVERAL:
        yield f"novel middle {task}", ["--task", task, "-n", n, "--level", "middle"]
    for task in TASKS + ("chain", "list", "profile"):
        yield f"known 0p {task}", ["--task", task, "-n", n, "--world", "known", "-k", "0"]
    for task in TASKS + SEVERAL:  # fewer: their prompts are five times as long
        yield f"novel hard {task}", ["--task", task, "-n", str((items + 1) // 2), "--level", "hard"]
    for task in TASKS:
        yield f"novel 0p {task}", ["--task", task, "-n", n, "-k", "0"]
    for position in (1, 5, 10):
        yield f"novel 10p single gold at {position}", ["-n", n, "-k", "10", "--gold-position", str(position)]
    yield "novel 20p all", ["--task", "all", "-n", n, "-k", "20"]
    yield "novel 5p all, 3 noise", ["--task", "all", "-n", n, "--noise", "3"]
    yield "novel 10p multihop far", ["--task", "multihop", "-n", n, "-k", "10", "--split", "far"]


class Words:
    """buoy-pack's encoder, and the vocabulary read the other way round. ASCII alone, as MicroWorld is."""
    def __init__(self, tools, path):
        self.tools, self.path = tools, path
        with open(path) as f:
            vocabulary = json.load(f)["model"]["vocab"]
        self.tokens = {i: t for t, i in vocabulary.items()}

    def encode(self, texts):
        out = subprocess.run([self.tools + "/buoy-pack", "--tokenizer", self.path, "--tokenize"], check=True,
                             capture_output=True, input="".join(t + "\0" for t in texts), text=True).stdout
        return [[BOS] + [int(i) for i in line.split()] for line in out.splitlines()]

    def decode(self, ids):
        """A byte-level vocabulary writes a control character or space as the letter 256 further on."""
        text = "".join(self.tokens.get(i, "") for i in ids if i > 3)
        return "".join(chr(ord(c) - 256) if 256 <= ord(c) <= 288 else c for c in text)


class Runner:
    def __init__(self, model, words, device):
        self.model, self.words, self.device = model, words, device

    @torch.no_grad()
    def generate(self, prompts, steps, length=32):
        """The answers' ids. Prompts lie one after another with `length` positions behind each."""
        budget = 65536 if self.device == "cuda" else 512  # without flash attention all of it is one matrix
        answers, batch = [], []
        for p in prompts:
            if sum(len(q) + length for q in batch) + len(p) + length > budget and batch:
                answers += self._generate(batch, steps, length)
                batch = []
            batch.append(p)
        return answers + (self._generate(batch, steps, length) if batch else [])

    def _generate(self, prompts, steps, length):
        filler = EOS if self.model.causal else MASK
        sizes = torch.tensor([len(p) + length for p in prompts])
        starts = torch.cat([torch.zeros(1), sizes.cumsum(0)]).to(self.device, torch.int32)
        tokens = torch.tensor([t for p in prompts for t in p + [filler] * length], device=self.device)
        ends = starts[1:, None].long() - length + torch.arange(length, device=self.device)  # [S, length]
        run = lambda rows: self.model.logits(tokens, starts, rows).float()
        if self.model.causal:
            done = torch.zeros(len(prompts), dtype=torch.bool, device=self.device)
            for i in range(length):
                best = run(ends[:, i] - 1).argmax(-1)
                tokens[ends[:, i]] = torch.where(done, EOS, best)
                done |= best == EOS
                if done.all():
                    break
        else:
            for i in range(steps):
                quota = length // steps + (i < length % steps)
                logits = run(ends.reshape(-1))
                confidence, best = logits.softmax(-1).max(-1)
                confidence, best = confidence.view(ends.shape), best.view(ends.shape)
                confidence = torch.where(tokens[ends] == MASK, confidence, -1.0)
                chosen = confidence.topk(quota, 1).indices
                tokens[ends.gather(1, chosen)] = best.gather(1, chosen)
        return tokens[ends].tolist()

    def text(self, ids):
        return self.words.decode(ids[:ids.index(EOS)] if EOS in ids else ids).strip()

    def scores(self, items, steps):
        """Exact matches and F1, one each per item. Long answers get twice the positions and steps."""
        twice = 2 if any(i["task"] in LONG for i in items) else 1
        made = self.generate(self.words.encode([prompt(i) for i in items]), twice * steps, twice * 32)
        texts = [self.text(ids) for ids in made]
        return ([max(normalise(t) == normalise(g) for g in i["answers"]) for i, t in zip(items, texts)],
                [max(f1(t, g) for g in i["answers"]) for i, t in zip(items, texts)], texts)

    @torch.no_grad()
    def received(self, ids):
        """Received attention [L, H, N] of one finished sequence, of the layers that have attention."""
        found = []

        def attention(q, k, v):
            scores = torch.einsum("ihd,jhd->hij", q.float(), k.float()) / q.shape[-1] ** 0.5
            if self.model.causal:
                scores = scores.masked_fill(torch.ones(scores.shape[-2:], device=q.device).triu(1).bool(), -1e30)
            weights = scores.softmax(-1)
            found.append(weights.mean(1))
            return torch.einsum("hij,jhd->ihd", weights, v.float()).to(q.dtype)

        tokens = torch.tensor(ids, device=self.device)
        starts = torch.tensor([0, len(ids)], device=self.device, dtype=torch.int32)
        for block in self.model.blocks:
            block.watch = attention
        self.model.hidden(tokens, starts)
        for block in self.model.blocks:
            block.watch = None
        return torch.stack(found)

    def attention(self, items, steps):
        prompts = self.words.encode([prompt(i) for i in items])
        layers = sum(b.mixer is None for b in self.model.blocks)
        first = torch.zeros(layers, self.model.shape.heads)
        top, null, anchors = torch.zeros(layers), 0.0, torch.zeros(layers)
        example = []
        for p, answer in zip(prompts, self.generate(prompts, steps)):
            ids = p + (answer[:answer.index(EOS) + 1] if self.model.causal and EOS in answer else answer)
            r = self.received(ids).cpu()
            n = r.shape[-1]
            uniform = torch.full((n,), 1 / n)
            if self.model.causal:
                uniform = (1 / torch.arange(1, n + 1)).flip(0).cumsum(0).flip(0) / n
            mean = r.mean(1)
            excess = mean - uniform
            chosen = excess > 3 * excess.std(-1, correction=0, keepdim=True)
            first += r[:, :, 0] / len(items)
            top += mean.max(-1).values / len(items)
            anchors += (mean * chosen).sum(-1) / len(items)
            null += uniform[0].item() / len(items)
            example.append([self.words.tokens[ids[int(j)]] for j in excess.argmax(-1)])
        percent = lambda x: [round(100 * float(v), 1) for v in x]
        return dict(items=len(items), first_token=percent(first.mean(1)), null_first_token=round(100 * null, 1),
                    heads_over_30=round(float((first > 0.3).float().mean()), 3),
                    largest_head=percent(first.max(1).values), top1=percent(top), anchors=percent(anchors),
                    example=example[0], example2=example[1])


def write(scores, path):
    if path:
        with open(path, "w") as f:
            json.dump(scores, f, indent=1)


def make(tools, seed, flags):
    out = subprocess.run([tools + "/buoy-world", "world", "--seed", str(seed), *flags], check=True,
                         capture_output=True, text=True)
    return [json.loads(line) for line in out.stdout.splitlines()]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("checkpoint")
    p.add_argument("tools")
    p.add_argument("--tokenizer", required=True)
    p.add_argument("--items", type=int, default=1000)
    p.add_argument("--steps", type=int, default=16)
    p.add_argument("--seed", type=int, default=990001)
    p.add_argument("--quick", action="store_true", help="only the cells with 5 passages, the easy level and the known world")
    p.add_argument("--seconds", type=float, default=1e9, help="no further cell is begun after so long")
    p.add_argument("--attention-only", action="store_true")
    p.add_argument("--file", help="also score this JSON lines file")
    p.add_argument("--out")
    p.add_argument("--device", default="cuda")
    a = p.parse_args()
    began = time.time()
    model = load_checkpoint(a.checkpoint).to(a.device).eval()
    if a.device == "cuda":
        for name, p_ in model.named_parameters():  # the angles and the decays stay float32, as in the checkpoint
            if not name.endswith((".dt_bias", ".a_log", "mixer.d")):
                p_.data = p_.data.bfloat16()
    runner = Runner(model, Words(a.tools, a.tokenizer), a.device)
    scores = dict(steps=a.steps, items=a.items, exact_match={}, f1={}, examples={})
    for name, flags in [] if a.attention_only else cells(a.items):
        if a.quick and not name.startswith(("novel 5p", "novel easy", "known 0p", "novel 10p single gold at 10")):
            continue
        if time.time() - began > a.seconds:
            scores["left_out_from"] = name
            break
        items = make(a.tools, a.seed, flags)
        hits, parts, texts = runner.scores(items, a.steps)
        scores["exact_match"][name] = round(100 * sum(hits) / len(hits), 1)
        scores["f1"][name] = round(100 * sum(parts) / len(parts), 1)
        scores["examples"][name] = [items[0]["question"], items[0]["answers"][0], texts[0]]
        print(f"{a.checkpoint} {time.time() - began:.0f}s {name}: exact {scores['exact_match'][name]}, "
              f"F1 {scores['f1'][name]}", flush=True)
        write(scores, a.out)
    if a.file and time.time() - began < a.seconds:
        with open(a.file) as f:
            items = [json.loads(line) for line in f]
        scores["file"] = {str(s): sum(runner.scores(items, s)[0]) for s in (16, 32)}
    if a.attention_only or (time.time() - began < a.seconds and any(b.mixer is None for b in model.blocks)):
        few = make(a.tools, a.seed + 1, ["--task", "all", "-k", "8", "-n", "40"])
        scores["attention"] = runner.attention(few, a.steps)
    write(scores, a.out)
    print(f"{a.checkpoint} scored in {time.time() - began:.0f}s", flush=True)


if __name__ == "__main__":
    main()
