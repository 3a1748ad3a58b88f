#!/usr/bin/env python3
"""The loop of eval_bench in PyTorch: the same prompts, the same number of tokens, and are the answers the same?

Llama models run through transformers' generate() (greedy, KV cache, left padding); LLaDA models through the plain
bidirectional forward pass below and the published sampler (low confidence, one block). Prints one JSON line.

    eval_bench --model models/mini-arm --data data/micro_test.jsonl -o work.json
    python3 bench/torch_eval.py work.json --batch-sizes 1 16
"""
import argparse
import json
import pathlib
import time

import torch
import torch.nn.functional as F

from torch_llada import load


class LlamaLoop:
    def __init__(self, work):
        from transformers import GenerationConfig, LlamaForCausalLM
        self.model = LlamaForCausalLM.from_pretrained(work["model"], dtype=torch.float32, attn_implementation="sdpa").eval()
        config = self.model.config
        self.eos, self.pad = config.eos_token_id, config.pad_token_id
        self.stops = not work["ignore_eos"]
        self.settings = GenerationConfig(max_new_tokens=work["gen_length"], do_sample=False, pad_token_id=self.pad,
                                         bos_token_id=config.bos_token_id, eos_token_id=self.eos if self.stops else None)
        self.model.generation_config = self.settings  # what is None there would be taken from the model's own

    @torch.inference_mode()
    def answer(self, prompts):
        width = max(map(len, prompts))
        ids = torch.tensor([[self.pad] * (width - len(p)) + p for p in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        made = self.model.generate(input_ids=ids, attention_mask=mask, generation_config=self.settings)
        answers = made[:, width:].tolist()
        if self.stops:
            answers = [a[:a.index(self.eos) + 1] if self.eos in a else a for a in answers]
        return answers


class LladaLoop:
    """Sequences of a batch are padded on the right and the padding is hidden from attention."""

    def __init__(self, work, logits):
        self.config, self.w = load(work["model"])
        c = self.config
        self.H, self.D, self.mask_id, self.pad = c["n_heads"], c["d_model"] // c["n_heads"], c["mask_token_id"], c["pad_token_id"]
        self.gen_length, self.steps, self.logits = work["gen_length"], work["steps"], logits
        frequencies = 1.0 / c["rope_theta"] ** (torch.arange(0, self.D, 2).float() / self.D)
        angles = torch.outer(torch.arange(c["max_sequence_length"]).float(), frequencies)
        angles = torch.cat((angles, angles), dim=-1)
        self.cos, self.sin = angles.cos(), angles.sin()

    def norm(self, x, weight):
        return F.rms_norm(x, (x.shape[-1],), weight, self.config["rms_norm_eps"])

    def rotate(self, x):
        a, b = x.chunk(2, dim=-1)
        n = x.shape[-2]
        return x * self.cos[:n] + torch.cat((-b, a), dim=-1) * self.sin[:n]

    def forward(self, ids, visible, rows):
        w = self.w
        B, N = ids.shape
        x = w["model.transformer.wte.weight"][ids]
        for layer in range(self.config["n_layers"]):
            block = f"model.transformer.blocks.{layer}."
            h = self.norm(x, w[block + "attn_norm.weight"])
            q, k, v = (F.linear(h, w[block + n + "_proj.weight"]).view(B, N, self.H, self.D).transpose(1, 2) for n in "qkv")
            o = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, attn_mask=visible)
            x = x + F.linear(o.transpose(1, 2).reshape(x.shape), w[block + "attn_out.weight"])
            h = self.norm(x, w[block + "ff_norm.weight"])
            h = F.silu(F.linear(h, w[block + "ff_proj.weight"])) * F.linear(h, w[block + "up_proj.weight"])
            x = x + F.linear(h, w[block + "ff_out.weight"])
        if rows is not None:
            x = x.gather(1, rows[..., None].expand(-1, -1, x.shape[-1]))
        return F.linear(self.norm(x, w["model.transformer.ln_f.weight"]), w["model.transformer.ff_out.weight"])

    @torch.inference_mode()
    def answer(self, prompts):
        lengths = torch.tensor([len(p) + self.gen_length for p in prompts])
        width = int(lengths.max())
        x = torch.tensor([p + [self.mask_id] * self.gen_length + [self.pad] * (width - len(p) - self.gen_length) for p in prompts])
        visible = None
        if len(set(lengths.tolist())) > 1:
            visible = (torch.arange(width)[None] < lengths[:, None])[:, None, None]
        answer_rows = lengths[:, None] - self.gen_length + torch.arange(self.gen_length)[None]
        rows = answer_rows if self.logits == "answer" else None
        quota = [self.gen_length // self.steps + (i < self.gen_length % self.steps) for i in range(self.steps)]
        for step in range(self.steps):
            logits = self.forward(x, visible, rows)
            now = x if rows is None else x.gather(1, rows)
            best = logits.argmax(dim=-1)
            confidence = F.softmax(logits, dim=-1).gather(-1, best[..., None])[..., 0]
            confidence = torch.where(now == self.mask_id, confidence, -torch.inf)
            for b in range(len(prompts)):
                chosen = torch.topk(confidence[b], k=quota[step]).indices
                now[b, chosen] = best[b, chosen]
            if rows is not None:
                x.scatter_(1, rows, now)
        return x.gather(1, answer_rows).tolist()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("work", type=pathlib.Path, help="what eval_bench wrote")
    p.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 16])
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--logits", choices=["all", "answer"], default="all",
                   help="LLaDA: of all positions, as the published sampler, or of the answer's only")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    work = json.loads(a.work.read_text())
    llada = json.loads((pathlib.Path(work["model"]) / "config.json").read_text())["model_type"] == "llada"
    loop = LladaLoop(work, a.logits) if llada else LlamaLoop(work)
    prompts, rates, cpu_rates, differ = work["prompts"], [], [], []
    loop.answer(prompts[:1])  # warms up
    for size in a.batch_sizes:
        start, processor, answers = time.perf_counter(), time.process_time(), []
        for first in range(0, len(prompts), size):
            answers += loop.answer(prompts[first:first + size])
        rates.append(len(prompts) / (time.perf_counter() - start))
        cpu_rates.append(len(prompts) / (time.process_time() - processor))
        differ.append(sum(x != y for x, y in zip(answers, work["answers"])))
    print(json.dumps({"items": len(prompts), "batch_sizes": a.batch_sizes, "torch": torch.__version__, "threads": a.threads,
                      "items_per_s": rates, "items_per_cpu_s": cpu_rates, "answers_that_differ": differ}))


if __name__ == "__main__":
    main()
