"""The pair's network: one code for both, a causal flag apart. Sequences lie one after another, without padding."""
import inspect
import json
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, LAYERS, HEADS, MLP, CONTEXT = 2048, 192, 12, 6, 512, 2048
HEAD = WIDTH // HEADS
BOS, EOS, MASK, PAD = 0, 1, 2, 3
EPS = 1e-5

try:
    from torch.nn.attention.varlen import varlen_attn
    HAS_WINDOW = "window_size" in inspect.signature(varlen_attn).parameters
except ImportError:
    varlen_attn = None


def attend(q, k, v, starts, longest, causal):
    """q, k, v [T, H, D]; starts [S+1] int32: attention within each sequence only."""
    if not q.is_cuda:
        return attend_dense(q, k, v, starts, causal)
    if HAS_WINDOW:
        return varlen_attn(q, k, v, starts, starts, longest, longest, window_size=(-1, 0) if causal else (-1, -1))
    return varlen_attn(q, k, v, starts, starts, longest, longest, is_causal=causal)


def attend_dense(q, k, v, starts, causal):
    at = torch.arange(q.shape[0], device=q.device)
    which = torch.bucketize(at, starts.long(), right=True)
    allowed = which[:, None] == which[None, :]
    if causal:
        allowed = allowed & (at[:, None] >= at[None, :])
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed[None, None])[0].transpose(0, 1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.ones(WIDTH))
        self.qkv = nn.Parameter(torch.empty(3 * WIDTH, WIDTH))
        self.out = nn.Parameter(torch.empty(WIDTH, WIDTH))
        self.gate_up = nn.Parameter(torch.empty(2 * MLP, WIDTH))
        self.down = nn.Parameter(torch.empty(WIDTH, MLP))

    def forward(self, x, cos, sin, attention):
        T = x.shape[0]
        q, k, v = F.linear(F.rms_norm(x, (WIDTH,), self.norm1, EPS), self.qkv).view(T, 3, HEADS, HEAD).unbind(1)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        x = x + F.linear(attention(q, k, v).reshape(T, WIDTH), self.out)
        gate, up = F.linear(F.rms_norm(x, (WIDTH,), self.norm2, EPS), self.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)


def rotate(x, cos, sin):
    low, high = x.chunk(2, -1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1).to(x.dtype)


class Model(nn.Module):
    def __init__(self, causal, theta):
        super().__init__()
        self.causal, self.theta = causal, theta
        self.embedding = nn.Parameter(torch.empty(VOCABULARY, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.Parameter(torch.ones(WIDTH))
        self.head = nn.Parameter(torch.empty(VOCABULARY, WIDTH))
        for name, p in self.named_parameters():
            if p.dim() > 1:
                residual = name.endswith((".out", ".down"))
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * LAYERS) if residual else 1))
        frequency = theta ** -(torch.arange(0, HEAD, 2).double() / HEAD)
        angle = torch.outer(torch.arange(CONTEXT).double(), frequency).float()
        self.register_buffer("cos", angle.cos()[:, None, :], persistent=False)
        self.register_buffer("sin", angle.sin()[:, None, :], persistent=False)

    def hidden(self, tokens, positions, attention):
        x, cos, sin = F.embedding(tokens, self.embedding), self.cos[positions], self.sin[positions]
        if torch.is_autocast_enabled("cuda"):
            x = x.bfloat16()  # the residual stream too: bandwidth is what a model of this width waits for
        for block in self.blocks:
            x = block(x, cos, sin, attention)
        return F.rms_norm(x, (WIDTH,), self.norm, EPS)

    def logits(self, tokens, positions, starts, longest, rows=None):
        x = self.hidden(tokens, positions, lambda q, k, v: attend(q, k, v, starts, longest, self.causal))
        return F.linear(x if rows is None else x[rows], self.head)


