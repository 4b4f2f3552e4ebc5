#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make_sentence.py: makes sentence.safetensors and sentence.txt beside it, from nothing but this script.

A layer of 12 heads whose parameters are set by hand, so that each head looks for something that a reader can check in its picture
(README.md lists what), and 64 tokens for it to read. A token's vector holds what the heads ask about: which word it is, its place
as sines and cosines, its class. A head's queries and keys take the parts out that it compares. A causal mask hides what comes
after a token and what is more than 39 tokens before it.
"""

import json
import math
import random
import struct
from array import array
from pathlib import Path

TEXT = ("A head looks at the words before a word , and asks which of the words matter . One head asks for the word before . "
        "One head asks : where was the word before ? One looks back to a comma or a stop , and one head only looks around . "
        "A head alone reads little , but heads together read .")
NOUNS = {"head", "heads", "words", "word", "comma", "stop"}
VERBS = {"looks", "asks", "matter", "was", "reads", "read"}
STOPS = {",", ".", ":", "?"}

HEADS, SIZE = 12, 8
HIDDENS = HEADS * SIZE
WINDOW = 40
PERIODS = [5.0, 11.0, 29.0, 71.0]

# The parts of a token's vector.
WORD, PLACE, CLASS, START, ONE = range(0, 8), range(8, 16), range(16, 20), 20, 21
NOUN, VERB, STOP, OTHER = CLASS

tokens = TEXT.split()
normal = random.Random(2017)


def gauss(rows, columns, scale):
    return [[normal.gauss(0, scale) for _ in range(columns)] for _ in range(rows)]


def token_class(token):
    return NOUN if token in NOUNS else VERB if token in VERBS else STOP if token in STOPS else OTHER


def far_from(others):
    """A vector of length 1 that is at as wide an angle to the others as one of a thousand random ones can be."""
    candidates = []
    for _ in range(1000):
        vector = gauss(1, len(WORD), 1.0)[0]
        length = math.sqrt(sum(x * x for x in vector))
        vector = [x / length for x in vector]
        candidates.append((max((sum(x * y for x, y in zip(vector, other)) for other in others), default=-1.0), vector))
    return min(candidates)[1]


def make_queries():
    words = {}
    rows = []
    for place, token in enumerate(tokens):
        if token.lower() not in words:
            words[token.lower()] = far_from(words.values())
        row = words[token.lower()] + [f(2 * math.pi * place / period) for period in PERIODS for f in (math.cos, math.sin)]
        row += [float(token_class(token) == which) for which in CLASS]
        row += [float(place == 0 or tokens[place - 1] in STOPS), 1.0]
        rows.append(row + [0.0] * (HIDDENS - len(row)))
    return rows


class Head:
    """Rows of W_q and W_k: score(i, j) = sum over rows of (W_q x_i) (W_k x_j), which the layer divides by sqrt(SIZE)."""

    def __init__(self):
        self.q = [[0.0] * HIDDENS for _ in range(SIZE)]
        self.k = [[0.0] * HIDDENS for _ in range(SIZE)]

    def look_back(self, distance, weights):
        """Scores largest `distance` tokens back: sum over the periods of weight * cos(2 pi (i - distance - j) / period)."""
        for f, (period, weight) in enumerate(zip(PERIODS, weights)):
            turn = 2 * math.pi * distance / period
            c, s = PLACE[2 * f], PLACE[2 * f + 1]
            self.q[2 * f][c], self.q[2 * f][s] = weight * math.cos(turn), weight * math.sin(turn)
            self.q[2 * f + 1][c], self.q[2 * f + 1][s] = -weight * math.sin(turn), weight * math.cos(turn)
            self.k[2 * f][c] = self.k[2 * f + 1][s] = 1.0
        return self

    def pair(self, row, asking, asked, weight):
        """Adds weight * x_i[asking] * x_j[asked]."""
        self.q[row][asking] = weight
        self.k[row][asked] = 1.0
        return self

    def same_word(self, weight):
        for row, column in enumerate(WORD):
            self.q[row][column], self.k[row][column] = weight, 1.0
        return self


def make_heads():
    near = [8.0, 12.0, 10.0, 6.0]
    heads = [
        Head().look_back(1, near),
        Head().look_back(0, near),
        Head().look_back(3, near),
        Head().same_word(30.0),
        Head().pair(0, ONE, STOP, 14.0),
        Head().look_back(0, [0.0, 0.0, 4.0, 10.0]),
        Head(),
        Head().pair(0, ONE, START, 12.0),
        Head().pair(0, VERB, NOUN, 14.0).pair(1, NOUN, VERB, 14.0),
        Head().look_back(8, [0.0, 0.0, 16.0, 8.0]),
        Head().pair(0, STOP, STOP, 14.0).pair(1, OTHER, NOUN, 12.0).pair(2, OTHER, VERB, 6.0),
        Head(),
    ]
    heads[11].q, heads[11].k = gauss(SIZE, HIDDENS, 0.6), gauss(SIZE, HIDDENS, 0.6)
    return heads


def write(path, tensors):
    header, content = {"__metadata__": {"format": "pt", "made_by": "examples/head_view/make_sentence.py"}}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


def floats(rows):
    return array("f", [x for row in rows for x in row]).tobytes()


def main():
    here = Path(__file__).parent
    heads = make_heads()
    matrix = lambda rows: ("F32", [HIDDENS, HIDDENS], floats(rows))
    places = range(len(tokens))
    write(here / "sentence.safetensors", {
        "attention.W_q.weight": matrix([row for head in heads for row in head.q]),
        "attention.W_k.weight": matrix([row for head in heads for row in head.k]),
        "attention.W_v.weight": matrix(gauss(HIDDENS, HIDDENS, HIDDENS ** -0.5)),
        "attention.W_o.weight": matrix(gauss(HIDDENS, HIDDENS, HIDDENS ** -0.5)),
        "queries": ("F32", [1, len(tokens), HIDDENS], floats(make_queries())),
        "mask": ("BOOL", [len(tokens)] * 2, bytes(q - WINDOW < k <= q for q in places for k in places)),
    })
    (here / "sentence.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    print(f"{len(tokens)} tokens")


if __name__ == "__main__":
    main()
