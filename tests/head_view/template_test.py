# SPDX-License-Identifier: Apache-2.0
"""template_test.py --source ROOT --pages FOLDER: the template by itself, with data of every shape, in headless Chromium: how it fits windows
and paper, what pointer, keys and touch show, colours in the light and in the dark, and what it says about data that do not fit.
Ends with 77 where there is no Chromium."""

import argparse
import random
import re
import sys
from pathlib import Path

import page
from browser import SKIPPED, Browser, find_chromium
from page import require

# Heads, queries, keys.
SHAPES = [(1, 1, 1), (1, 4, 4), (3, 4, 13), (2, 1, 64), (2, 64, 1), (5, 7, 9), (12, 64, 64), (1, 200, 200), (40, 6, 6)]
WINDOWS = [(400, 800), (800, 600), (1400, 1000), (2560, 1300)]


def attention(num_heads, num_queries, num_keys, seed=1):
    """Random rows that sum to 1."""
    draw = random.Random(seed)
    rows = [[draw.expovariate(1) ** 3 for _ in range(num_keys)] for _ in range(num_heads * num_queries)]
    rows = [[x / sum(row) for x in row] for row in rows]
    return [{"name": f"head {h}", "weights": rows[h * num_queries:(h + 1) * num_queries]} for h in range(num_heads)]


def words(count, seed):
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefghij", k=draw.randint(1, 12))) for _ in range(count)]


class Pages:
    def __init__(self, browser, template, folder):
        self.browser, self.template, self.folder = browser, template, folder

    def open(self, name, data, *window):
        path = self.folder / f"{name}.html"
        path.write_text(page.fill(self.template, data), encoding="utf-8")
        self.browser.open(path, *window)
        return self.read()

    def read(self):
        return self.browser.ask(page.READ)

    def cell(self, head, query, key):
        """The middle of a cell, scrolled into the window."""
        return self.browser.ask(f"""(() => {{
          const cell = document.querySelector('rect[data-head="{head}"][data-query="{query}"][data-key="{key}"]');
          cell.scrollIntoView({{ block: "center" }});
          const box = cell.getBoundingClientRect();
          return [(box.left + box.right) / 2, (box.top + box.bottom) / 2]; }})()""")


def check_source(pages):
    template = pages.template
    require(template.count(page.PLACE) == 1, "the place for the data is there", template.count(page.PLACE), "times")
    for address in (r"https?:", r"[\"'(]//", r"@import", r"\bfetch\(", r"XMLHttpRequest", r"\b(?:src|srcset)="):
        require(not re.search(address, template), "the template may reach for something outside:", address)
    require(set(re.findall(r"url\(([^)]*)\)", template)) <= {"#missing"}, "a url in a style")
    require(re.findall(r'<link [^>]*href="([^"]*)"', template) == ["data:,"], "a link to something outside")
    require("default-src 'none'" in template, "no content security policy")


def check_shapes(pages):
    for shape in SHAPES:
        data = {"title": "Shapes", "queries": words(shape[1], 2), "keys": words(shape[2], 3), "heads": attention(*shape)}
        seen = pages.open("shape", data)
        page.check_cells(seen, data["heads"])
        for window in WINDOWS:
            pages.browser.resize(*window)
            seen = pages.read()
            page.check_labels(seen, data["queries"], data["keys"])
            require(seen["wider"] <= 0, shape, "is wider than a window of", window[0], "by", seen["wider"])
            for head in seen["heads"]:
                right = max(head["columns"][-1][2], head["svg"][2])
                require(right <= window[0], shape, "ends at", right, "in a window of", window[0])
        page.check_quiet(pages.browser)
    print(f"{len(SHAPES)} shapes in {len(WINDOWS)} windows")


def check_mark(seen, data, at, number):
    """The cell's row, column and numbers, in every head."""
    head, query, key = at
    for h, view in enumerate(seen["heads"]):
        weight = data["heads"][h]["weights"][query][key]
        require(abs(float(view["here"]) - weight) <= 0.005 * weight, view["here"], "for", weight)
        for labels, index in ((view["queries"], query), (view["keys"], key)):
            require([label["index"] for label in labels if label["now"]] == [index], "the marked label of", at)
            require(labels[index]["shown"], "the marked label is hidden")
        row, column, cell = view["cross"]
        require(abs(page.centre(row, 1) - page.centre(view["rows"][query], 1)) < 0.6, "the marked row")
        require(abs(page.centre(column, 0) - page.centre(view["columns"][key], 0)) < 0.6, "the marked column")
        require(page.overlap(row, column) > 0 and abs(page.centre(cell, 0) - page.centre(column, 0)) < 0.6, "the marked cell")
    for text in (data["heads"][head]["name"], f"query {query}", data["queries"][query], f"key {key}", data["keys"][key]):
        require(text in seen["tip"], text, "is not in", repr(seen["tip"]))
    require(abs(float(seen["tip"].split()[0]) - number) <= 5e-6 * number, seen["tip"], "for", number)
    page.check_labels(seen, data["queries"], data["keys"])


