#!/usr/bin/env python3
"""Makes a golden file for `buoy verify` from any checkpoint, with your own PyTorch and transformers.

    python3 tools/dump_golden.py --model /models/Llama-3.1-8B -o llama.npz
    buoy verify --model /models/Llama-3.1-8B --golden llama.npz

Runs the family's public code in float32 on the CPU (or --device cuda): logits, attentions, hidden states where the code
gives them, and generations at temperature 0. LLaDA and Dream bring their own modelling code, hence trust_remote_code:
read it before you run it. Needs torch, transformers and numpy.
"""
import argparse
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F


class AttentionRecorder:
    """Stands in for scaled_dot_product_attention while entered, and keeps the softmax of every call."""

    def __enter__(self):
        self.attentions, self.original = [], F.scaled_dot_product_attention
        F.scaled_dot_product_attention = self.attend
        return self

    def __exit__(self, *_):
        F.scaled_dot_product_attention = self.original

    def attend(self, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if k.shape[-3] != q.shape[-3]:
            repeat = q.shape[-3] // k.shape[-3]
            k, v = k.repeat_interleave(repeat, -3), v.repeat_interleave(repeat, -3)
        scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], device=q.device).triu(1).bool(), -torch.inf)
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
        weights = torch.softmax(scores, -1)
        self.attentions.append(weights[0])
        return weights @ v


def llada_generate(forward, prompt, mask, steps, length, block, cfg, rank=None):
    """LLaDA's sampler at temperature 0, low_confidence, after the public generate.py: tokens, and the step that wrote each.

    `rank`: the type in which confidences are ranked, the leftmost of equals first. None: as the public code does, in that of the
    logits, with topk's own choice among equals."""
    x = torch.cat([prompt, torch.full((length,), mask)])
    order = torch.full((length,), -1)
    start, per_block = len(prompt), steps // (length // block)
    for b in range(length // block):
        end = start + (b + 1) * block
        masks = int((x[end - block:end] == mask).sum())
        for i in range(per_block):
            logits = forward(x)
            if cfg > 0:
                blank = x.clone()
                blank[:start] = mask
                unconditional = forward(blank)
                logits = unconditional + (cfg + 1) * (logits - unconditional)
            best = logits.argmax(-1)
            probabilities = torch.softmax(logits if rank is None else logits.double(), -1)
            confidence = probabilities.gather(-1, best[:, None])[:, 0]
            confidence = confidence if rank is None else confidence.to(rank)
            confidence[(x != mask) | (torch.arange(len(x)) >= end)] = -torch.inf
            quota = masks // per_block + (i < masks % per_block)
            if rank is None:
                take = confidence.topk(quota).indices
            else:
                take = confidence.argsort(descending=True, stable=True)[:quota]
            x[take] = best[take]
            order[take - start] = b * per_block + i
    return x, order


def golden_of_llada(forward, ids, prompt, mask):
    arrays = {}
    with AttentionRecorder() as recorder:
        arrays["logits"] = forward(ids)
    arrays["attentions"] = torch.stack(recorder.attentions)
    for steps, length, block, cfg in ((8, 16, 16, 0.0), (8, 16, 8, 0.0), (16, 16, 4, 0.0), (8, 16, 8, 1.5)):
        name, settings = f"s{steps}_g{length}_b{block}_cfg{cfg}", (forward, prompt, mask, steps, length, block, cfg)
        arrays[f"gen_{name}"] = llada_generate(*settings)[0]
        for kind, rank in (("f64", torch.float64), ("f32", torch.float32), ("bf16", torch.bfloat16)):
            arrays[f"order_{kind}_{name}"] = llada_generate(*settings, rank)[1]
    return arrays


def golden_of_dream(model, ids, prompt):
    arrays = {}
    with AttentionRecorder() as recorder:
        logits = model(ids[None]).logits[0]
    arrays["logits"], arrays["attentions"] = logits, torch.stack(recorder.attentions)
    for algorithm, steps in (("entropy", 8), ("maskgit_plus", 16), ("topk_margin", 8)):
        made = model.diffusion_generate(prompt[None], max_new_tokens=16, steps=steps, temperature=0.0, alg=algorithm,
                                        eps=1e-3, output_history=True, return_dict_in_generate=True)
        arrays[f"gen_{algorithm}_s{steps}_g16"] = made.sequences[0]
        history = torch.stack([h[0] for h in made.history])
        arrays[f"hist_{algorithm}_s{steps}_g16"] = history
        open_at = (history[:, len(prompt):] == model.config.mask_token_id).sum(0)  # masks are filled once
        arrays[f"order_{algorithm}_s{steps}_g16"] = torch.where(open_at < len(history), open_at, -1)
    return arrays


def golden_of_causal(model, ids, new_tokens):
    out = model(ids[None], output_attentions=True, output_hidden_states=True, use_cache=False)
    greedy = ids
    for _ in range(new_tokens):
        greedy = torch.cat([greedy, model(greedy[None], use_cache=False).logits[0, -1].argmax()[None]])
    return {"logits": out.logits[0], "attentions": torch.stack(out.attentions)[:, 0],
            "hidden": torch.stack(out.hidden_states)[:, 0], "greedy": greedy}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True, help="checkpoint directory")
    p.add_argument("-o", "--output", required=True, help="the npz file to write")
    p.add_argument("--tokens", type=int, default=48, help="length of the random input (default 48)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--device", default="cpu")
    a = p.parse_args()

    from transformers import AutoModel, AutoModelForCausalLM
    config = json.loads((pathlib.Path(a.model) / "config.json").read_text())
    kind = config["model_type"]
    loader = AutoModel if kind in ("llada", "Dream") else AutoModelForCausalLM
    settings = dict(torch_dtype=torch.float32)
    if kind in ("llada", "Dream"):
        settings["trust_remote_code"] = True
    else:
        settings["attn_implementation"] = "eager"
    model = loader.from_pretrained(a.model, **settings).to(a.device).eval()

    draw = torch.Generator().manual_seed(a.seed)
    ids = torch.randint(0, min(config["vocab_size"], config.get("mask_token_id") or config["vocab_size"]), (a.tokens,),
                        generator=draw)
    arrays = {}
    with torch.inference_mode():
        if kind in ("llada", "Dream"):
            prompt = ids[: a.tokens // 2].clone()
            ids[a.tokens // 2:] = config["mask_token_id"]
            arrays["prompt_ids"] = prompt
            if kind == "llada":
                forward = lambda x: model(x[None].to(a.device)).logits[0].cpu()
                arrays |= golden_of_llada(forward, ids, prompt, config["mask_token_id"])
            else:
                arrays |= golden_of_dream(model, ids.to(a.device), prompt.to(a.device))
        else:
            arrays |= golden_of_causal(model, ids.to(a.device), 12)
    arrays["input_ids"] = ids
    np.savez(a.output, **{name: value.cpu().numpy() for name, value in arrays.items()})
    for name, value in sorted(arrays.items()):
        print(f"{name:28} {list(value.shape)}")


if __name__ == "__main__":
    main()
