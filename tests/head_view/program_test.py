# SPDX-License-Identifier: Apache-2.0
"""program_test.py --source ROOT --pages FOLDER [--reference PROGRAM] -- PROGRAM...

Runs one language's example on three files (12 heads of 64 x 64; PyTorch's golden weights, with Q != K; unusual tokens with an empty row and a
row of NaN). Compares the numbers in its pages with a calculation in float64, with PyTorch's weights, and bit by bit with those of the reference
program. Opens the pages in headless Chromium and compares every cell with these numbers; with a reference program only the page of unusual tokens,
since the other pages have the same data as the reference's, which are opened in its own test. Exits with 77 if there is no Chromium.
"""

import argparse
import math
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import page
from attention import UNIT, attention_weights, read_safetensors, write_safetensors
from browser import SKIPPED, Browser, find_chromium
from page import require

# Markup, quotes, spaces, other scripts, characters that JSON or HTML must escape, a repeated token, and one that is too
# long for its label.
ODD_TOKENS = ["</script><script>window.broken = true</script>", "<!--<script>", "<img src=x onerror='window.broken = true'>", "&amp; &lt;",
              "\"quoted\"", "back\\slash\\u0041", "", " the", "the", "the", "\ttab", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
              "\u6ce8\u610f\u529b", "\U0001f469\u200d\U0001f467", "a\u2028b\u2029c", "\x01\x7f", "very_long_" * 12]
ODD_SHAPES = {"": "\u2205", " the": "\u2423the", "\ttab": "\u21e5tab", "a\u2028b\u2029c": "a\u2423b\u2423c", "\x01\x7f": "\u2401\u2421"}
EMPTY_ROW, NAN_ROW = 3, 12


def make_odd(folder):
    draw = random.Random(5)
    count, size = len(ODD_TOKENS), 6
    numbers = lambda n: [draw.uniform(-2, 2) for _ in range(n)]
    queries = numbers(count * size)
    queries[NAN_ROW * size] = math.nan
    # The token of NaN is visible to no other query, only to its own.
    mask = [q != EMPTY_ROW and k != NAN_ROW for q in range(count) for k in range(count)]
    tensors = {f"attention.W_{letter}.weight": ("F32", [size, size], numbers(size * size)) for letter in "qkvo"}
    tensors |= {"queries": ("F32", [1, count, size], queries), "mask": ("BOOL", [count, count], mask)}
    write_safetensors(folder / "odd.safetensors", tensors)
    (folder / "odd.txt").write_text("".join(f"{token}\n" for token in ODD_TOKENS), encoding="utf-8", newline="\n")
    return folder / "odd.safetensors", folder / "odd.txt"


def float_bits(weight):
    return None if weight is None else struct.pack("<f", weight)


def check_numbers(heads, path):
    """Compares the program's numbers with the formula, and with the golden weights if the file has them."""
    weights, bounds = attention_weights(path, len(heads))
    golden = read_safetensors(path).get("weights")
    golden = iter(golden.elements) if golden else None
    empty_rows = nan_rows = 0
    for h, head in enumerate(heads):
        require(head["name"] == f"head {h}", head["name"])
        require(len(head["weights"]) == len(weights[h]), "rows of head", h)
        for q, row in enumerate(head["weights"]):
            require(len(row) == len(weights[h][q]), "columns of head", h)
            for k, (weight, right, bound) in enumerate(zip(row, weights[h][q], bounds[h][q])):
                where = f"head {h}, query {q}, key {k}: {weight}, not {right}"
                require(weight is None if math.isnan(right) else weight is not None and abs(weight - right) <= bound, where)
                if golden:
                    require(abs(weight - next(golden)) <= bound, where)
            if None in row:
                nan_rows += 1
            elif any(row):
                require(abs(sum(row) - 1) <= (len(row) + 4) * UNIT, "row", q, "of head", h, "sums to", sum(row))
            else:
                empty_rows += 1
    return empty_rows, nan_rows


def without_data(path):
    return re.sub(page.DATA, "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def check_page(browser, path, data, queries, keys, shapes):
    browser.open(path)
    seen = page.read(browser)
    require(seen["message"] is None, seen["message"])
    page.check_cells(seen, data["heads"])
    page.check_labels(seen, queries, keys, shapes)
    page.check_scale(seen, max(weight or 0 for head in data["heads"] for row in head["weights"] for weight in row))
    page.check_colours(seen)
    page.check_pixels(seen)
    page.check_painted(browser, seen)
    require([head["name"] for head in seen["heads"]] == [head["name"] for head in data["heads"]], "names of the heads")
    require(f"{len(queries)} queries \u00d7 {len(keys)} keys" in seen["facts"], seen["facts"])
    # Two scripts and no other element: no text of the data became markup or code.
    seen["elements"].pop("*")
    require(seen["elements"] == {"script": 2, "img": 0, "b": 0, "iframe": 0, "link": 1}, seen["elements"])
    require(browser.ask("window.broken") is None, "text of the data was run")
    page.check_quiet(browser)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--pages", type=Path, required=True)
    parser.add_argument("--reference")
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    if not find_chromium():
        print("skipped: there is no Chromium; scripts/install-dependencies --test installs it")
        sys.exit(SKIPPED)

    folder, example = arguments.pages, arguments.source / "examples" / "head_view"
    folder.mkdir(parents=True, exist_ok=True)
    sentence = (example / "sentence.txt").read_text(encoding="utf-8").splitlines()
    odd_file, odd_tokens = make_odd(folder)
    windows_tokens = folder / "windows.txt"
    windows_tokens.write_text("".join(f"{token}\r\n" for token in sentence), encoding="utf-8", newline="")
    numbered = lambda count: [str(i) for i in range(count)]
    cases = [
        ("sentence", example / "sentence.safetensors", 12, [example / "sentence.txt", windows_tokens], sentence, sentence, (0, 0)),
        ("d2l", arguments.source / "tests" / "golden" / "data" / "d2l.safetensors", 5, [], numbered(4), numbered(6), (0, 0)),
        ("odd", odd_file, 2, [odd_tokens, odd_tokens], ODD_TOKENS, ODD_TOKENS, (2, 2)),
    ]
    with Browser() as browser:
        for name, file, num_heads, tokens, queries, keys, special_rows in cases:
            path = folder / f"{name}.html"
            call = [example / "head_view.html", path, file, str(num_heads), *tokens]
            subprocess.run([*arguments.program, *call], check=True)
            data = page.data_of(path.read_text(encoding="utf-8"))
            require(data.get("queries", numbered(len(queries))) == queries, "the page's queries")
            require(data.get("keys", keys) == keys, "the page's keys")
            require(check_numbers(data["heads"], file) == special_rows, "empty rows and rows of NaN")
            if arguments.reference:
                call[1] = folder / f"{name}_reference.html"
                subprocess.run([arguments.reference, *call], check=True)
                reference = page.data_of(call[1].read_text(encoding="utf-8"))
                for a, b in zip(data["heads"], reference["heads"], strict=True):
                    for row, right in zip(a["weights"], b["weights"], strict=True):
                        require(list(map(float_bits, row)) == list(map(float_bits, right)), "the reference has other numbers in", name)
                require({**data, "heads": 0} == {**reference, "heads": 0}, "the reference has other texts in", name)
                require(without_data(path) == without_data(call[1]), "the reference has another page around the data of", name)
            if not arguments.reference or queries == ODD_TOKENS:
                check_page(browser, path, data, queries, keys, ODD_SHAPES)
            print(f"{path}: {sum(len(row) for head in data['heads'] for row in head['weights'])} cells are right")


if __name__ == "__main__":
    main()
