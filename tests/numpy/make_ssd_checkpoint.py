#!/usr/bin/env python3
"""Writes the tiny random checkpoints of tests/goldens/ssd and tests/goldens/ssd-hybrid. Needs NumPy only.

    python3 tests/numpy/make_ssd_checkpoint.py tests/goldens/ssd --layers ssd,ssd,ssd
    python3 tests/numpy/make_ssd_checkpoint.py tests/goldens/ssd-hybrid --layers ssd,attention,ssd --state 6 --kernel 5 --seed 1
"""
import argparse
import json
import pathlib

import numpy as np


def shapes(c):
    W, V, H, P, n, K = (c[k] for k in ("hidden_size", "vocab_size", "num_attention_heads", "head_dim", "state_size",
                                       "conv_kernel"))
    columns = H * (P + 2 * n)
    yield "model.embed_tokens.weight", (V, W)
    for i, kind in enumerate(c["layer_types"]):
        at = f"model.layers.{i}."
        yield at + "input_layernorm.weight", (W,)
        if kind == "ssd":
            F = c["ssd_intermediate_size"]
            yield at + "mixer.in_proj.weight", (columns + 2 * H, W)
            yield at + "mixer.conv1d.weight", (columns, 1, K)
            yield at + "mixer.conv1d.bias", (columns,)
            yield at + "mixer.dt_bias", (2 * H,)
            yield at + "mixer.A_log", (2 * H,)
            yield at + "mixer.fc_D.weight", (H, W)
            yield at + "mixer.D", (H,)
            yield at + "mixer.norm.weight", (H * P,)
            yield at + "mixer.out_proj.weight", (W, H * P)
        else:
            F = c["intermediate_size"]
            for name in "qkv":
                yield at + f"self_attn.{name}_proj.weight", (H * P, W)
            yield at + "self_attn.o_proj.weight", (W, H * P)
        yield at + "post_attention_layernorm.weight", (W,)
        yield at + "mlp.gate_proj.weight", (F, W)
        yield at + "mlp.up_proj.weight", (F, W)
        yield at + "mlp.down_proj.weight", (W, F)
    yield "model.norm.weight", (W,)
    yield "lm_head.weight", (V, W)


def values_of(name, shape, draw):
    if name.endswith("dt_bias"):  # steps of 0.02 to 0.6
        step = np.exp(draw.uniform(np.log(0.02), np.log(0.6), shape))
        return np.log(np.expm1(step))
    if name.endswith("A_log"):  # decays of 0.99 to 0.1 a step
        return np.log(draw.uniform(0.3, 4, shape))
    if name.endswith("mixer.D") or name.endswith("norm.weight"):
        return 1 + 0.2 * draw.standard_normal(shape)
    if name.endswith("conv1d.bias"):
        return 0.1 * draw.standard_normal(shape)
    if name.endswith("conv1d.weight"):
        return 0.4 * draw.standard_normal(shape)
    scale = 1.0 if "embed" in name else 1.3 / np.sqrt(shape[1])
    return scale * draw.standard_normal(shape)


def encode(name, values):
    """bf16 by rounding to nearest; the three vectors of the mixer stay float32."""
    bits = values.astype(np.float32).view(np.uint32)
    if name.endswith(("mixer.dt_bias", "mixer.A_log", "mixer.D")):
        return "F32", bits.astype("<u4").tobytes()
    return "BF16", ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def write_checkpoint(directory, config, draw):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    header, parts, offset = {}, [], 0
    for name, shape in shapes(config):
        dtype, raw = encode(name, values_of(name, shape, draw))
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(raw)]}
        parts.append(raw)
        offset += len(raw)
    blob = json.dumps(header).encode()
    blob += b" " * (-len(blob) % 8)
    (directory / "model.safetensors").write_bytes(len(blob).to_bytes(8, "little") + blob + b"".join(parts))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("directory")
    p.add_argument("--layers", default="ssd,ssd,ssd")
    p.add_argument("--state", type=int, default=8)
    p.add_argument("--kernel", type=int, default=7)
    p.add_argument("--vocabulary", type=int, default=96)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    layers = a.layers.split(",")
    config = dict(architectures=["BuoySsdMdmForMaskedLM"], model_type="buoy_ssd_mdm", hidden_size=32,
                  num_hidden_layers=len(layers), num_attention_heads=4, head_dim=8, state_size=a.state,
                  conv_kernel=a.kernel, layer_types=layers, intermediate_size=40, ssd_intermediate_size=36,
                  vocab_size=a.vocabulary, max_position_embeddings=256 if a.vocabulary < 1000 else 2048, rms_norm_eps=1e-5, rope_theta=500000.0, mask_token_id=2,
                  bos_token_id=0, eos_token_id=1, pad_token_id=3, tie_word_embeddings=False, torch_dtype="bfloat16")
    write_checkpoint(a.directory, config, np.random.default_rng(a.seed))


if __name__ == "__main__":
    main()
