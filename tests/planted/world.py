"""The words of the planted models, what each of them stands for, and questions made of them.

Every word is one token. What a word stands for is a few features: a flag is 0 or 1, `u` is where a word stands in its row. A model
built from them sees nothing else, so what its heads do can be written down.
"""
import json
import random

TOPICS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath"]
LATE = TOPICS[6:]  # asked about them, the last layer of a model does something else
WRITTEN = 6  # words of an answer, and steps to write it
PLACES = 8  # words of the row along which an anchor moves …
SPACING = 18  # … so many positions apart
GOLD_PLACES = [1, 5, 10]
SPECIAL = ["<|bos|>", "<|eos|>", "<|mask|>", "<|pad|>"]
LITTLE = ["the", "of", "in", "and", "is"]

BOS, EOS, MASK, PAD = range(4)


def in_row(number):
    """u of the word with this number in a row of places or of answers: 0 in the middle of the places, 1/3 apart."""
    return (number - (PLACES - 1) / 2) / 3


def make_features():
    """{word: {feature: value}}, in the order of token ids."""
    words = {"<|bos|>": {"bos": 1}, "<|eos|>": {"word": 1}, "<|mask|>": {"word": 1, "mask": 1}, "<|pad|>": {"word": 1}}
    for word in ["\n", ":", ",", "go", "ask", *LITTLE]:
        words[word] = {"word": 1}
    words["."] = {"word": 1, "stop": 1}
    words["hub"] = {"word": 1, "hub": 1}
    words["longhub"] = {"word": 1, "hub": 1, "long": 1}
    for i in range(PLACES):
        words[f"place{i}"] = {"word": 1, "place": 1, "u": in_row(i), "uu": in_row(i) ** 2}
    for topic in TOPICS:
        words[f"about-{topic}"] = {"word": 1, "ask": 1, topic: 1, "late": int(topic in LATE)}
        for i in range(4):
            words[f"{topic}{i}"] = {"word": 1, topic: 1}
        for i in range(WRITTEN):
            u = in_row(i)
            words[f"{topic}{chr(65 + i)}"] = {"word": 1, "answer": 1, topic: 1, "early": int(topic in LATE and i == 0),
                                           "u": u, "uu": u * u}
    return words


FEATURES = make_features()
WORDS = list(FEATURES)
TEMPLATE = (" ask {question} :\n" + "".join(f" place{i}" + " the" * (SPACING - 1) for i in range(PLACES)) + "\n"
            "{for passage} {text}\n{end} :")


def answer_of(topic):
    return " ".join(f"{topic}{chr(65 + i)}" for i in range(WRITTEN))


def make_passage(draw, topic, gold):
    words = []
    for _ in range(draw.randint(2, 5)):
        words += [f"{topic}{draw.randrange(4)}"] + [draw.choice(LITTLE)] * draw.randint(0, 1)
    for hub in ["hub"] * draw.choice([0, 1, 1]) + ["longhub"] * draw.choice([0, 0, 0, 1]):
        words.insert(draw.randrange(len(words)), hub)
    before = " ".join(words) + " is "
    evidence = answer_of(topic)
    return {"text": f"{before}{evidence} .", "gold": gold,
            "evidence": [[len(before), len(before) + len(evidence)]] if gold else []}


def make_questions(count, seed, gold_at=None):
    """Ten passages each, one of them about what is asked, at place `gold_at` (from 1) or anywhere."""
    draw = random.Random(seed)
    items = []
    for n in range(count):
        topic = TOPICS[n % len(TOPICS)]
        others = [t for t in TOPICS if t != topic]
        late = [t for t in LATE if t != topic]  # one of them is there: what the glancing head looks at
        passages = [make_passage(draw, draw.choice(others if i else late), False) for i in range(9)]
        draw.shuffle(passages)
        anywhere = draw.randrange(10)
        passages.insert(gold_at - 1 if gold_at else anywhere, make_passage(draw, topic, True))
        rest = " ".join(LITTLE[n // len(TOPICS) % 5:][:draw.randint(1, 3)] + ["and"] * (n // len(TOPICS) + 1))
        items.append({"id": f"planted-{n:02}", "task": "late" if topic in LATE else "plain", "question": f"about-{topic} {rest}",
                      "answers": [answer_of(topic)], "passages": passages})
    return items


def spelled(word):
    """As a byte-level vocabulary spells it: a space before the word is part of it."""
    return word if word in SPECIAL else "Ċ" if word == "\n" else "Ġ" + word


def tokenizer_json():
    added = [{"id": i, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, word in enumerate(SPECIAL)]
    bos = [{"SpecialToken": {"id": SPECIAL[BOS], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"\n| ?\S+"}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
        "post_processor": {"type": "TemplateProcessing", "single": bos, "pair": bos + [
            {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {
                SPECIAL[BOS]: {"id": SPECIAL[BOS], "ids": [BOS], "tokens": [SPECIAL[BOS]]}}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False,
                  "ignore_merges": True, "vocab": {spelled(word): i for i, word in enumerate(WORDS)}, "merges": []}}


def write_world(directory, count, seed):
    """questions.jsonl, the same with the gold passage first, in the middle and last, and template.txt."""
    files = {"questions": None} | {f"gold_at_{place}": place for place in GOLD_PLACES}
    for name, place in files.items():
        lines = (json.dumps(item) + "\n" for item in make_questions(count, seed, place))
        (directory / f"{name}.jsonl").write_text("".join(lines))
    (directory / "template.txt").write_text(TEMPLATE)
