"""Tries optimizers and learning rates on one kind: short whole runs from the same first weights over the same batches.

    python3 training/sweep.py mdm --data SHARDS --steps 1200 --settings adamw:2.5e-3 muon:2.5e-3 muon:5e-3 --out sweep-mdm.json
Prints the mean loss of the last tenth of the steps for each setting; --profile N also lists the N longest kernels of a step.
"""
import argparse
import json
import time

import torch

from model import KINDS, Model, Shape
from shards import Shards
from step import Trainer
from train import rate, recipe


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kind", choices=KINDS)
    p.add_argument("--data", required=True)
    p.add_argument("--steps", type=int, default=1200)
    p.add_argument("--settings", nargs="*", default=["muon:2.5e-3"], metavar="OPTIMIZER:RATE")
    p.add_argument("--profile", type=int, default=0)
    p.add_argument("--out", default="sweep")
    p.add_argument("--seed", type=int, default=1)
    recipe(p)
    return p.parse_args()


def profile(trainer, batches, rows):
    """Kernel times of five steps, launched one by one."""
    graph, trainer.graph = trainer.graph, None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as seen:
        for step in range(5):
            trainer.advance(batches.next(), step, 0.0)
        torch.cuda.synchronize()
    trainer.graph = graph
    kernels = [e for e in seen.key_averages() if e.self_device_time_total > 0 and e.device_type == torch.autograd.DeviceType.CUDA]
    kernels.sort(key=lambda e: -e.self_device_time_total)
    print(f"{trainer.a.kind}: {sum(e.self_device_time_total for e in kernels) / 5000:.2f} ms of kernels a step, "
          f"{sum(e.count for e in kernels) / 5:.0f} launches")
    for e in kernels[:rows]:
        print(f"{e.self_device_time_total / 5000:8.3f} ms {e.count / 5:6.0f}  {e.key[:150]}")


def main():
    a = arguments()
    torch.manual_seed(a.seed)
    model = Model(a.kind, Shape(layers=a.layers)).to(a.device)
    first = [p.detach().clone() for p in model.parameters()]
    results, trainer = [], None
    for setting in a.settings:
        optimizer, lr = setting.split(":")
        if trainer is None or optimizer != a.optimizer:
            a.optimizer = optimizer
            trainer = Trainer(model, a, a.seed)
            trainer.restore(first)
            trainer.prepare()
        a.lr = float(lr)
        trainer.restore(first)
        shards = Shards(a.data, a.tokens, 0, a.device)
        if a.profile and not results:
            profile(trainer, shards, a.profile)
            trainer.restore(first)
            shards = Shards(a.data, a.tokens, 0, a.device)
        losses, began = [], None
        for step in range(a.steps):
            trainer.advance(shards.next(), step, rate(step, a))
            if step == 20:
                torch.cuda.synchronize() if a.device == "cuda" else None
                began = time.time()
            if (step + 1) % (a.steps // 10) == 0:
                losses.append(trainer.take_total() / (a.steps // 10))
        took = (time.time() - began) / (a.steps - 21) * 1e3 if began else 0
        results.append(dict(kind=a.kind, optimizer=optimizer, lr=a.lr, steps=a.steps, tokens=a.tokens, seed=a.seed,
                            step_ms=round(took, 2), waited=round(shards.waited, 1), losses=[round(x, 4) for x in losses]))
        print(json.dumps(results[-1]), flush=True)
        with open(a.out, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
