#!/usr/bin/env python3
"""Times passes of the training code's own state space model in PyTorch, or writes a random checkpoint of its shape. One JSON line.

    python3 bench/torch_ssd.py --make ssm --model DIRECTORY
    python3 bench/torch_ssd.py --model DIRECTORY --tokens 512 --threads 1
"""
import argparse
import json
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "training"))
from checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from model import Model, Shape  # noqa: E402


def make(kind, directory):
    torch.manual_seed(1)
    save_checkpoint(Model(kind, Shape(context=32768)), directory)
    print(json.dumps({"made": directory}))


def measure(a):
    model = load_checkpoint(a.model)
    tokens = torch.randint(4, model.shape.vocabulary, (a.tokens,), generator=torch.Generator().manual_seed(5))
    starts = torch.tensor([0, a.tokens], dtype=torch.int32)
    run = lambda: model.logits(tokens, starts)
    wall, cpu = [], []
    with torch.no_grad():
        run()
        for _ in range(a.repeat):
            begin, busy = time.perf_counter(), time.process_time()
            run()
            wall.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - busy)
    print(json.dumps({"tokens": a.tokens, "best_ms": 1e3 * min(wall), "best_cpu_ms": 1e3 * min(cpu)}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True)
    p.add_argument("--make", choices=("mdm", "ssm", "hybrid"))
    p.add_argument("--tokens", type=int, default=512)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--repeat", type=int, default=3)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    make(a.make, a.model) if a.make else measure(a)


if __name__ == "__main__":
    main()