def check_pointer(pages):
    data = {"queries": words(64, 4), "keys": words(48, 5), "heads": attention(3, 64, 48)}
    for window in ((1400, 1000), (400, 800)):
        pages.open("pointer", data, *window)
        for at in ((0, 0, 0), (1, 63, 47), (2, 30, 0), (1, 31, 22), (0, 32, 23)):
            pages.browser.move(*pages.cell(*at))
            check_mark(pages.read(), data, at, data["heads"][at[0]]["weights"][at[1]][at[2]])
        pages.browser.move(1, 1)
        seen = pages.read()
        require(seen["tip"] is None and seen["heads"][0]["cross"] == [None] * 3 and seen["heads"][0]["here"] == "", "the mark stays")
        pages.browser.touch(*pages.cell(2, 40, 17))
        check_mark(pages.read(), data, (2, 40, 17), data["heads"][2]["weights"][40][17])
        pages.browser.move(1, 1)
    page.check_quiet(pages.browser)
    print("pointer and touch")


def check_keyboard(pages):
    data = {"queries": words(5, 6), "keys": words(7, 7), "heads": attention(2, 5, 7)}
    pages.open("keyboard", data)
    for _ in range(10):
        pages.browser.press("Tab")
        if pages.browser.ask("document.activeElement.tagName") == "svg":
            break
    at = [0, 0, 0]
    for key, (query, column) in {"ArrowRight": (0, 1), "ArrowDown": (1, 1), "End": (1, 6), "PageDown": (4, 6), "ArrowLeft": (4, 5), "Home": (4, 0),
                                 "ArrowUp": (3, 0), "PageUp": (0, 0)}.items():
        pages.browser.press(key)
        at = [0, query, column]
        seen = pages.read()
        check_mark(seen, data, at, data["heads"][0]["weights"][query][column])
        require(data["queries"][query] in seen["said"], "nothing is said to those who listen")
    pages.browser.press("ArrowUp")
    check_mark(pages.read(), data, at, data["heads"][0]["weights"][0][0])
    pages.browser.press("Escape")
    require(pages.read()["tip"] is None, "Escape leaves the mark")
    page.check_quiet(pages.browser)
    print("keyboard")


def check_scales(pages):
    data = {"queries": words(12, 8), "heads": attention(4, 12, 12)}
    largest = max(weight for head in data["heads"] for row in head["weights"] for weight in row)
    seen = pages.open("scale", data)
    for choice, top in (("value=one", 1), ("value=largest", largest)):
        pages.browser.ask(f"document.querySelector('input[{choice}]').click()")
        page.check_scale(pages.read(), top)
        page.check_colours(pages.browser)
    linear = pages.browser.ask(page.COLOURS)
    pages.browser.ask("document.querySelector('input[name=root]').click()")
    page.check_scale(pages.read(), largest)
    page.check_colours(pages.browser)
    for (weight, before), (_, after) in zip(linear, pages.browser.ask(page.COLOURS)):
        require(page.lightness(after) <= page.lightness(before), weight, "is no darker for its square root")
    pages.browser.media(scheme="dark")
    page.check_colours(pages.browser, dark=True)
    background = pages.browser.ask("getComputedStyle(document.body).backgroundColor")
    require(page.lightness(background) < 0.02, "the page is", background, "in the dark")
    pages.browser.media("print")
    page.check_colours(pages.browser)
    require(pages.browser.ask("getComputedStyle(document.querySelector('fieldset')).display") == "none", "controls on paper")
    pages.browser.media()
    print("colours, in the light, in the dark and on paper")


def check_enlarged(pages):
    data = {"queries": words(64, 9), "heads": attention(12, 64, 64)}
    before = pages.open("large", data)
    pages.browser.ask("document.querySelectorAll('figure button')[4].click()")
    seen = pages.read()
    head = seen["heads"][4]
    require(all(label["shown"] for label in head["queries"] + head["keys"]), "an enlarged head has not all labels")
    page.check_labels(seen, data["queries"], data["queries"])
    pages.browser.ask("document.querySelectorAll('figure button')[4].click()")
    sizes = lambda seen: [[round(box[2] - box[0]) for box in (head["svg"], head["rows"][0])] for head in seen["heads"]]
    require(sizes(pages.read()) == sizes(before), "reduced, a head is not what it was")
    pages.browser.pdf(pages.folder / "large.pdf")
    num_sheets = len(re.findall(rb"/Type\s*/Page\b", (pages.folder / "large.pdf").read_bytes()))
    require(num_sheets == 2, "12 heads of 64 x 64 take", num_sheets, "sheets of A4")
    require(sizes(pages.read()) == sizes(before), "printing leaves another layout")
    print("enlarged, reduced and printed")


