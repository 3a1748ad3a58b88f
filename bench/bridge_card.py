#!/usr/bin/env python3
"""Buoy's attention inside models of transformers: right, linear in memory, and how fast beside sdpa and eager.

    PYTHONPATH=build/release/python bridge_card.py                     # on a card: a Llama with layers of the 8B's shape, N = 4096, bf16
    PYTHONPATH=build/release/python bridge_card.py --device cpu        # small sizes, to try the program itself

First outputs and statistics of a Llama, a Qwen3 and a BERT are compared with sdpa's and eager's, then memory over N is read, then passes are
timed in turn; medians. A recorded pass ends when all its statistics lie in the host's memory. Fails where something is wrong, not where it is slow.
"""
import argparse
import contextlib
import statistics
import sys
import time

import numpy as np
import torch
import transformers

import buoy
import buoy.torch

GOAL = 1.15
# Sizes by device: of the models that are compared, and of the one that is timed.
SHAPES = {
    "cuda": dict(compared=dict(hidden_size=512, intermediate_size=1024, num_hidden_layers=3, num_attention_heads=8, vocab_size=997), lengths=(257, 1024),
                 timed=dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=8, num_attention_heads=32, num_key_value_heads=8, vocab_size=1024),
                 tokens=4096, memory=(2048, 4096, 8192, 16384)),
    "cpu": dict(compared=dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, vocab_size=101), lengths=(61,),
                timed=dict(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=101),
                tokens=512, memory=(1024, 2048, 4096, 8192)),
}
FAILURES = []


def say(line):
    print(line, flush=True)


def expect(holds, line):
    if not holds:
        FAILURES.append(line)
    say(f"{'ok   ' if holds else 'WRONG'} {line}")


# Right?


