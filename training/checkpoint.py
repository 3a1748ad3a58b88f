"""Checkpoints as the families' public code spells them: LLaDA for mdm, Llama for arm; ssm and hybrid have Buoy's own
layout, model_type buoy_ssd_mdm (docs say it whole)."""
import json
import os

import torch

from kernels import CONV_WIDTH
from model import BOS, EOS, EPS, KINDS, MASK, PAD, Model, Shape, layer_types

LLAMA = dict(block="model.layers.{}.", embedding="model.embed_tokens", norm="model.norm", head="lm_head",
             norm1="input_layernorm", norm2="post_attention_layernorm",
             attention=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
             mlp=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"))
LLADA = dict(block="model.transformer.blocks.{}.", embedding="model.transformer.wte", norm="model.transformer.ln_f",
             head="model.transformer.ff_out", norm1="attn_norm", norm2="ff_norm",
             attention=("q_proj", "k_proj", "v_proj", "attn_out"), mlp=("ff_proj", "up_proj", "ff_out"))


def parts(model):
    """(name, tensor view of the model, kept in float32) for every tensor of the checkpoint; writing into a view writes
    into the model."""
    names = LLADA if model.kind == "mdm" else LLAMA
    for part in ("embedding", "norm", "head"):
        yield names[part] + ".weight", getattr(model, part), False
    for i, b in enumerate(model.blocks):
        prefix = names["block"].format(i)
        yield prefix + names["norm1"] + ".weight", b.norm1, False
        yield prefix + names["norm2"] + ".weight", b.norm2, False
        if b.mixer is None:
            for name, p in zip(names["attention"], (*b.qkv.chunk(3), b.out)):
                yield prefix + name + ".weight", p, False
        else:
            m = b.mixer
            for name, p in (("in_proj.weight", m.inp), ("conv1d.weight", m.conv_w[:, None, :]), ("conv1d.bias", m.conv_b),
                            ("fc_D.weight", m.fc_d), ("norm.weight", m.norm), ("out_proj.weight", m.out)):
                yield prefix + "mixer." + name, p, False
            for name, p in (("dt_bias", m.dt_bias), ("A_log", m.a_log), ("D", m.d)):
                yield prefix + "mixer." + name, p, True
        for name, p in zip(names["mlp"], (*b.gate_up.chunk(2), b.down)):
            yield prefix + name + ".weight", p, False


TEMPLATE = ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}"
            "{{ 'Context:\\n' + message['content'] + '\\n\\n' }}{% elif message['role'] == 'user' %}"
            "{{ 'Question: ' + message['content'] + '\\nShort Answer:' }}{% else %}"
            "{{ ' ' + message['content'] + eos_token }}{% endif %}{% endfor %}")


def config_of(model):
    s = model.shape
    shared = dict(vocab_size=s.vocabulary, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD, rms_norm_eps=EPS,
                  rope_theta=float(s.theta), torch_dtype="bfloat16")
    if model.kind == "arm":
        return dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=s.width,
                    intermediate_size=s.mlp, num_hidden_layers=s.layers, num_attention_heads=s.heads,
                    num_key_value_heads=s.heads, hidden_act="silu", max_position_embeddings=s.context,
                    rope_scaling=None, attention_bias=False, mlp_bias=False, tie_word_embeddings=False) | shared
    if model.kind == "mdm":
        return dict(architectures=["LLaDAModelLM"], model_type="llada", activation_type="silu", alibi=False,
                    attention_dropout=0.0, attention_layer_norm=False, attention_layer_norm_with_affine=True,
                    bias_for_layer_norm=False, block_group_size=1, block_type="llama",
                    d_model=s.width, embedding_dropout=0.0, embedding_size=s.vocabulary, flash_attention=False,
                    include_bias=False, include_qkv_bias=False, init_cutoff_factor=None, init_device="cpu",
                    init_fn="mitchell", init_std=0.02, input_emb_norm=False,
                    layer_norm_type="rms", layer_norm_with_affine=True, mask_token_id=MASK,
                    max_sequence_length=s.context, mlp_hidden_size=s.mlp, mlp_ratio=4, multi_query_attention=None,
                    n_heads=s.heads, n_kv_heads=s.heads, n_layers=s.layers, residual_dropout=0.0, rope=True,
                    rope_full_precision=True, scale_logits=False, weight_tying=False, use_cache=False) | shared
    return dict(architectures=["BuoySsdMdmForMaskedLM"], model_type="buoy_ssd_mdm", hidden_size=s.width,
                num_hidden_layers=s.layers, num_attention_heads=s.heads, head_dim=s.head, state_size=s.head,
                conv_kernel=CONV_WIDTH, layer_types=layer_types(model.kind, s.layers), intermediate_size=s.mlp,
                ssd_intermediate_size=s.ssd_mlp, max_position_embeddings=s.context, mask_token_id=MASK,
                tie_word_embeddings=False) | shared


def save_checkpoint(model, directory):
    """model.safetensors, config.json and tokenizer_config.json; tokenizer.json is copied beside them by the recipe."""
    from safetensors.torch import save_file
    os.makedirs(directory, exist_ok=True)
    weights = {n: p.detach().to(torch.float32 if exact else torch.bfloat16).cpu().contiguous()
               for n, p, exact in parts(model)}
    save_file(weights, directory + "/model.safetensors", metadata={"format": "pt"})
    tokenizer = dict(add_bos_token=True, bos_token="<|bos|>", eos_token="<|eos|>", pad_token="<|pad|>",
                     mask_token=None if model.causal else "<|mdm_mask|>", model_max_length=model.shape.context,
                     tokenizer_class="PreTrainedTokenizerFast", clean_up_tokenization_spaces=False,
                     chat_template=TEMPLATE)
    for name, value in (("config.json", config_of(model)), ("tokenizer_config.json", tokenizer)):
        with open(f"{directory}/{name}", "w") as f:
            json.dump(value, f, indent=2)
            f.write("\n")


def load_checkpoint(directory):
    """The exported model again, in float32."""
    from safetensors.torch import load_file
    with open(directory + "/config.json") as f:
        c = json.load(f)
    own = c["model_type"] == "buoy_ssd_mdm"
    kind = {"llama": "arm", "llada": "mdm"}.get(c["model_type"]) or next(
        k for k in KINDS if layer_types(k, c["num_hidden_layers"]) == c["layer_types"] and k not in ("arm", "mdm"))
    pick = lambda *names: next(c[n] for n in names if n in c)
    mlp = pick("intermediate_size", "mlp_hidden_size")
    shape = Shape(c["vocab_size"], pick("hidden_size", "d_model"), pick("num_hidden_layers", "n_layers"),
                  pick("num_attention_heads", "n_heads"), mlp, c["ssd_intermediate_size"] if own else mlp,
                  pick("max_position_embeddings", "max_sequence_length"), c["rope_theta"])
    model = Model(kind, shape)
    weights = load_file(directory + "/model.safetensors")
    with torch.no_grad():
        for name, p, _ in parts(model):
            if name not in weights or weights[name].shape != p.shape:
                raise SystemExit(f"{directory}: {name} is not there or not {list(p.shape)}")
            p.copy_(weights.pop(name))
    if weights:
        raise SystemExit(f"{directory}: {next(iter(weights))} is not part of a {kind}")
    return model
