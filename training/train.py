"""Trains one of the four kinds on buoy-pack's shards; stops after --seconds and goes on where it stopped.

    python3 training/train.py arm --data SHARDS --out RUN --steps 20000 --seconds 480
"""
import argparse
import json
import os
import time

import torch
import torch.nn.functional as F

from checkpoint import save_checkpoint
from model import BOS, KINDS, MASK, Model, Shape, read_out
from shards import ANSWER, PADDING, PLAIN, PROMPT, STARTS, TAIL, Shards


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=KINDS)
    p.add_argument("--data", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, required=True)
    p.add_argument("--seconds", type=float, default=480, help="longest piece; the run goes on with the same command")
    p.add_argument("--began", type=float, help="when --seconds began to run, in Unix time; now unless given")
    p.add_argument("--steps-file", help="holds --steps anew while the run goes, to fit it into the time there is; "
                   "read before 40 %% of the steps are done, the learning rate is the same as if known from the start")
    p.add_argument("--keep", default="", help="steps at which a checkpoint is kept, comma-separated")
    p.add_argument("--tokens", type=int, default=32768)
    p.add_argument("--longest", type=int, default=1536)
    p.add_argument("--layers", type=int, default=Shape.layers, help="fewer only to try the recipe out")
    p.add_argument("--lr", type=float, default=2.5e-3)
    p.add_argument("--decay", type=float, default=0.1, help="weight decay")
    p.add_argument("--beta2", type=float, default=0.95)
    p.add_argument("--plain", type=float, default=0.5, help="loss weight of plain text")
    p.add_argument("--prompt", type=float, default=0.5, help="loss weight of prompts")
    p.add_argument("--answer", type=float, default=3.0, help="loss weight of answers")
    p.add_argument("--tail", type=float, default=0.15, help="all but arm: loss weight of the EOS after an answer")
    p.add_argument("--only", type=float, default=0.3, help="all but arm: share of questions of which only the answer is masked")
    p.add_argument("--most", type=float, default=0.6, help="all but arm: largest share of a prompt that is masked otherwise")
    p.add_argument("--full", type=float, default=0.3, help="all but arm: share of answers that are masked as a whole")
    p.add_argument("--seed", type=int, default=1, help="of the first weights and of the masks; the data has its own")
    p.add_argument("--device", default="cuda")
    p.add_argument("--eager", action="store_true")
    return p.parse_args()


def weight_table(a, device):
    """Loss weight by flag; a tensor, so that every setting runs the same compiled code."""
    table = torch.zeros(32, device=device)
    table[PLAIN], table[PROMPT], table[ANSWER] = a.plain, a.prompt, a.answer
    if a.kind != "arm":
        table[TAIL] = a.tail
    return table


def arm_task(batch, draws, table):
    """What is read, what is to be said at each position, and what it weighs."""
    tokens, flags, _, _, _ = batch
    target = tokens.roll(-1)
    return tokens, target, table[flags.roll(-1).long()] * (target != BOS)  # the next sequence's start is no target


def masked_task(batch, draws, table):
    tokens, flags, _, _, which = batch
    text, answer, per_token = draws  # shares to mask [S] in text and in answers; [T] uniform
    waits = (flags == ANSWER) | (flags == TAIL)
    level = torch.where(waits, answer[which], torch.where(flags == PLAIN, text[0][which], text[1][which]))
    masked = (per_token < level) & (flags != PADDING) & (tokens != BOS)
    return torch.where(masked, MASK, tokens), tokens, table[flags.long()] * masked


def draw(generator, a):
    """Shares of tokens to mask, per sequence: of a document, of a prompt, of an answer; a uniform number per token."""
    u = torch.rand(5, STARTS, device=a.device, generator=generator)
    document = u[0].square()  # all shares occur, small ones more often: they teach copying
    prompt = torch.where(u[1] < a.only, 0.0, a.most * u[2])
    answer = torch.where(u[3] < a.full, 1.0, u[4])
    return torch.stack([document, prompt]), answer, torch.rand(a.tokens, device=a.device, generator=generator)


def weighted(x, norm, head, target, weight):
    loss = F.cross_entropy(read_out(x, norm, head).float(), target.long(), reduction="none")
    return (loss * weight).sum() / weight.sum()


def rate(step, a):
    done = step / a.steps
    return a.lr * min(1, (step + 1) / 500) * (1 if done < 0.4 else max(0.02, 1 - (done - 0.4) / 0.6))


def locate(starts, T):
    at = torch.arange(T, device=starts.device)
    which = torch.bucketize(at, starts, right=True) - 1
    return at - starts[which], which


