# SPDX-License-Identifier: Apache-2.0
"""Reads a page of attention weights in a browser, and checks its properties."""

import base64
import io
import json
import math
import re
import sys
from array import array

PLACE = "@HEED_HEADS@"
# The element of a page with its data.
DATA = r'<script type="application/json" id="heads">(.*?)</script>'
# The smallest size of a label's text, in pixels.
SMALLEST_TEXT = 10
# The smallest distance between labels, in pixels, if some are left out.
LABEL_PITCH = 16
# Cells of at least this size have ticks. Ticks with a label have this length, others are shorter.
CELL_WITH_TICK, LABEL_TICK = 3, 5
# The colour for a weight of 0, which is the background's.
PAPER = {"light": (255, 255, 255), "dark": (20, 22, 26)}

# `numbers` is one text in base64 with the pixels and weights of each head in turn. The browser encodes it, which is much faster than
# JavaScript.
READ = """(async () => {
  const box = element => { const b = element.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const numbers = [];
  const base64 = arrays => new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob(arrays));
  });
  const labels = (figure, kind, list) => [...figure.querySelectorAll(`g.${list} > text`)].map(text => ({
    index: Number(text.dataset[kind] ?? -1), skipped: Number(text.dataset.skipped ?? 0), text: text.textContent, box: box(text),
    size: parseFloat(getComputedStyle(text).fontSize), shown: getComputedStyle(text).display !== "none", now: text.classList.contains("now") }));
  const ticks = (figure, list) => {
    const path = figure.querySelector(`g.${list}`).parentElement.querySelector("path.ticks");
    const [left, top] = box(path.ownerSVGElement);
    return path.getAttribute("d").split("M").slice(1).map(text => text.match(/[-.\\d]+/g).map(Number))
      .map(([x, y, length]) => [left + x, top + y, Math.abs(length)]);
  };
  const picture = canvas => {
    const { width, height } = canvas;
    const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    numbers.push(copy.getImageData(0, 0, width, height).data);
    return { width, height, box: box(canvas) };
  };
  const weights = figure => {
    const num_queries = Number(figure.dataset.queries), num_keys = Number(figure.dataset.keys);
    const all = new Float64Array(num_queries * num_keys);
    for (let q = 0, i = 0; q < num_queries; ++q) for (let k = 0; k < num_keys; ++k) all[i++] = figure.weight(q, k);
    numbers.push(all);
    return { num_queries, num_keys };
  };
  const page = {
    title: document.title, heading: document.querySelector("h1").textContent, facts: document.querySelector(".facts").textContent,
    description: document.querySelector(".description").textContent, message: document.querySelector(".error, .empty")?.textContent ?? null,
    note: document.querySelector(".note").hidden ? null : document.querySelector(".note").textContent,
    elements: Object.fromEntries(["script", "img", "b", "iframe", "link", "*"].map(name => [name, document.querySelectorAll(name).length])),
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    scale: [...document.querySelectorAll(".scale text[data-value]")].map(text =>
      ({ value: Number(text.dataset.value), text: text.textContent, box: box(text) })),
    tip: document.querySelector("#tip").hidden ? null : document.querySelector("#tip").innerText,
    said: document.querySelector("#said").textContent,
    heads: [...document.querySelectorAll("figure")].map(figure => ({
      name: figure.querySelector(".name").textContent, here: figure.querySelector(".here").textContent,
      box: box(figure), map: box(figure.querySelector(".map")), side: box(figure.querySelector(".side")), over: box(figure.querySelector(".over")),
      queries: labels(figure, "query", "queries"), keys: labels(figure, "key", "keys"),
      query_ticks: ticks(figure, "queries"), key_ticks: ticks(figure, "keys"),
      canvas: picture(figure.querySelector("canvas")), weights: weights(figure),
      button: figure.querySelector("button").hidden ? null : figure.querySelector("button").textContent,
      values: [...figure.querySelectorAll(".values text")].map(text => [text.textContent, getComputedStyle(text).fill]),
      cross: [...figure.querySelectorAll(".cross")].map(rect => rect.getAttribute("visibility") === "visible" ? box(rect) : null) })),
  };
  return { ...page, numbers: await base64(numbers) };
})()"""

# All texts on the page with their colours.
TEXTS = """(() => [...document.querySelectorAll("h1, .description, .facts, .note, label, .name, .here, button, svg text")]
  .filter(text => text.textContent.trim() && !text.closest(".values") && text.getClientRects().length && getComputedStyle(text).display !== "none")
  .map(text => [text.textContent, getComputedStyle(text)[text instanceof SVGElement ? "fill" : "color"]]))()"""