def check_special(pages):
    heads = [{"weights": [[0.25, 0.75, 0], [0, 0, 0], [None, None, None]]}]
    seen = pages.open("special", {"title": "<b>T</b>", "description": "<i>D</i>", "model": "M&amp;", "layer": "L", "heads": heads})
    page.check_cells(seen, heads)
    page.check_labels(seen, ["0", "1", "2"], ["0", "1", "2"])
    require((seen["title"], seen["heading"], seen["description"]) == ("<b>T</b>", "<b>T</b>", "<i>D</i>"), "texts of the header")
    require(seen["facts"].startswith("M&amp; \u00b7 L \u00b7 1 head"), seen["facts"])
    require(seen["elements"]["b"] == 0, "a text became markup")
    require(seen["heads"][0]["values"] == [".25", ".75", "0"] + ["0"] * 3 + ["NaN"] * 3, seen["heads"][0]["values"])
    fills = [fill for _, fill in pages.browser.ask(page.COLOURS)]
    require(fills[3:6] == [fills[2]] * 3 and "missing" in fills[6] and fills[6:] == [fills[6]] * 3, fills)
    pages.browser.move(*pages.cell(0, 1, 1))
    require("all weights of this query are 0" in pages.read()["tip"], "an empty row is not explained")
    pages.browser.move(*pages.cell(0, 2, 1))
    require("not a number" in pages.read()["tip"], "NaN is not explained")
    page.check_quiet(pages.browser)

    for data, sentence in (
            ({"heads": []}, "no heads"),
            ({"queries": [], "heads": [{"weights": []}]}, "no queries, no keys"),
            ({"queries": ["a"], "keys": [], "heads": [{"weights": [[]]}]}, "no keys"),
            ({"heads": [{"weights": [[1, 0], [1]]}]}, "heads[0].weights[1] has 1 numbers, but there are 2 keys"),
            ({"queries": ["a"], "heads": [{"weights": [[1], [1]]}]}, "heads[0].weights has 2 rows, but there are 1 queries"),
            ({"heads": [{"weights": [[-0.5, 1.5]]}]}, "heads[0].weights[0][0] is -0.5"),
            ({"heads": [{"weights": [[0.5, "0.5"]]}]}, "heads[0].weights[0][1] is \"0.5\""),
            ({"heads": [{"weights": 1}]}, "heads[0].weights is no list"),
            ({"heads": [{"weights": [[1]]}], "keys": [1]}, "\"keys\" is no list of texts"),
            ({}, "no list \"heads\"")):
        seen = pages.open("message", data)
        require(seen["message"] and sentence in seen["message"], seen["message"], "does not say", sentence)
        require(seen["cells"] == [], "cells beside a message")
    (pages.folder / "template.html").write_text(pages.template, encoding="utf-8")
    pages.browser.open(pages.folder / "template.html")
    require("This is the template" in pages.read()["message"], "the template does not say what it is")
    print("empty rows, NaN, and data that do not fit")


def check_bite(pages):
    """The checks see one wrong cell, one wrong label and one wrong colour."""
    data = {"queries": words(9, 10), "heads": attention(2, 9, 9)}
    wrongs = [
        ("document.querySelectorAll('rect[data-weight]')[100].dataset.weight = 0.5", lambda seen: page.check_cells(seen, data["heads"])),
        ("document.querySelectorAll('rect[data-weight]')[7].remove()", lambda seen: page.check_cells(seen, data["heads"])),
        ("document.querySelector('g.keys').lastChild.textContent += 'x'", lambda seen: page.check_labels(seen, data["queries"], data["queries"])),
        ("document.querySelector('g.queries').style.transform = 'translateY(9px)'",
         lambda seen: page.check_labels(seen, data["queries"], data["queries"])),
        ("document.querySelectorAll('rect[data-weight]')[50].setAttribute('class', 'c255')", lambda seen: page.check_colours(pages.browser)),
        ("console.log('x')", lambda seen: page.check_quiet(pages.browser)),
    ]
    for wrong, check in wrongs:
        check(pages.open("bite", data))
        pages.browser.ask(f"void ({wrong})")
        try:
            check(pages.read())
        except AssertionError:
            continue
        raise AssertionError(f"unseen: {wrong}")
    print(f"{len(wrongs)} mistakes made on purpose are seen")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--pages", type=Path, required=True)
    arguments = parser.parse_args()
    if not find_chromium():
        print("skipped: there is no Chromium; scripts/install-dependencies --test installs it")
        sys.exit(SKIPPED)
    arguments.pages.mkdir(parents=True, exist_ok=True)
    template = (arguments.source / "examples" / "head_view" / "head_view.html").read_text(encoding="utf-8")
    with Browser() as browser:
        pages = Pages(browser, template, arguments.pages)
        for check in (check_source, check_shapes, check_pointer, check_keyboard, check_scales, check_enlarged, check_special, check_bite):
            check(pages)


if __name__ == "__main__":
    main()
