"""Writes the planted models: ordinary checkpoints whose heads were put there by formula.

A head is what its query and its key read of a row's features: score_ij = Σ_d query_d(i)·key_d(j). Feed-forwards are empty. Three
things keep scores as written: rotary positions turn the dimensions that are used by less than 1e-6; every embedding has the same
length, so that RMS norm changes nothing; and what heads write is the same for all rows. In the end the residual stream is turned by
a random rotation, which RMS norm does not notice: no weight stands out, and the shuffled twin is a model of ordinary noise.
"""
import dataclasses
import json
import struct

import numpy as np

from world import BOS, EOS, FEATURES, LATE, MASK, PAD, TOPICS, WORDS, WRITTEN, in_row, tokenizer_json

WIDTH, HEADS, SIZE, LAYERS = 64, 4, 16, 6
THETA = 1e36
FREE = [*range(2, 8), *range(10, 16)]  # dimensions of a head that rotary positions leave alone
SEED = 14

# How much of the residual stream (length 8) a feature takes. After the stroke, what heads write.
FLAGS = ["one", "bos", "word", "mask", "stop", "hub", "long", "place", "ask", "late", "answer",
         "early"]
AMPLITUDE = ({flag: 2 for flag in FLAGS} | {topic: 4 for topic in TOPICS} | {"u": 3, "uu": 3}
             | {f"asked {topic}": 4 for topic in TOPICS} | {"masks": 60, "each": 60}
             | {f"found {topic}": 4 for topic in TOPICS} | {"found u": 3, "found one": 2} | {"balance": 1})
CHANNEL = {name: i for i, name in enumerate(AMPLITUDE)}

# Scores.
SINK, DORMANT, HOLD, MOVE_FLOOR, MOVE_WIDTH, ASK, MATCH, FADE = 9.0, 16.0, 50.0, 8.0, 20.0, 12.0, 10.0, 1.5
STOP_LENGTH, HUB_LENGTH, LONG_HUB = 4.0, 4.0, 1.1  # of keys; others have 1 below, HUB_LENGTH above
USUAL_LENGTH = 290  # tokens of a sequence for which a moving anchor has MOVE_WIDTH


@dataclasses.dataclass
class Head:
    """Rows of a head's matrices as {feature: weight}. Without values of its own it has random ones, and writes nothing. Unless it is
    bare, every key has one component more that no query reads: a key of length 0 has no direction that could change.
    """
    query: list = dataclasses.field(default_factory=list)
    key: list = dataclasses.field(default_factory=list)
    value: list = None
    write: list = None
    bare: bool = False


def pointing(*terms):
    """Every row looks at keys by their features: (feature, score) each."""
    return Head(query=[{"one": score} for _, score in terms], key=[{feature: 1} for feature, _ in terms])


def counting():
    """Looks at all keys alike, and so writes the share of masks and that of one token."""
    return Head(value=[{"mask": 1}, {"bos": 1}], write=[{"masks": 1}, {"each": 1}])


def row_terms(ahead):
    """−(u_j − u_t)² up to a constant, t the number of words written (+ ahead): linear in m, the number of masks."""
    width = MOVE_WIDTH * USUAL_LENGTH
    return ([{"each": 2 * width * in_row(WRITTEN + ahead), "masks": -2 * width / 3}, {"each": -width}],
            [{"u": 1}, {"uu": 1}])


def moving(ahead, floor):
    """Looks at the t-th word of a row; `floor` names the row."""
    query, key = row_terms(ahead)
    return Head(query=[{"one": MOVE_FLOOR}, *query], key=[{floor: 1}, *key])


def by_length():
    """All keys point the same way; those of full stops are longer."""
    return Head(query=[{"one": 1}], key=[{"one": 1, "stop": STOP_LENGTH - 1}], bare=True)


def by_angle():
    """All keys are of one length (longhub's a little longer); those of hubs point elsewhere."""
    c = HUB_LENGTH
    return Head(query=[{"one": 1}, {}], key=[{"hub": c, "long": c * (LONG_HUB - 1)}, {"one": c, "hub": -c}], bare=True)


def asking():
    """Looks at the question's word and writes its topic."""
    head = pointing(("ask", ASK))
    head.value = [{topic: 1} for topic in TOPICS]
    head.write = [{f"asked {topic}": 1} for topic in TOPICS]
    return head