class Step:
    """The loss of a batch. Compiled, one block of each kind is, and the loss: a fraction of the time that all twelve
    blocks as one piece take."""
    def __init__(self, model, a):
        self.model, self.a, self.table = model, a, weight_table(a, a.device)
        self.blocks, self.task, self.loss = list(model.blocks), arm_task if a.kind == "arm" else masked_task, weighted

    def compile(self, **how):
        torch._dynamo.config.recompile_limit = 64  # one kernel set a block at worst
        for block in self.blocks:
            block.compile(dynamic=False, **how)
        self.task, self.loss = (torch.compile(f, dynamic=False, **how) for f in (self.task, weighted))
        return self

    def __call__(self, batch, draws):
        _, _, starts, positions, _ = batch
        with torch.autocast(self.a.device, torch.bfloat16, enabled=self.a.device == "cuda"):
            read, target, weight = self.task(batch, draws, self.table)
            x = self.model.hidden(read, positions, starts, self.a.longest)
            return self.loss(x, self.model.norm, self.model.head, target, weight)

    def eager(self):
        for block in self.blocks:
            block._compiled_call_impl = None
        return Step(self.model, self.a)


def ready(step, a):
    """The step through torch.compile, tried on made-up tokens while the first shard is still being written; eager where
    that fails, with a line that says so."""
    generator = torch.Generator(a.device)
    generator.manual_seed(0)
    tokens = torch.randint(4, 2048, (a.tokens,), device=a.device, dtype=torch.int32, generator=generator)
    starts = torch.arange(STARTS, device=a.device, dtype=torch.int32).mul(512).clamp(max=a.tokens)
    flags = torch.full((a.tokens,), ANSWER, device=a.device, dtype=torch.uint8)
    positions, which = locate(starts, a.tokens)
    began = time.time()
    for attempt in (step.compile, step.eager):
        try:
            made = attempt()
            made((tokens, flags, starts, positions, which), draw(generator, a)).backward()
            step.model.zero_grad(set_to_none=True)
            print(f"{a.out} ready after {time.time() - began:.0f}s, compiled: {made is step}", flush=True)
            return made
        except Exception as error:  # whatever the compiler throws: an eager run is slower, a dead one has no weights
            print(f"{a.out} torch.compile failed: {error!r}"[:2000], flush=True)
    raise SystemExit(f"{a.out}: the forward pass fails")


def main():
    a = arguments()
    os.makedirs(a.out, exist_ok=True)
    torch.manual_seed(a.seed)
    cuda = a.device == "cuda"
    model = Model(a.kind, Shape(layers=a.layers)).to(a.device)
    print(f"{a.out} {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    groups = [dict(params=[p for p in model.parameters() if p.dim() > 1], weight_decay=a.decay),
              dict(params=[p for p in model.parameters() if p.dim() < 2], weight_decay=0)]
    optimizer = torch.optim.AdamW(groups, lr=a.lr, betas=(0.9, a.beta2), fused=cuda)
    state, step = a.out + "/state.pt", 0
    if os.path.exists(state):
        saved = torch.load(state, map_location=a.device)
        model.load_state_dict(saved["model"]), optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    forward = Step(model, a)
    if cuda and not a.eager:
        forward = ready(forward, a)
    shards = Shards(a.data, a.tokens, step, a.device)
    keep = {int(k) for k in a.keep.split(",") if k}
    generator = torch.Generator(a.device)
    log = open(a.out + "/log.txt", "a")
    began, mark, total, counted = a.began or time.time(), None, torch.zeros((), device=a.device), 0
    while step < a.steps and time.time() - began < a.seconds:
        tokens, flags, starts = shards.next()
        positions, which = locate(starts, a.tokens)
        generator.manual_seed(a.seed * 1000003 + step)  # a resumed run draws what the unbroken one would
        draws = draw(generator, a)
        loss = forward((tokens, flags, starts, positions, which), draws)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate(step, a)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        total += loss.detach()
        step, counted = step + 1, counted + 1
        if step in keep:
            save_checkpoint(model, f"{a.out}/checkpoint-{step}")
        if step % 100 == 0:
            total.item()  # waits for the card, so that the time below is that of finished steps
            with open(a.out + "/progress.part", "w") as f:
                json.dump(dict(step=step, time=time.time()), f)
            os.replace(a.out + "/progress.part", a.out + "/progress.json")
            if a.steps_file and os.path.exists(a.steps_file):
                with open(a.steps_file) as f:
                    a.steps = int(f.read())
        if step % 500 == 0 or step == 20:
            now, mean = time.time(), total.item() / counted
            speed = (step - mark[0]) * a.tokens / (now - mark[1]) / 1e6 if mark else 0
            line = f"{a.out} {step} loss {mean:.4f} {now - began:.0f}s {speed:.2f}M tokens/s waited {shards.waited:.1f}s"
            print(line, flush=True)
            log.write(line + "\n"), log.flush()
            mark, counted = (step, time.time()), 0
            total.zero_()
    torch.save(dict(model=model.state_dict(), optimizer=optimizer.state_dict(), step=step), state + ".part")
    os.replace(state + ".part", state)
    save_checkpoint(model, a.out + "/checkpoint")
    with open(a.out + "/settings.json", "w") as f:
        json.dump(vars(a) | dict(step=step), f, indent=1)
    print(f"{a.out} step {step} of {a.steps} in {time.time() - began:.0f}s", flush=True)


if __name__ == "__main__":
    main()