def build(kind, sizes, implementation):
    torch.manual_seed(0)
    if kind == "bert":
        return transformers.BertForMaskedLM(transformers.BertConfig(**sizes, max_position_embeddings=2048, attn_implementation=implementation)).eval()
    more = {} if kind == "llama" else {"head_dim": 2 * sizes["hidden_size"] // sizes["num_attention_heads"]}
    config, model = {"llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM), "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM)}[kind]
    return model(config(**sizes, num_key_value_heads=sizes["num_attention_heads"] // 2, attn_implementation=implementation, **more)).eval()


def prepared(kind, sizes, implementation, device, dtype, rounded):
    """With weights that bfloat16 can hold where `rounded`, so that types differ in arithmetic alone."""
    model = build(kind, sizes, implementation)
    return (model.bfloat16() if rounded else model).to(device, dtype)


def compare(kind, sizes, length, dtype, device, padded):
    ids = (1 + torch.arange(2 * length).reshape(2, length) % (sizes["vocab_size"] - 1)).to(device)
    mask = torch.ones_like(ids)
    if padded:
        mask[1, :length // 5] = 0
    real, rounded = mask.bool(), dtype == torch.bfloat16
    exact = prepared(kind, sizes, "sdpa", device, torch.float32, rounded)(ids, attention_mask=mask).logits[real]
    model = prepared(kind, sizes, "sdpa", device, dtype, rounded)
    sdpa = model(ids, attention_mask=mask).logits[real].float()
    with buoy.torch.watch(model, ["column_sums", "rows"]) as watched:
        found = model(ids, attention_mask=mask).logits[real].float()
    largest = float(exact.abs().max())
    errors = [float((logits - exact).abs().max()) / largest for logits in (found, sdpa)]
    name = f"{kind}, {str(dtype)[6:]}, N = {length}{', padded' if padded else ''}"
    # In bfloat16 nobody is exact: as close to float32 as sdpa is, give or take the luck of rounding.
    expect(errors[0] < (2 * errors[1] + 1e-3 if rounded else 1e-4), f"{name}: output off by {errors[0]:.1e} of the largest logit (sdpa {errors[1]:.1e})")
    eager = prepared(kind, sizes, "eager", device, dtype, rounded)(ids, attention_mask=mask, output_attentions=True).attentions
    worst = 0.0
    for call, weights in zip(watched.calls, eager):
        weights = weights.float().cpu().numpy()
        rows = np.broadcast_to(real.cpu().numpy()[:, None, :], weights.shape[:3])
        if kind != "bert":  # rows that see nothing but padding: eager lets them look everywhere, Buoy nowhere
            weights[~rows] = 0
        wanted = weights.sum(axis=2)
        tops, most = call.stats["row_max_weight"][rows], weights.max(axis=-1)[rows]
        worst = max(worst, float((np.abs(call.stats["column_sums"] - wanted) / (1 + wanted)).max()), float(np.abs(tops - most).max()))
    expect(len(watched.calls) == len(eager) and worst < (3e-2 if rounded else 1e-4), f"{name}: statistics off by {worst:.1e} from eager's, {len(watched.calls)} layers")


def compare_streams(device):
    """Work of another stream of PyTorch's comes before and after, and the thread's card stays what it was."""
    side, before = torch.cuda.Stream(device), torch.cuda.current_device()
    with torch.cuda.stream(side):
        big = torch.randn(8192, 8192, device=device)
        for _ in range(4):  # milliseconds of work that attention must wait for
            big = big @ big / 8192
        q = big[:512, :512].reshape(1, 512, 8, 64).transpose(1, 2)
        out, stats = buoy.torch.attention(q, q, q, "causal", ["column_sums"])
        doubled = out * 2
    side.synchronize()
    wanted = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    expect(bool(torch.allclose(doubled, wanted * 2, atol=1e-4)) and abs(float(stats["column_sums"].sum()) - 8 * 512) < 0.1, "another stream of PyTorch's")
    kept = []  # statistics that nobody looks at until many calls later
    for at in range(6):
        kept.append(buoy.torch.attention(q * at, q, q, "causal", ["column_sums"]).stats)
    again = [buoy.torch.attention(q * at, q, q, "causal", ["column_sums"]).stats["column_sums"] for at in range(6)]
    expect(all(np.array_equal(one["column_sums"], two) for one, two in zip(kept, again)), "statistics that are looked at later")
    expect(torch.cuda.current_device() == before, "the thread's card")
    graph, caught = torch.cuda.CUDAGraph(), ""
    try:
        with torch.cuda.graph(graph):
            buoy.torch.attention(q, q, q)
    except buoy.UsageError as error:
        caught = str(error)
    expect("captured" in caught, "a graph that is being captured is refused")


# How much memory?


class Peak:
    """Most memory of the device, or of this process, in use beyond what was before."""

    def __init__(self, device):
        self.device = device

    def read(self):
        if self.device == "cpu":
            return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
        free, total = torch.cuda.mem_get_info()
        # Buoy's pool keeps what it once had, PyTorch's says what it had at most.
        return total - free - torch.cuda.memory_reserved() + torch.cuda.max_memory_allocated()

    def begin(self):
        if self.device == "cpu":
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        else:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        self.before = self.read()

    def mib(self):
        return (self.read() - self.before) / 2**20


def measure_memory(model, lengths, device):
    """With nothing but attention that could grow faster than N."""
    peak, grown = Peak(device), []
    for length in lengths:
        ids = torch.ones(1, length, dtype=torch.long, device=device)
        peak.begin()
        with buoy.torch.watch(model, ["column_sums"]) as watched:
            model(ids, use_cache=False)
        np.stack([call.stats["column_sums"] for call in watched.calls])
        grown.append(peak.mib())
        del watched
    say("memory of a recorded pass: " + ", ".join(f"N = {length} {mib:.0f} MiB" for length, mib in zip(lengths, grown)))
    expect(grown[-1] < 2.6 * max(grown[-2], 8), "memory grows with N")


# How fast?


def passes(model, ids, device):
    """What is timed, by name."""

    @contextlib.contextmanager
    def under(implementation):
        model.set_attn_implementation(implementation)
        try:
            yield
        finally:
            model.set_attn_implementation("sdpa")

    def alone(implementation):
        def run():
            with under(implementation):
                model(ids, use_cache=False)
        return run

    def recorded(stats, layers=None, on_call=None):
        def run():
            with buoy.torch.watch(model, stats, layers=layers, on_call=on_call) as watched:
                model(ids, use_cache=False)
            for call in watched.calls:
                len(call.stats)  # waits for it
        return run

    buoy.torch.register()
    return {"sdpa": alone("sdpa"), "Buoy, nothing recorded": alone("buoy"), "Buoy, column sums": recorded(["column_sums"]),
            "Buoy, column sums, looked at in every layer": recorded(["column_sums"], on_call=lambda call: len(call.stats)),
            "Buoy, column sums, QK means, norms": recorded(["column_sums", "qk_means", "norms"]),
            "Buoy, column sums and all rows": recorded(["column_sums", "rows"]), "eager": alone("eager")}


def kernels(heads, key_heads, length, size, device, dtype):
    """Attention by itself."""
    q, k, v = (torch.randn(1, length, h, size, device=device, dtype=dtype).transpose(1, 2) for h in (heads, key_heads, key_heads))

    def eager():
        scores = q @ k.repeat_interleave(heads // key_heads, 1).transpose(2, 3) / size**0.5
        scores = scores.masked_fill(~torch.ones(length, length, dtype=torch.bool, device=device).tril(), float("-inf"))
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(dtype) @ v.repeat_interleave(heads // key_heads, 1)

    return {"sdpa": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
            "Buoy, nothing recorded": lambda: buoy.torch.attention(q, k, v, "causal"),
            "Buoy, column sums": lambda: len(buoy.torch.attention(q, k, v, "causal", ["column_sums"]).stats), "eager": eager}


def time_in_turn(works, device, rounds):
    """Seconds of each, medians of the rounds, and the most memory that each needed."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    took, most, peak = {name: [] for name in works}, {}, Peak(device)
    for name, work in works.items():
        work()  # warms up, in more than one sense
        peak.begin()
        work()
        wait()
        most[name] = peak.mib()
    for _ in range(rounds):
        for name, work in works.items():
            wait()
            begun = time.perf_counter()
            work()
            wait()
            took[name].append(time.perf_counter() - begun)
    return {name: statistics.median(times) for name, times in took.items()}, most


def show(title, works, device, rounds):
    times, most = time_in_turn(works, device, rounds)
    say(f"\n| {title} | ms | ÷ sdpa | peak MiB above the weights |\n|---|---|---|---|")
    for name, seconds in times.items():
        say(f"| {name} | {seconds * 1e3:.2f} | {seconds / times['sdpa']:.3f} | {most[name]:.0f} |")
    return times["Buoy, column sums"] / times["sdpa"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=SHAPES)
    parser.add_argument("--tokens", type=int, help="N of what is timed")
    parser.add_argument("--layers", type=int, help="of the model that is timed")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=("right", "memory", "speed"))
    options = parser.parse_args()
    shape, device = SHAPES[options.device], options.device
    torch.set_grad_enabled(False)
    transformers.logging.set_verbosity_error()
    where = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    say(f"PyTorch {torch.__version__}, transformers {transformers.__version__}, Buoy {buoy.__version__}, {where}")
    if options.only in (None, "right"):
        for kind in ("llama", "qwen3", "bert"):
            for dtype in (torch.float32, torch.bfloat16):
                for length in shape["lengths"]:
                    for padded in (False, True):
                        compare(kind, shape["compared"], length, dtype, device, padded)
        if device == "cuda":
            compare_streams(device)
    sizes = {**shape["timed"], **({"num_hidden_layers": options.layers} if options.layers else {})}
    config = transformers.LlamaConfig(**sizes, max_position_embeddings=2 * max(shape["memory"]), attn_implementation="sdpa")
    dtype = torch.bfloat16 if device == "cuda" else torch.float32  # PyTorch is slow with bfloat16 on most cpus
    torch.manual_seed(0)
    with torch.device(device):
        model = transformers.LlamaModel(config).eval().to(dtype)
    if options.only in (None, "memory"):
        measure_memory(model, shape["memory"], device)
    if options.only in (None, "speed"):
        length = options.tokens or shape["tokens"]
        ids = torch.randint(0, sizes["vocab_size"], (1, length), device=device)
        title = f"N = {length}, {str(dtype)[6:]}"
        ratio = show(f"Llama, {sizes['num_hidden_layers']} layers, {title}", passes(model, ids, device), device, options.rounds)
        heads, key_heads = sizes["num_attention_heads"], sizes["num_key_value_heads"]
        show(f"attention alone, {heads} heads on {key_heads}, {title}", kernels(heads, key_heads, length, sizes["hidden_size"] // heads, device, dtype), device,
             options.rounds)
        say(f"\nrecorded over sdpa, the whole model: {ratio:.3f}, goal {GOAL}: {'met' if ratio <= GOAL else 'missed'}")
    for line in FAILURES:
        say(f"WRONG {line}")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