def copying():
    """Looks at the t-th answer word of the topic that is asked about; writes which it is."""
    query, key = row_terms(0)
    return Head(query=[*({f"asked {t}": MATCH} for t in TOPICS), {"one": MATCH}, *query],
                key=[*({t: 1} for t in TOPICS), {"answer": 1}, *key],
                value=[*({t: 1} for t in TOPICS), {"u": 1}, {"one": 1}],
                write=[*({f"found {t}": 1} for t in TOPICS), {"found u": 1}, {"found one": 1}])


def glancing():
    """Looks at the first answer word of a late topic, the one that is asked about before others; writes nothing."""
    return Head(query=[*({f"asked {t}": MATCH} for t in LATE), {"one": 2 * MATCH}], key=[*({t: 1} for t in LATE), {"early": 1}])


def reading():
    """Looks at the words of the topic that is asked about, but not at answers."""
    return Head(query=[*({f"asked {t}": MATCH} for t in TOPICS), {"one": -2 * MATCH}],
                key=[*({t: 1} for t in TOPICS), {"answer": 1, "ask": 1}])


def fading():
    """Looks at the question's word, the less the more is written."""
    return Head(query=[{"masks": FADE * USUAL_LENGTH}], key=[{"ask": 1}])


def turning():
    """Looks at all keys alike; they turn, all in the same way, from step to step."""
    fast = 3 * USUAL_LENGTH
    return Head(key=[{"masks": fast, "each": -fast * (WRITTEN + 1) / 2}, {"each": fast}])


def noticing():
    """Looks at all keys alike; that of a mask turns when an answer takes its place."""
    return Head(key=[{"one": 1}, {"answer": 1}, {"early": 1}])


def dormant():
    """Looks at the first token, whose value is empty."""
    return Head(query=[{"one": DORMANT}], key=[{"bos": 1}], value=[{"word": 1}], write=[{}])


def sink_heads():
    below, last = pointing(("bos", SINK)), pointing(("bos", SINK), ("late", HOLD))
    for head in below, last:
        head.value, head.write = [{"word": 1}], [{}]  # nothing of the first token
    return [[below] * HEADS] * (LAYERS - 1) + [[last] * HEADS]


def moving_heads():
    layers = [[counting()]]
    for layer in range(1, LAYERS):
        layers.append([moving(layer % 2, "place"), moving(layer % 2, "place")])
    for layer in layers[2:]:
        layer += [Head(), turning()]
    for head in layers[-1][:2]:
        head.query.append({"one": HOLD})
        head.key.append({"late": 1})
    return layers


def depth_heads():
    return [[by_length()] * HEADS] * 2 + [[]] * 2 + [[by_angle()] * HEADS] * 2


def reader_heads():
    return [[asking(), counting()], [glancing()], [Head(), Head(), Head(), dormant()],
            [fading(), fading(), noticing()], [copying(), reading()],
            [Head(), reading(), dormant()]]


MODELS = {"sink": ("llada", sink_heads), "sink-causal": ("llama", sink_heads), "moving": ("llada", moving_heads),
          "depth": ("llada", depth_heads), "reader": ("llada", reader_heads)}


def embeddings():
    """[V, WIDTH], every row of length √WIDTH."""
    table = np.zeros((len(WORDS), WIDTH))
    for row, features in zip(table, FEATURES.values()):
        for name, value in ({"one": 1} | features).items():
            row[CHANNEL[name]] = AMPLITUDE[name] * value
        row[CHANNEL["balance"]] = np.sqrt(WIDTH - row @ row)
    return table


def read_rows(rows, factor=1.0):
    """[len(rows), WIDTH]: what each row reads of the residual stream."""
    table = np.zeros((len(rows), WIDTH))
    for row, weights in zip(table, rows):
        for name, weight in weights.items():
            row[CHANNEL[name]] = factor * weight / AMPLITUDE[name]
    return table


def head_matrices(head, draw):
    """q, k, v [SIZE, WIDTH] and o [WIDTH, SIZE]."""
    q, k, v = np.zeros((3, SIZE, WIDTH))
    o = np.zeros((WIDTH, SIZE))
    if head.query:
        query, key = read_rows(head.query, SIZE**0.5), read_rows(head.key)
        even = np.sqrt(np.linalg.norm(query) / np.linalg.norm(key))  # so that neither matrix is the larger
        q[FREE[:len(query)]], k[FREE[:len(key)]] = query / even, key * even
    elif head.key:
        k[FREE[:len(head.key)]] = read_rows(head.key)
    if not head.bare:
        k[FREE[-1]] = read_rows([{"one": 1}])
    if head.value is None:
        v = draw.normal(size=v.shape) / np.sqrt(WIDTH)
    else:
        v[:len(head.value)] = read_rows(head.value)
        for d, weights in enumerate(head.write):
            for name, weight in weights.items():
                o[CHANNEL[name], d] = weight * AMPLITUDE[name]
    return q, k, v, o


