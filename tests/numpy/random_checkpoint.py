"""Writes a random checkpoint that reads mini-mdm's tokens: random_checkpoint.py experts|blocks|dream|qwen2 MINI_MDM FOLDER

experts: LLaDA-MoE, the second of four layers dense; blocks: SDAR, in blocks of four. Keys of both are long enough for attention to
have anchors. dream and qwen2: what their names say, with biases.
"""

import json
import pathlib
import shutil
import sys

import numpy as np

WIDTH, HEADS, EXPERTS, ACTIVE, EXPERT_WIDTH, DENSE_WIDTH, VOCABULARY = 48, 4, 12, 4, 24, 64, 2048
WITH_EXPERTS = {"experts": [1, 0, 1, 1], "blocks": [0, 0, 0], "dream": [0, 0], "qwen2": [0, 0]}

COMMON = {
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 50000,
    "tie_word_embeddings": False,
    "vocab_size": VOCABULARY,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 3,
    "mask_token_id": 2,
    "torch_dtype": "float32",
}
OWN = {
    "experts": {
        "architectures": ["LLaDAMoEModelLM"],
        "model_type": "llada",
        "num_experts": EXPERTS,
        "num_experts_per_tok": ACTIVE,
        "expert_intermediate_size": EXPERT_WIDTH,
        "dense_intermediate_size": DENSE_WIDTH,
        "moe_layer_freq": WITH_EXPERTS["experts"],
        "moe_router_enable_expert_bias": False,
        "moe_router_score_function": "softmax",
        "qk_layernorm": True,
    },
    "blocks": {
        "architectures": ["SDARForCausalLM"],
        "model_type": "sdar",
        "head_dim": WIDTH // HEADS,
        "intermediate_size": DENSE_WIDTH,
        "block_size": 4,
    },
    "dream": {"architectures": ["DreamModel"], "model_type": "Dream", "intermediate_size": DENSE_WIDTH},
    "qwen2": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "intermediate_size": DENSE_WIDTH},
}


def shapes(kind):
    def mlp(place, width):
        yield place + "gate_proj.weight", (width, WIDTH)
        yield place + "up_proj.weight", (width, WIDTH)
        yield place + "down_proj.weight", (WIDTH, width)

    yield "model.embed_tokens.weight", (VOCABULARY, WIDTH)
    with_biases = kind in ("dream", "qwen2")  # and without norms of queries and keys
    for i, experts in enumerate(WITH_EXPERTS[kind]):
        layer = f"model.layers.{i}."
        for name in ["input_layernorm", "post_attention_layernorm"]:
            yield layer + name + ".weight", (WIDTH,)
        for name in [] if with_biases else ["q_norm", "k_norm"]:
            yield layer + f"self_attn.{name}.weight", (WIDTH // HEADS,)
        for name in ["q_proj", "k_proj", "v_proj", "o_proj"]:
            yield layer + f"self_attn.{name}.weight", (WIDTH, WIDTH)
        for name in ["q_proj", "k_proj", "v_proj"] if with_biases else []:
            yield layer + f"self_attn.{name}.bias", (WIDTH,)
        if not experts:
            yield from mlp(layer + "mlp.", DENSE_WIDTH)
            continue
        yield layer + "mlp.gate.weight", (EXPERTS, WIDTH)
        for e in range(EXPERTS):
            yield from mlp(layer + f"mlp.experts.{e}.", EXPERT_WIDTH)
    yield "model.norm.weight", (WIDTH,)
    yield "lm_head.weight", (VOCABULARY, WIDTH)


def main(kind, tokenizer, folder):
    folder.mkdir(parents=True)
    for name in ["tokenizer.json", "tokenizer_config.json", "buoy.json"]:
        shutil.copy(tokenizer / name, folder / name)
    config = {**COMMON, **OWN[kind], "num_hidden_layers": len(WITH_EXPERTS[kind])}
    (folder / "config.json").write_text(json.dumps(config))
    random = np.random.default_rng(1)
    header, blob = {}, b""
    for name, shape in shapes(kind):
        if len(shape) == 1:
            values = np.full(shape, 1.5 if "k_norm" in name else 1)
        else:
            values = random.standard_normal(shape) / np.sqrt(shape[1])
        data = values.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + blob)


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