class Head:
    """A head as the page shows it: the weights that the page displays at the pointer, the pixels of the canvas, and the
    boxes of rows and columns. Reads its pixels and then its weights from the stream `numbers`."""

    def __init__(self, seen, numbers):
        self.num_queries, self.num_keys = seen["weights"]["num_queries"], seen["weights"]["num_keys"]
        canvas = seen["canvas"]
        self.width, self.height, self.box = canvas["width"], canvas["height"], canvas["box"]
        # As 32-bit numbers, which are compared faster than tuples.
        self.pixels = array("I", numbers.read(4 * self.width * self.height))
        self.weights = array("d", numbers.read(8 * self.num_queries * self.num_keys))
        self.pooled = self.width < self.num_keys or self.height < self.num_queries
        self.rows = [self.cell(query, 0) for query in range(self.num_queries)]
        self.columns = [self.cell(0, key) for key in range(self.num_keys)]

    def cell(self, query, key):
        """A cell's box on the screen."""
        left, top, right, bottom = self.box
        x, y = (right - left) / self.num_keys, (bottom - top) / self.num_queries
        return [left + key * x, top + query * y, left + (key + 1) * x, top + (query + 1) * y]

    def pixel(self, query, key):
        """The pixel of the canvas at a cell's middle."""
        x = int((key + 0.5) * self.width / self.num_keys)
        y = int((query + 0.5) * self.height / self.num_queries)
        return self.pixels[y * self.width + x]


def read(browser):
    """Everything that the page shows."""
    seen = browser.ask(READ)
    numbers = io.BytesIO(base64.b64decode(seen.pop("numbers")))
    for head in seen["heads"]:
        view = Head(head, numbers)
        head |= {"view": view, "rows": view.rows, "columns": view.columns}
    return seen


def rgba(pixel):
    return tuple(pixel.to_bytes(4, sys.byteorder))


def require(truth, *sentence):
    if not truth:
        raise AssertionError(" ".join(map(str, sentence)))


def fill(template, data):
    """The template filled with data, by the rules in the template."""
    text = json.dumps(data, ensure_ascii=False)
    return template.replace(PLACE, text.replace("<", "\\u003c"))


def data_of(page_text):
    """The data that a program wrote into a page."""
    return json.loads(re.search(DATA, page_text, re.DOTALL).group(1))


def centre(box, axis):
    return (box[axis] + box[axis + 2]) / 2


def overlap(a, b):
    """By how many pixels two boxes overlap."""
    return min(a[2] - b[0], b[2] - a[0], a[3] - b[1], b[3] - a[1])


def check_cells(seen, heads):
    """Every cell is there once, with exactly the number that the page was given."""
    require(len(seen["heads"]) == len(heads), len(seen["heads"]), "heads")
    for h, (head, right) in enumerate(zip(seen["heads"], heads)):
        view, rows = head["view"], right["weights"]
        require((view.num_queries, view.num_keys) == (len(rows), len(rows[0])), "the size of head", h)
        given = array("d", [math.nan if weight is None else weight for row in rows for weight in row])
        if view.weights == given:
            continue
        for i, (shown, weight) in enumerate(zip(view.weights, given, strict=True)):
            fits = math.isnan(shown) if math.isnan(weight) else shown == weight
            require(fits, f"cell {h}, {i // view.num_keys}, {i % view.num_keys} is {shown}, not {weight}")


def pooled(view):
    """The largest weight under each pixel of a canvas with fewer pixels than cells; NaN if one of them is NaN."""
    largest = [0.0] * (view.width * view.height)
    for q in range(view.num_queries):
        row = q * view.height // view.num_queries * view.width
        for k, weight in enumerate(view.weights[q * view.num_keys:(q + 1) * view.num_keys]):
            at = row + k * view.width // view.num_keys
            if weight > largest[at] or weight != weight:
                largest[at] = weight
    return largest


def check_pixels(seen, top=None, root=False, scheme="light"):
    """Each cell has the colour of its weight: the lightness follows the weight, 0 has the background's colour, NaN
    none."""
    top = top or max((weight for head in seen["heads"] for weight in head["view"].weights if weight > 0), default=1)
    for head in seen["heads"]:
        view, name = head["view"], head["name"]
        weights, pixels = view.weights, view.pixels
        if view.pooled:
            require(seen["note"], "cells smaller than pixels, without a word about it")
            weights = pooled(view)
        elif len(pixels) != len(weights):
            pixels = [view.pixel(q, k) for q in range(view.num_queries) for k in range(view.num_keys)]
        # Only the smallest and the largest weight of each colour are checked, since there are few colours.
        least, largest = {}, {}
        for weight, pixel in zip(weights, pixels, strict=True):
            if weight < least.get(pixel, math.inf):
                least[pixel] = weight
            if weight > largest.get(pixel, -1):
                largest[pixel] = weight
        require(all(rgba(pixel)[3] == 0 for weight, pixel in zip(weights, pixels) if weight != weight), name, "has a coloured NaN")
        for pixel, low in least.items():
            colour, high = rgba(pixel), largest[pixel]
            require(colour[3] == 255, name, "has a clear cell of weight", low)
            if low == 0:
                require(high == 0 and colour[:3] == PAPER[scheme], name, "has", colour, "for 0 and", high)
                continue
            light = (0.965 - oklab_lightness(colour)) / 0.715
            part = light if scheme == "light" else 1 - light
            for weight in (low, high):
                right = min(weight / top, 1)
                # Half of one of 255 levels, and three colours rounded to 8 bits.
                close = abs(part - (math.sqrt(right) if root else right)) <= 0.5 / 255 + 0.006
                require(close, name, "has the colour", colour, "of", part * top, "for", weight)


