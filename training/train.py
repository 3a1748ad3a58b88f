"""Trains one of the four kinds on buoy-pack's shards; stops after --seconds and goes on where it stopped. Several seeds
train side by side, each into RUN-SEED: first weights and masks differ, the data and its order do not.

    python3 training/train.py arm --data SHARDS --out RUN --steps 8000 --seeds 1 2 3 --seconds 480
"""
import argparse
import json
import os
import pathlib
import time

import torch

import kernels
from checkpoint import save_checkpoint
from model import KINDS, Model, Shape
from shards import Shards
from step import Trainer


def recipe(p):
    """What every kind is trained with, unless a sweep tries something else."""
    p.add_argument("--optimizer", choices=("muon", "adamw"), default="muon")
    p.add_argument("--tokens", type=int, default=32768)
    p.add_argument("--layers", type=int, default=Shape.layers, help="fewer only to try the recipe out")
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--decay", type=float, default=0.1, help="weight decay")
    p.add_argument("--beta2", type=float, default=0.95)
    p.add_argument("--plain", type=float, default=0.5, help="loss weight of plain text")
    p.add_argument("--prompt", type=float, default=0.5, help="loss weight of prompts")
    p.add_argument("--answer", type=float, default=3.0, help="loss weight of answers")
    p.add_argument("--tail", type=float, default=0.15, help="all but arm: loss weight of the EOS after an answer")
    p.add_argument("--only", type=float, default=0.3, help="all but arm: share of questions of which only the answer is masked")
    p.add_argument("--most", type=float, default=0.6, help="all but arm: largest share of a prompt that is masked otherwise")
    p.add_argument("--full", type=float, default=0.3, help="all but arm: share of answers that are masked as a whole")
    p.add_argument("--device", default="cuda")
    p.add_argument("--eager", action="store_true", help="without torch.compile")
    p.add_argument("--no-graph", dest="graph", action="store_false", help="without a CUDA graph of the step")


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=KINDS)
    p.add_argument("--data", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--steps", type=int, required=True)
    p.add_argument("--seconds", type=float, default=480, help="longest piece; the run goes on with the same command")
    p.add_argument("--save-every", type=int, default=1000, metavar="STEPS", help="so much at most is lost when a run is killed")
    p.add_argument("--began", type=float, help="when --seconds began to run, in Unix time; now unless given")
    p.add_argument("--profile", action="store_true", help="30 steps, then what each kernel took of one of them; nothing is saved")
    p.add_argument("--seeds", type=int, nargs="+", default=[1], help="of the first weights and of the masks; the data has its own")
    recipe(p)
    return p.parse_args()


def rate(step, a):
    done = step / a.steps
    return a.lr * min(1, (step + 1) / 500) * (1 if done < 0.4 else max(0.02, 1 - (done - 0.4) / 0.6))


def states(out):
    """{steps behind it: file} of what a run has stored."""
    return {int(p.stem.split("-")[1]): p for p in pathlib.Path(out).glob("state-*.pt")}


def begin(a):
    """The trainers, one a seed, and the number of steps they have behind them: the last that all seeds have stored."""
    outs = {seed: f"{a.out}-{seed}" for seed in a.seeds}
    step = max(set.intersection(*(set(states(out)) for out in outs.values())), default=0)
    trainers = []
    for seed, out in outs.items():
        os.makedirs(out, exist_ok=True)
        torch.manual_seed(seed)
        trainer = Trainer(Model(a.kind, Shape(layers=a.layers)).to(a.device), a, seed)
        if step:
            trainer.load(states(out)[step])
        trainer.prepare()
        trainers.append(trainer)
    return trainers, step


def save(trainer, a, step):
    """The last two are kept: a run that is killed between two seeds goes on from where both were."""
    out = f"{a.out}-{trainer.seed}"
    trainer.wait()
    trainer.save(out + "/state.part", step)
    os.replace(out + "/state.part", f"{out}/state-{step}.pt")
    for older in sorted(states(out))[:-2]:
        os.remove(f"{out}/state-{older}.pt")


def finish(trainer, a, step):  # after all are stored
    out = f"{a.out}-{trainer.seed}"
    save_checkpoint(trainer.model, out + "/checkpoint")
    with open(out + "/settings.json", "w") as f:
        json.dump(vars(a) | dict(step=step, seed=trainer.seed), f, indent=1)


def profile(trainers, shards, a):
    """Where a step's time goes: kernels by what they take of it, of all seeds together."""
    warm, counted = 10, 20
    card = a.device == "cuda"
    activity = torch.profiler.ProfilerActivity.CUDA if card else torch.profiler.ProfilerActivity.CPU
    for first, steps in ((0, warm), (warm, counted)):
        with torch.profiler.profile(activities=[activity]) as seen:  # the first alone pays for the profiler's own start
            began = time.time()
            for step in range(first, first + steps):
                batch = shards.next()
                for trainer in trainers:
                    trainer.advance(batch, step, rate(step, a))
            for trainer in trainers:
                trainer.wait()
            wall = time.time() - began
    took = lambda event: event.self_device_time_total if card else event.self_cpu_time_total
    events = sorted(seen.key_averages(), key=took, reverse=True)
    print(f"{a.out} a step takes {1e3 * wall / counted:.2f} ms, its kernels {sum(map(took, events)) / counted / 1e3:.2f} ms")
    for event in events[:40]:
        print(f"{took(event) / counted / 1e3:9.3f} ms {event.count / counted:7.1f} times  {event.key[:150]}")


def main():
    a = arguments()
    if a.device == "cuda" and kernels.attention_op is None:
        raise SystemExit("train.py: Triton is missing, which comes with PyTorch for NVIDIA cards; --device cpu does without")
    trainers, step = begin(a)
    print(f"{a.out} {sum(p.numel() for p in trainers[0].model.parameters())} parameters, seeds {a.seeds}", flush=True)
    shards = Shards(a.data, a.tokens, step, a.device)
    if a.profile:
        profile(trainers, shards, a)
        return
    began, mark, counted = a.began or time.time(), None, 0
    while step < a.steps and time.time() - began < a.seconds:
        batch = shards.next()
        for trainer in trainers:
            trainer.advance(batch, step, rate(step, a))
        step, counted = step + 1, counted + 1
        if step % 100 == 0:
            for trainer in trainers:
                trainer.wait()  # the host must not run ahead of what --seconds allows
        if step % 500 == 0 or step == 20:
            losses = " ".join(f"{t.take_total() / counted:.4f}" for t in trainers)
            now = time.time()
            speed = (step - mark[0]) * a.tokens * len(trainers) / (now - mark[1]) / 1e6 if mark else 0
            print(f"{a.out} {step} loss {losses} {now - began:.0f}s {speed:.2f}M tokens/s waited {shards.waited:.1f}s", flush=True)
            mark, counted = (step, now), 0
        if step % a.save_every == 0:
            for trainer in trainers:
                save(trainer, a, step)
    for way in (save, finish):
        for trainer in trainers:
            way(trainer, a, step)
    print(f"{a.out} step {step} of {a.steps} in {time.time() - began:.0f}s", flush=True)


if __name__ == "__main__":
    main()