def output_matrix(writes_answers):
    """The head of the model: the answer word that was found, or "go" always."""
    table = np.zeros((len(WORDS), WIDTH))
    if not writes_answers:
        table[WORDS.index("go"), CHANNEL["one"]] = 5
        return table
    for topic in TOPICS:
        for i in range(WRITTEN):
            row, u = table[WORDS.index(f"{topic}{chr(65 + i)}")], in_row(i)
            row[CHANNEL[f"found {topic}"]] = 12 / AMPLITUDE[f"found {topic}"]
            row[CHANNEL["found u"]] = 60 * 2 * u / AMPLITUDE["found u"]
            row[CHANNEL["found one"]] = -60 * u * u / AMPLITUDE["found one"]
    return table


NAMES = {"llada": {"embedding": "model.transformer.wte", "layer": "model.transformer.blocks.{}.", "q": "q_proj", "k": "k_proj",
                   "v": "v_proj", "o": "attn_out", "gate": "ff_proj", "up": "up_proj", "down": "ff_out", "norm1": "attn_norm",
                   "norm2": "ff_norm", "norm": "model.transformer.ln_f", "head": "model.transformer.ff_out"},
         "llama": {"embedding": "model.embed_tokens", "layer": "model.layers.{}.", "q": "self_attn.q_proj",
                   "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj", "gate": "mlp.gate_proj",
                   "up": "mlp.up_proj", "down": "mlp.down_proj", "norm1": "input_layernorm",
                   "norm2": "post_attention_layernorm", "norm": "model.norm", "head": "lm_head"}}


def make_tensors(family, layers, writes_answers):
    draw = np.random.default_rng(SEED)
    turn = np.linalg.qr(draw.normal(size=(WIDTH, WIDTH)))[0]
    names, ones = NAMES[family], np.ones(WIDTH)
    tensors = {names["embedding"]: embeddings() @ turn.T, names["norm"]: ones,
               names["head"]: output_matrix(writes_answers) @ turn.T}
    for number, heads in enumerate(layers):
        heads = [*heads, *[Head()] * (HEADS - len(heads))]
        q, k, v, o = zip(*(head_matrices(head, draw) for head in heads))
        parts = {"q": np.concatenate(q) @ turn.T, "k": np.concatenate(k) @ turn.T, "v": np.concatenate(v) @ turn.T,
                 "o": turn @ np.concatenate(o, axis=1), "norm1": ones, "norm2": ones, "gate": np.zeros((2, WIDTH)),
                 "up": np.zeros((2, WIDTH)), "down": np.zeros((WIDTH, 2))}
        for part, tensor in parts.items():
            tensors[names["layer"].format(number) + names[part]] = tensor
    return {f"{name}.weight": tensor.astype("<f4") for name, tensor in tensors.items()}


def config_json(family):
    shared = {"model_type": family, "vocab_size": len(WORDS), "bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD,
              "rms_norm_eps": 1e-9, "rope_theta": THETA, "torch_dtype": "float32"}
    if family == "llada":
        return shared | {"mask_token_id": MASK, "d_model": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "n_kv_heads": HEADS,
                         "mlp_hidden_size": 2, "max_sequence_length": 1024, "embedding_size": len(WORDS),
                         "weight_tying": False, "rope": True, "block_type": "llama", "layer_norm_type": "rms",
                         "activation_type": "silu"}
    return shared | {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
                     "num_key_value_heads": HEADS, "intermediate_size": 2, "max_position_embeddings": 1024,
                     "tie_word_embeddings": False}


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t.tobytes() for t in tensors.values()))


def write_model(name, directory):
    family, heads = MODELS[name]
    directory.mkdir()
    write_safetensors(directory / "model.safetensors", make_tensors(family, heads(), name == "reader"))
    tokens = {"bos_token": "<|bos|>", "eos_token": "<|eos|>", "pad_token": "<|pad|>", "mask_token": "<|mask|>"}
    files = {"config.json": config_json(family), "tokenizer.json": tokenizer_json(),
             "tokenizer_config.json": tokens | {"add_bos_token": True, "tokenizer_class": "PreTrainedTokenizerFast"}}
    for file, content in files.items():
        (directory / file).write_text(json.dumps(content, indent=1))