def check_painted(browser, seen, whole=True):
    """In a picture of the page each cell has the colour that it has on its canvas, so no cell is missing, covered or
    displaced."""
    offset = browser.ask("[scrollX, scrollY]")
    cells = []
    for head in seen["heads"]:
        view = head["view"]
        for q in range(view.num_queries):
            for k in range(view.num_keys):
                left, top, right, bottom = view.cell(q, k)
                colour = rgba(view.pixel(q, k))
                if colour[3]:
                    # In large cells the weight may be written in the middle, so a point beside it is compared.
                    part = 0.2 if bottom - top >= 20 else 0.5
                    cells.append((left + part * (right - left) + offset[0], top + part * (bottom - top) + offset[1], colour))
    require(cells, "no cells")
    colours = browser.colours([(x, y) for x, y, _ in cells], whole)
    for (x, y, right), colour in zip(cells, colours, strict=True):
        require(max(abs(a - b) for a, b in zip(colour, right)) <= 2, f"at {x:.0f}, {y:.0f} the page is {colour}, not {right}")


def least_step(cell, size, numbered):
    """Each cell must have a label if a line of text fits into it; otherwise one of so many cells, which is a round
    number if labels are numbers."""
    if cell >= size + 1.5:
        return 1
    steps = (digit * 10 ** power for power in range(9) for digit in (1, 2, 5)) if numbered else range(1, 10 ** 9)
    return next(step for step in steps if step * cell >= LABEL_PITCH)


def check_skipped(tokens, labels, ticks, lines, axis):
    """Where labels are left out there is an ellipsis. Every cell has a tick, a longer one if it has a label."""
    shown = sorted((label for label in labels if label["shown"] and label["index"] >= 0), key=lambda label: label["index"])
    dots = [label for label in labels if label["shown"] and label["skipped"]]
    cell = lines[0][axis + 2] - lines[0][axis]
    marked = any(label["now"] for label in shown)
    if not marked:
        step = least_step(cell, shown[0]["size"], tokens == [str(i) for i in range(len(tokens))])
        require([label["index"] for label in shown] == list(range(0, len(tokens), step)), "labels", [label["index"] for label in shown], "step", step)
    for label, after in zip(shown, [*shown[1:], None]):
        num_skipped = (after["index"] if after else len(tokens)) - label["index"] - 1
        if num_skipped == 0 or label["now"] or after and after["now"]:
            continue
        end = centre(after["box"], axis) if after else math.inf
        # The boxes of texts extend above capitals and below the baseline, so the ellipsis may be a pixel or two off
        # their middle.
        between = [dot for dot in dots if centre(label["box"], axis) + 3 < centre(dot["box"], axis) < end - 3]
        between = between if after else between[:1]
        require(len(between) == 1 and between[0]["skipped"] == num_skipped, len(between), "ellipses for", num_skipped, "labels after", label)
        require(between[0]["text"] == "\u2026", between)
    if not marked:
        require(len(dots) == sum(1 for label in shown if label["index"] + 1 < len(tokens)) or len(shown) == len(tokens), len(dots), "ellipses")
    with_label = {label["index"] for label in labels if label["index"] >= 0 and not label["now"]}
    expected = [i for i in range(len(tokens)) if cell >= CELL_WITH_TICK or i in with_label]
    require(len(ticks) == len(expected), len(ticks), "ticks for", len(tokens), "cells of", cell)
    for index, tick in zip(expected, ticks):
        require(abs(tick[axis] - centre(lines[index], axis)) <= 0.6, "tick", tick, "is not at", lines[index])
        require((tick[2] == LABEL_TICK) == (index in with_label), "the length of tick", index)


