#!/usr/bin/env python3
"""Writes a LLaDA checkpoint (one safetensors file) as GGUF in float32, so that llama.cpp can be timed on the same weights. Needs NumPy only.

    python3 bench/make_gguf.py models/mini-mdm mini-mdm.gguf
    llama-bench -m mini-mdm.gguf -p 512 -n 0 -t 1

For timing: there is no vocabulary in it, and the rows of queries and keys stand as in the checkpoint, not in llama.cpp's order of rotation.
"""
import json
import pathlib
import struct
import sys

import numpy as np

NAMES = {"attn_norm": "attn_norm", "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "attn_out": "attn_output",
         "ff_norm": "ffn_norm", "ff_proj": "ffn_gate", "up_proj": "ffn_up", "ff_out": "ffn_down"}
ALIGN = 32


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(key, value):
    """A key with its value: GGUF's types 4 (uint32), 6 (float32), 7 (bool), 8 (string)."""
    if isinstance(value, bool):
        return string(key) + struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return string(key) + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return string(key) + struct.pack("<If", 6, value)
    return string(key) + struct.pack("<I", 8) + string(value)


def gguf_name(name):
    whole = {"wte": "token_embd", "ln_f": "output_norm", "ff_out": "output"}
    parts = name.split(".")
    return f"{whole[parts[2]]}.weight" if parts[2] != "blocks" else f"blk.{parts[3]}.{NAMES[parts[4]]}.weight"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make_gguf.py CHECKPOINT_DIR FILE.gguf")
    directory, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    c = json.loads((directory / "config.json").read_text())
    raw = np.memmap(directory / "model.safetensors", np.uint8, "r")
    length = int.from_bytes(bytes(raw[:8]), "little")
    header = json.loads(bytes(raw[8:8 + length]))
    header.pop("__metadata__", None)
    keys = {"general.architecture": "llada", "llada.context_length": c["max_sequence_length"], "llada.embedding_length": c["d_model"],
            "llada.block_count": c["n_layers"], "llada.feed_forward_length": c["mlp_hidden_size"], "llada.attention.head_count": c["n_heads"],
            "llada.attention.head_count_kv": c["n_kv_heads"], "llada.attention.layer_norm_rms_epsilon": float(c["rms_norm_eps"]),
            "llada.attention.causal": False, "llada.rope.freq_base": float(c["rope_theta"]),
            "llada.rope.dimension_count": c["d_model"] // c["n_heads"], "llada.vocab_size": c["vocab_size"], "tokenizer.ggml.model": "none"}
    infos, offset = b"", 0
    for name, about in header.items():
        shape = about["shape"]
        infos += string(gguf_name(name)) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        infos += struct.pack("<IQ", 0, offset)  # 0: float32
        offset += -(-4 * int(np.prod(shape)) // ALIGN) * ALIGN
    head = b"GGUF" + struct.pack("<IQQ", 3, len(header), len(keys)) + b"".join(entry(k, v) for k, v in keys.items()) + infos
    with open(out, "wb") as file:
        file.write(head + b"\0" * (-len(head) % ALIGN))
        for about in header.values():
            begin, end = (8 + length + o for o in about["data_offsets"])
            values = raw[begin:end]
            if about["dtype"] == "BF16":
                values = (values.view("<u2").astype("<u4") << 16).view("<f4")
            elif about["dtype"] != "F32":
                sys.exit(f"{directory}: a tensor is {about['dtype']}, expected F32 or BF16")
            data = values.tobytes()
            file.write(data + b"\0" * (-len(data) % ALIGN))
    print(f"{out}: {len(header)} tensors")


if __name__ == "__main__":
    main()
