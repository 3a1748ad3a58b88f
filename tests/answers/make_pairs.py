#!/usr/bin/env python3
"""Makes 500 tricky pairs of a prediction and its gold answers: make_pairs.py > pairs.jsonl, then score.py --write."""
import json
import random

# Each once: the cases that a careless normaliser gets wrong.
CHOSEN = [
    ("", [""]),
    ("", ["x"]),
    ("x", [""]),
    ("x", []),
    ("the", ["a"]),
    ("The", ["Theatre"]),
    ("...", ["!?"]),
    ("anything", ["The"]),
    ("anything", ["...", "other"]),
    ("a the an", ["an"]),
    ("the-a", ["thea"]),
    ("a-b", ["b"]),
    ("An apple a day", ["apple day"]),
    ("athe the", ["athe"]),
    ("the\u0301 end", ["end"]),
    ("a\u0300 la carte", ["\u00e0 la carte"]),
    ("the\u200d end", ["end"]),
    ("the\u200bend", ["end"]),
    ("the\u00a0end", ["end"]),
    ("the\u3000end", ["end"]),
    ("new\u0085york", ["new york"]),
    ("new\u001cyork\u001dcity\u001eof\u001fold", ["New York City of old"]),
    ("new\u2028york\u2029", ["new york"]),
    ("new\u180eyork", ["new york"]),
    ("new\ufeffyork", ["new york"]),
    ("\u0130stanbul", ["istanbul", "i\u0307stanbul"]),
    ("\u0130STANBUL", ["\u0130stanbul"]),
    ("I\u0131", ["i\u0131"]),
    ("Stra\u00dfe", ["strasse"]),
    ("STRA\u1e9eE", ["stra\u00dfe"]),
    ("\u01c5ungla", ["\u01c6ungla"]),
    ("\u01c4UNGLA", ["\u01c5ungla"]),
    ("\u039f\u0394\u039f\u03a3", ["\u03bf\u03b4\u03bf\u03c2"]),
    ("\u039f\u0394\u039f\u03a3 \u039f\u0394\u039f\u03a3", ["\u03bf\u03b4\u03bf\u03c3"]),
    ("\u039f\u0394\u039f\u03a3.", ["\u03bf\u03b4\u03bf\u03c2"]),
    ("\u039f\u03a3.\u0391", ["\u03bf\u03c3\u03b1"]),
    ("\u039f\u03a3,\u0391", ["\u03bf\u03c2\u03b1"]),
    ("\u039f\u03a3\u0301", ["\u03bf\u03c2\u0301"]),
    ("\u039f'\u03a3", ["\u03bf\u03c2"]),
    ("\u03a3", ["\u03c3"]),
    ("\u03a3\u03a3", ["\u03c3\u03c2"]),
    ("1\u03a3", ["1\u03c3"]),
    ("\u24d0\u03a3", ["\u24d0\u03c2"]),
    ("\u00aa\u03a3 \u2170\u03a3 \u02b0\u03a3", ["\u00aa\u03c2 \u2170\u03c2 \u02b0\u03c3"]),
    ("\u05d0\u03a3", ["\u05d0\u03c3"]),
    ("\uff34\uff48\uff45 end", ["end"]),
    ("\uff21", ["\uff41"]),
    ("K\u212a\u212b", ["kk\u00e5"]),
    ("e\u0301cole", ["\u00e9cole"]),
    ("\U0001f468\u200d\U0001f469\u200d\U0001f467", ["\U0001f468\U0001f469\U0001f467"]),
    ("\U00010400\U00010401", ["\U00010428\U00010429"]),
    ("\u0645\u0635\u0631", ["\u0645\u0635\u0631", "Egypt"]),
    ("\u6771\u4eac\u90fd", ["\u6771\u4eac"]),
    ("\u6771\u4eac \u90fd", ["\u90fd \u6771\u4eac"]),
    ("\u00aba\u00bb b", ["b"]),
    ("\u201cthe\u201d end", ["end"]),
    ("the_end", ["end"]),
    ("_a_", ["a"]),
    ("a\u00b2", ["\u00b2"]),
    ("a\u0660", ["\u0660"]),
    ("1,000", ["1000"]),
    ("1.5", ["15"]),
    ("$5", ["5"]),
    ("3 3 3", ["3 3"]),
    ("3 3", ["3 3 3", "3"]),
    ("U.S.A.", ["USA", "United States"]),
    ("rock 'n' roll", ["rock n roll"]),
    ("in New York City, of course", ["NYC", "New York City"]),
    ("York New", ["New York"]),
    ("\x00a\x00", ["\x00"]),
    ("a\tb\nc\x0bd\x0ce\rf", ["b c d e f"]),
]

WORDS = """the The THE a A an An theatre another Ann New York new york city 1909 1,909 19.09 9 nine IX U.S. u.s. USA
rock'n'roll e-mail C++ O'Brien «quoted» “the” ‘a’ … — the. a, (an) THE! _the_ the_a \u0130zmir \u0131 ISTANBUL Stra\u00dfe
STRASSE \u1e9e \u01c5 \u01c4 \u01c6 \u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 \u03bf\u03b4\u03c5\u03c3\u03c3\u03b5\u03c5\u03c2
\u03a3\u0391\u039c\u039f\u03a3. \u03a3 \u03c3 \u03c2 \uff21\uff2e \uff34\uff28\uff25 \uff11\uff12 \u00c9COLE \u00e9cole E\u0301COLE e\u0301cole
a\u0301 the\u0301 \u6771\u4eac \u6771\u4eac\u90fd \u0645\u0635\u0631 \u0627\u0644\u0642\u0627\u0647\u0631\u0629 \u092d\u093e\u0930\u0924
\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7 a\u200db the\u200d \u00bd \u00b2 \u216b \u2160 \u24b6 \u24d0""".split()
SPACES = [" "] * 8 + ["  ", "\t", "\n", "\u00a0", "\u0085", "\u001c", "\u001f", "\u2003", "\u2028", "\u3000", "\u200b", "", "-", ", "]


def phrase(rng, words):
    return "".join(rng.choice(words) + rng.choice(SPACES) for _ in range(rng.randrange(1, 7)))


def changed(rng, text):
    """A gold answer near the prediction: pieces cut, cased or decorated otherwise."""
    begin, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return rng.choice([
        lambda: text,
        lambda: text.upper(),
        lambda: text.swapcase(),
        lambda: text[begin:end],
        lambda: "the " + text + ".",
        lambda: text[:begin] + rng.choice(WORDS) + text[begin:],
        lambda: " ".join(reversed(text.split())),
    ])()


def main():
    rng = random.Random(2026)
    pairs = list(CHOSEN)
    while len(pairs) < 500:
        few = rng.sample(WORDS, 5)  # so that words repeat
        prediction = phrase(rng, few)
        golds = [changed(rng, prediction) if rng.random() < 0.5 else phrase(rng, few) for _ in range(rng.randrange(1, 4))]
        pairs.append((prediction, golds))
    for prediction, golds in pairs:
        print(json.dumps({"prediction": prediction, "golds": golds}))


if __name__ == "__main__":
    main()
