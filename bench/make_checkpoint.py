#!/usr/bin/env python3
"""Writes a random LLaDA checkpoint of a given shape (safetensors in float32 or bf16), for benchmarks. Needs NumPy only."""
import argparse
import json
import pathlib

import numpy as np


def tensors(a):
    e, f, v = a.width, a.mlp, a.vocabulary
    yield "model.transformer.wte.weight", (v, e)
    for i in range(a.layers):
        block = f"model.transformer.blocks.{i}."
        yield block + "attn_norm.weight", (e,)
        yield block + "ff_norm.weight", (e,)
        for name in ("q_proj", "k_proj", "v_proj", "attn_out"):
            yield block + name + ".weight", (e, e)
        yield block + "ff_proj.weight", (f, e)
        yield block + "up_proj.weight", (f, e)
        yield block + "ff_out.weight", (e, f)
    yield "model.transformer.ln_f.weight", (e,)
    yield "model.transformer.ff_out.weight", (v, e)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("directory")
    p.add_argument("--layers", type=int, default=24)
    p.add_argument("--width", type=int, default=1024)
    p.add_argument("--heads", type=int, default=16)
    p.add_argument("--mlp", type=int, default=2816)
    p.add_argument("--vocabulary", type=int, default=32000)
    p.add_argument("--context", type=int, default=8192)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    a = p.parse_args()
    out = pathlib.Path(a.directory)
    out.mkdir(parents=True, exist_ok=True)
    config = dict(model_type="llada", architectures=["LLaDAModelLM"], d_model=a.width, n_layers=a.layers,
                  n_heads=a.heads, n_kv_heads=a.heads, mlp_hidden_size=a.mlp, vocab_size=a.vocabulary,
                  embedding_size=a.vocabulary, max_sequence_length=a.context, mask_token_id=a.vocabulary - 1,
                  eos_token_id=1, rms_norm_eps=1e-5, rope_theta=500000.0, weight_tying=False, torch_dtype=a.dtype,
                  rope=True, block_type="llama", layer_norm_type="rms", activation_type="silu")
    (out / "config.json").write_text(json.dumps(config, indent=1))
    header, offset, width = {}, 0, 4 if a.dtype == "float32" else 2
    for name, shape in tensors(a):
        size = width * int(np.prod(shape))
        header[name] = {"dtype": "F32" if width == 4 else "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    blob = json.dumps(header).encode()
    blob += b" " * (-len(blob) % 8)
    random = np.random.default_rng(a.seed)
    with open(out / "model.safetensors", "wb") as file:
        file.write(len(blob).to_bytes(8, "little") + blob)
        for name, shape in tensors(a):
            values = random.standard_normal(shape, dtype=np.float32)
            scale = np.float32(1.0 if len(shape) == 1 else 0.02)
            values = np.ones(shape, np.float32) if len(shape) == 1 else values * scale
            file.write((values if width == 4 else (values.view(np.uint32) >> 16).astype(np.uint16)).tobytes())
    print(f"{out}: {offset / 2**30:.2f} GiB, {offset // width} parameters")


if __name__ == "__main__":
    main()