def named_weights(model):
    """Names and tensors as the families' public code spells them: LLaDA for the masked model, Llama for the causal."""
    names = (["model.layers.{}.", "input_layernorm", "post_attention_layernorm", "self_attn.q_proj", "self_attn.k_proj",
              "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]
             if model.causal else
             ["model.transformer.blocks.{}.", "attn_norm", "ff_norm", "q_proj", "k_proj", "v_proj", "attn_out",
              "ff_proj", "up_proj", "ff_out"])
    outer = (["model.embed_tokens", "model.norm", "lm_head"] if model.causal else
             ["model.transformer.wte", "model.transformer.ln_f", "model.transformer.ff_out"])
    weights = dict(zip(outer, (model.embedding, model.norm, model.head)))
    for i, b in enumerate(model.blocks):
        parts = [b.norm1, b.norm2, *b.qkv.chunk(3), b.out, *b.gate_up.chunk(2), b.down]
        weights |= {names[0].format(i) + n: p for n, p in zip(names[1:], parts)}
    return {n + ".weight": p.detach().to(torch.bfloat16).cpu().contiguous() for n, p in weights.items()}


TEMPLATE = ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}"
            "{{ 'Context:\\n' + message['content'] + '\\n\\n' }}{% elif message['role'] == 'user' %}"
            "{{ 'Question: ' + message['content'] + '\\nShort Answer:' }}{% else %}"
            "{{ ' ' + message['content'] + eos_token }}{% endif %}{% endfor %}")


def save_checkpoint(model, directory):
    """model.safetensors, config.json and tokenizer_config.json; tokenizer.json is copied beside them by the recipe."""
    from safetensors.torch import save_file
    os.makedirs(directory, exist_ok=True)
    save_file(named_weights(model), directory + "/model.safetensors", metadata={"format": "pt"})
    shared = dict(vocab_size=VOCABULARY, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD, rms_norm_eps=EPS,
                  rope_theta=float(model.theta), torch_dtype="bfloat16")
    if model.causal:
        config = dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=WIDTH,
                      intermediate_size=MLP, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                      num_key_value_heads=HEADS, hidden_act="silu", max_position_embeddings=CONTEXT,
                      rope_scaling=None, attention_bias=False, mlp_bias=False, tie_word_embeddings=False) | shared
    else:
        config = dict(architectures=["LLaDAModelLM"], model_type="llada", activation_type="silu", alibi=False,
                      attention_dropout=0.0, attention_layer_norm=False, attention_layer_norm_with_affine=True,
                      bias_for_layer_norm=False, block_group_size=1, block_type="llama",
                      d_model=WIDTH, embedding_dropout=0.0, embedding_size=VOCABULARY, flash_attention=False,
                      include_bias=False, include_qkv_bias=False, init_cutoff_factor=None, init_device="cpu",
                      init_fn="mitchell", init_std=0.02, input_emb_norm=False,
                      layer_norm_type="rms", layer_norm_with_affine=True, mask_token_id=MASK,
                      max_sequence_length=CONTEXT, mlp_hidden_size=MLP, mlp_ratio=4, multi_query_attention=None,
                      n_heads=HEADS, n_kv_heads=HEADS, n_layers=LAYERS, residual_dropout=0.0, rope=True,
                      rope_full_precision=True, scale_logits=False, weight_tying=False, use_cache=False) | shared
    tokenizer = dict(add_bos_token=True, bos_token="<|bos|>", eos_token="<|eos|>", pad_token="<|pad|>",
                     mask_token=None if model.causal else "<|mdm_mask|>", model_max_length=CONTEXT,
                     tokenizer_class="PreTrainedTokenizerFast", clean_up_tokenization_spaces=False,
                     chat_template=TEMPLATE)
    for name, value in (("config.json", config), ("tokenizer_config.json", tokenizer)):
        with open(f"{directory}/{name}", "w") as f:
            json.dump(value, f, indent=2)
            f.write("\n")


def load_checkpoint(directory):
    """The exported model again, in float32."""
    from safetensors.torch import load_file
    with open(directory + "/config.json") as f:
        config = json.load(f)
    model = Model(config["model_type"] == "llama", config["rope_theta"])
    weights = load_file(directory + "/model.safetensors")
    order = list(named_weights(model))
    assert sorted(order) == sorted(weights), "the checkpoint holds other tensors than the recipe writes"
    flat = iter(weights[n].float() for n in order)
    with torch.no_grad():
        for p in (model.embedding, model.norm, model.head):
            p.copy_(next(flat))
        for b in model.blocks:
            b.norm1.copy_(next(flat)), b.norm2.copy_(next(flat))
            b.qkv.copy_(torch.cat([next(flat) for _ in range(3)]))
            b.out.copy_(next(flat))
            b.gate_up.copy_(torch.cat([next(flat) for _ in range(2)]))
            b.down.copy_(next(flat))
    return model
