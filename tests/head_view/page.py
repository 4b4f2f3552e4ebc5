# SPDX-License-Identifier: Apache-2.0
"""What can be read from a page of attention weights in a browser, and what must hold of it."""

import json
import math
import re

PLACE = "@HEED_HEADS@"
# A label's text may be no smaller on the screen.
SMALLEST_TEXT = 10

READ = """(() => {
  const box = element => { const b = element.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const labels = (figure, kind, list) => [...figure.querySelectorAll(`g.${list} > text`)].map(text => ({
    index: Number(text.dataset[kind]), text: text.textContent, box: box(text), size: parseFloat(getComputedStyle(text).fontSize),
    shown: getComputedStyle(text).display !== "none", now: text.classList.contains("now") }));
  const line = (figure, kind, other) => [...figure.querySelectorAll(`rect[data-${other}="0"]`)].map(box);
  return {
    title: document.title, heading: document.querySelector("h1").textContent, facts: document.querySelector(".facts").textContent,
    description: document.querySelector(".description").textContent, message: document.querySelector(".error, .empty")?.textContent ?? null,
    elements: Object.fromEntries(["script", "img", "b", "iframe", "link"].map(name => [name, document.querySelectorAll(name).length])),
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    cells: [...document.querySelectorAll("rect[data-weight]")].map(cell =>
      [cell.dataset.head, cell.dataset.query, cell.dataset.key].map(Number).concat(cell.dataset.weight)),
    scale: [...document.querySelectorAll("#scale text[data-value]")].map(text =>
      ({ value: Number(text.dataset.value), text: text.textContent, box: box(text) })),
    tip: document.querySelector("#tip").hidden ? null : document.querySelector("#tip").innerText,
    said: document.querySelector("#said").textContent,
    heads: [...document.querySelectorAll("figure")].map(figure => ({
      name: figure.querySelector(".name").textContent, here: figure.querySelector(".here").textContent,
      svg: box(figure.querySelector("svg")), queries: labels(figure, "query", "queries"), keys: labels(figure, "key", "keys"),
      rows: line(figure, "query", "key"), columns: line(figure, "key", "query"),
      values: [...figure.querySelectorAll(".values text")].map(text => text.textContent),
      cross: [...figure.querySelectorAll(".cross")].map(rect => rect.getAttribute("visibility") === "visible" ? box(rect) : null) })),
  };
})()"""

COLOURS = """(() => [...document.querySelectorAll("rect[data-weight]")].map(cell =>
  [Number(cell.dataset.weight), getComputedStyle(cell).fill]))()"""


def require(truth, *sentence):
    if not truth:
        raise AssertionError(" ".join(map(str, sentence)))


def fill(template, data):
    """The page of some data, made as the template says."""
    text = json.dumps(data, ensure_ascii=False)
    return template.replace(PLACE, text.replace("<", "\\u003c"))


def data_of(page_text):
    """The data that a program wrote into a page."""
    found = re.search(r'<script type="application/json" id="heads">(.*?)</script>', page_text, re.DOTALL)
    return json.loads(found.group(1))


def centre(box, axis):
    return (box[axis] + box[axis + 2]) / 2


def overlap(a, b):
    """How deep two boxes lie in each other, in pixels."""
    return min(a[2] - b[0], b[2] - a[0], a[3] - b[1], b[3] - a[1])


def check_cells(seen, heads):
    """Every cell there once, with exactly the number that the page was given."""
    cells = {tuple(cell[:3]): float(cell[3]) for cell in seen["cells"]}
    require(len(cells) == len(seen["cells"]), "a cell is there twice")
    require(len(cells) == sum(len(row) for head in heads for row in head["weights"]), len(cells), "cells")
    for h, head in enumerate(heads):
        for q, row in enumerate(head["weights"]):
            for k, weight in enumerate(row):
                cell = cells[h, q, k]
                require(math.isnan(cell) if weight is None else cell == weight, f"cell {h}, {q}, {k} is {cell}, not {weight}")


def check_labels(seen, queries, keys, shapes=None):
    """Labels belong to their rows and columns, name their tokens, can be read, and do not lie on each other."""
    shapes = shapes or {}
    for head in seen["heads"]:
        for tokens, labels, lines, axis in ((queries, head["queries"], head["rows"], 1), (keys, head["keys"], head["columns"], 0)):
            require([label["index"] for label in labels] == list(range(len(tokens))), "labels of", head["name"])
            require(len(lines) == len(tokens), len(lines), "lines of cells for", len(tokens), "tokens")
            shown = [label for label in labels if label["shown"]]
            require(shown and shown[0]["index"] == 0, "no label for the first row or column of", head["name"])
            length = lines[-1][axis + 2] - lines[0][axis]
            # At least every 16 pixels, or all.
            require(len(shown) == len(tokens) or len(shown) >= length / 16, len(shown), "labels on", length, "pixels")
            for label in shown:
                line = lines[label["index"]]
                require(abs(centre(label["box"], axis) - centre(line, axis)) <= 2, "label", label, "is not at", line)
                require(label["size"] >= SMALLEST_TEXT, "text of", label["size"], "pixels")
                expected = shapes.get(tokens[label["index"]], tokens[label["index"]])
                whole = label["text"] == expected
                require(whole or label["text"].endswith("\u2026") and expected.startswith(label["text"][:-1]), label, "for", expected)
                inside = all(head["svg"][i] - 1 <= label["box"][i] and label["box"][i + 2] <= head["svg"][i + 2] + 1 for i in (axis ^ 1,))
                require(inside, label, "sticks out of", head["svg"])
            for a, b in zip(shown, shown[1:]):
                # Boxes have room above and below what is drawn.
                require(overlap(a["box"], b["box"]) <= 1.5, "labels lie on each other:", a, b)


def check_scale(seen, top):
    values = [mark["value"] for mark in seen["scale"]]
    require(len(values) >= 4 and values == sorted(values) and values[0] == 0, values)
    require(values[-1] == top, "the scale ends at", values[-1], "not", top)
    for mark in seen["scale"][1:]:
        require(abs(float(mark["text"]) - mark["value"]) <= 0.005 * mark["value"], mark)
    for a, b in zip(seen["scale"], seen["scale"][1:]):
        require(overlap(a["box"], b["box"]) <= 0, "numbers of the scale lie on each other:", a, b)


def lightness(colour):
    """Relative luminance of "rgb(r, g, b)"."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def check_colours(browser, dark=False):
    """More weight is darker, or in the dark lighter, without exception; what is no number has a mark of its own."""
    cells = sorted((weight, fill) for weight, fill in browser.ask(COLOURS) if weight is not None and weight > 0)
    require(cells, "no coloured cells")
    steps = [lightness(colour) for _, colour in cells]
    require(steps == sorted(steps, reverse=not dark), "colours are not in the order of the weights")
    require(max(steps) - min(steps) > 0.3, "all colours are alike")


def check_quiet(browser):
    require(browser.complaints() == [], browser.complaints())
    require(browser.requests() == [], "asked the network for", browser.requests())