def check_labels(seen, queries, keys, shapes=None):
    """Labels are beside their rows and columns, show their tokens, are readable, do not overlap, and omitted ones are
    marked."""
    shapes = shapes or {}
    for head in seen["heads"]:
        for tokens, labels, ticks, lines, axis, area in (
                (queries, head["queries"], head["query_ticks"], head["rows"], 1, head["side"]),
                (keys, head["keys"], head["key_ticks"], head["columns"], 0, head["over"])):
            require(len(lines) == len(tokens), len(lines), "lines of cells for", len(tokens), "tokens")
            shown = sorted((label for label in labels if label["shown"] and label["index"] >= 0), key=lambda label: label["index"])
            require(shown and shown[0]["index"] == 0, "no label for the first row or column of", head["name"])
            require(len({label["index"] for label in shown}) == len(shown), "a label twice in", head["name"])
            check_skipped(tokens, labels, ticks, lines, axis)
            for label in shown:
                line = lines[label["index"]]
                require(abs(centre(label["box"], axis) - centre(line, axis)) <= 2, "label", label, "is not at", line)
                require(label["size"] >= SMALLEST_TEXT, "text of", label["size"], "pixels")
                expected = shapes.get(tokens[label["index"]], tokens[label["index"]])
                whole = label["text"] == expected
                require(whole or label["text"].endswith("\u2026") and expected.startswith(label["text"][:-1]), label, "for", expected)
                inside = all(area[i] - 1 <= label["box"][i] and label["box"][i + 2] <= area[i + 2] + 1 for i in (axis ^ 1,))
                require(inside, label, "sticks out of", area)
                # The map of cells begins here.
                require(label["box"][(axis ^ 1) + 2] <= head["view"].box[axis ^ 1], label, "lies on the map")
            for a, b in zip(shown, shown[1:]):
                # Boxes of texts are higher than the texts.
                require(overlap(a["box"], b["box"]) <= 1.5, "labels lie on each other:", a, b)


def check_percent(text, weight, relative):
    """A text shows a weight in percent, never with an exponent. A tiny weight is not shown as 0."""
    if text == "<0.0001%":
        require(0 < weight < 1e-6, text, "for", weight)
        return
    require(re.fullmatch(r"\d+(\.\d+)?%", text), repr(text), "is no number in percent")
    require(abs(float(text[:-1]) / 100 - weight) <= relative * weight, text, "for", weight)


def check_scale(seen, top):
    values = [mark["value"] for mark in seen["scale"]]
    require(len(values) >= 4 and values == sorted(values) and values[0] == 0, values)
    require(values[-1] == top, "the scale ends at", values[-1], "not", top)
    require(seen["scale"][0]["text"] == ">0", seen["scale"][0])
    for mark in seen["scale"][1:]:
        check_percent(mark["text"], mark["value"], 0.005)
    for a, b in zip(seen["scale"], seen["scale"][1:]):
        require(overlap(a["box"], b["box"]) <= 0, "numbers of the scale lie on each other:", a, b)


def linear_rgb(colour):
    return [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (part / 255 for part in colour[:3])]


def oklab_lightness(colour):
    """The perceived lightness of a colour, from 0 to 1 (Ottosson's OKLab)."""
    red, green, blue = linear_rgb(colour)
    l = 0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue
    m = 0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue
    s = 0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue
    return 0.2104542553 * l ** (1 / 3) + 0.7936177850 * m ** (1 / 3) - 0.0040720468 * s ** (1 / 3)


def colour_of(text):
    """The numbers in "rgb(r, g, b)"."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def luminance(colour):
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear_rgb(colour)))


def contrast(a, b):
    """The contrast ratio of the WCAG, from 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def check_colours(seen, dark=False):
    """A larger weight is always darker, or lighter in the dark scheme. NaN has a pattern of its own."""
    cells = sorted((weight, luminance(rgba(head["view"].pixel(i // head["view"].num_keys, i % head["view"].num_keys))))
                   for head in seen["heads"] for i, weight in enumerate(head["view"].weights) if weight > 0)
    require(cells, "no coloured cells")
    steps = [colour for _, colour in cells]
    require(steps == sorted(steps, reverse=not dark), "colours are not in the order of the weights")
    require(max(steps) - min(steps) > 0.3, "all colours are alike")


def check_contrast(browser, seen, scheme="light"):
    """Every text has a sufficient contrast to its background: 4.5, as the WCAG requires for small texts."""
    texts = browser.ask(TEXTS)
    require(len(texts) > 5, texts)
    for text, colour in texts:
        require(contrast(colour_of(colour), PAPER[scheme]) >= 4.5, repr(text), "in", colour, "on the page")
    for head in seen["heads"]:
        view = head["view"]
        for i, (text, colour) in enumerate(head["values"]):
            cell = rgba(view.pixel(i // view.num_keys, i % view.num_keys))
            require(cell[3] == 0 or contrast(colour_of(colour), cell) >= 4.5, text, "in", colour, "on", cell)


def check_quiet(browser):
    require(browser.complaints() == [], browser.complaints())
    require(browser.requests() == [], "asked the network for", browser.requests())
