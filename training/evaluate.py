"""Exact match on fresh items a cell, and where attention goes, for an exported checkpoint.

    python3 training/evaluate.py CHECKPOINT TOOLS_DIRECTORY --tokenizer tokenizer.json --items 1000 --out scores.json
"""
import argparse
import json
import re
import string
import subprocess
import time

import torch
from tokenizers import Tokenizer

from model import BOS, EOS, HEADS, LAYERS, MASK, load_checkpoint
from tokenizer import prompt

TASKS = ("single", "reverse", "slot", "long", "multihop")


def normalise(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def cells(items):
    n = str(items)
    for task in TASKS:
        yield f"novel 5p {task}", ["--task", task, "-n", n]
    for task in TASKS:
        yield f"known 0p {task}", ["--task", task, "-n", n, "--world", "known", "-k", "0"]
    for task in TASKS:
        yield f"novel 0p {task}", ["--task", task, "-n", n, "-k", "0"]
    for position in (1, 5, 10):
        yield f"novel 10p single gold at {position}", ["-n", n, "-k", "10", "--gold-position", str(position)]
    yield "novel 20p all", ["--task", "all", "-n", n, "-k", "20"]
    yield "novel 5p all, 3 noise", ["--task", "all", "-n", n, "--noise", "3"]
    yield "novel 10p multihop far", ["--task", "multihop", "-n", n, "-k", "10", "--split", "far"]


class Runner:
    def __init__(self, model, tokenizer, device):
        self.model, self.tokenizer, self.device = model, tokenizer, device

    def encode(self, text):
        return [BOS] + self.tokenizer.encode(text, add_special_tokens=False).ids

    @torch.no_grad()
    def generate(self, prompts, steps, length=32, budget=131072):
        """The answers' ids. Prompts lie one after another with `length` positions behind each."""
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
        at = torch.arange(len(tokens), device=self.device)
        which = torch.bucketize(at, starts, right=True) - 1
        positions = at - starts[which]
        ends = starts[1:, None].long() - length + torch.arange(length, device=self.device)  # [S, length]
        longest = int(sizes.max())
        run = lambda rows: self.model.logits(tokens, positions, starts, longest, rows).float()
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
        return self.tokenizer.decode(ids[:ids.index(EOS)] if EOS in ids else ids).strip()

    def exact_match(self, items, steps):
        made = self.generate([self.encode(prompt(i)) for i in items], steps)
        return [max(normalise(self.text(ids)) == normalise(g) for g in i["answers"]) for i, ids in zip(items, made)]

    @torch.no_grad()
    def received(self, ids):
        """Received attention [L, H, N] of one finished sequence."""
        found = []

        def attention(q, k, v):
            scores = torch.einsum("ihd,jhd->hij", q.float(), k.float()) / q.shape[-1] ** 0.5
            if self.model.causal:
                scores = scores.masked_fill(torch.ones(scores.shape[-2:], device=q.device).triu(1).bool(), -1e30)
            weights = scores.softmax(-1)
            found.append(weights.mean(1))
            return torch.einsum("hij,jhd->ihd", weights, v.float()).to(q.dtype)

        tokens = torch.tensor(ids, device=self.device)
        self.model.hidden(tokens, torch.arange(len(ids), device=self.device), attention)
        return torch.stack(found)

    def attention(self, items, steps):
        prompts = [self.encode(prompt(i)) for i in items]
        first = torch.zeros(LAYERS, HEADS)
        top, null, anchors = torch.zeros(LAYERS), 0.0, torch.zeros(LAYERS)
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
            example.append([self.tokenizer.decode([ids[int(j)]], skip_special_tokens=False) for j in excess.argmax(-1)])
        percent = lambda x: [round(100 * float(v), 1) for v in x]
        return dict(items=len(items), first_token=percent(first.mean(1)), null_first_token=round(100 * null, 1),
                    heads_over_30=round(float((first > 0.3).float().mean()), 3),
                    largest_head=percent(first.max(1).values), top1=percent(top), anchors=percent(anchors),
                    example=example[0], example2=example[1])


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
    p.add_argument("--quick", action="store_true", help="only the cells with 5 passages and the known world")
    p.add_argument("--attention-only", action="store_true")
    p.add_argument("--file", help="also score this JSON lines file")
    p.add_argument("--out")
    p.add_argument("--device", default="cuda")
    a = p.parse_args()
    began = time.time()
    model = load_checkpoint(a.checkpoint).to(a.device).eval()
    if a.device == "cuda":
        for p_ in model.parameters():  # the angles stay float32
            p_.data = p_.data.bfloat16()
    runner = Runner(model, Tokenizer.from_file(a.tokenizer), a.device)
    scores = dict(steps=a.steps, items=a.items, exact_match={})
    for name, flags in [] if a.attention_only else cells(a.items):
        if a.quick and not name.startswith(("novel 5p", "known 0p", "novel 10p single gold at 10")):
            continue
        hits = runner.exact_match(make(a.tools, a.seed, flags), a.steps)
        scores["exact_match"][name] = round(100 * sum(hits) / len(hits), 1)
    if a.file:
        with open(a.file) as f:
            items = [json.loads(line) for line in f]
        scores["file"] = {str(s): sum(runner.exact_match(items, s)) for s in (16, 32)}
    scores["attention"] = runner.attention(make(a.tools, a.seed + 1, ["--task", "all", "-k", "8", "-n", "40"]), a.steps)
    print(a.checkpoint, f"{time.time() - began:.0f}s", json.dumps(scores), flush=True)
    if a.out:
        with open(a.out, "w") as f:
            json.dump(scores, f, indent=1)


if __name__ == "__main__":
    main()
