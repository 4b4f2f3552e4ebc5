# SPDX-License-Identifier: Apache-2.0
"""template_test.py --source ROOT --pages FOLDER: tests the template with data of every shape in headless Chromium: how
it fits windows and paper, its colours in the light and the dark scheme, what pointer, keys and touch show, many
cells, and its messages about invalid data. Exits with 77 if there is no Chromium."""

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
WINDOWS = [(400, 800), (800, 600), (1280, 900), (1400, 1000), (2560, 1300)]
# The most elements of a page with 12 heads, however many cells they have.
MANY_ELEMENTS = 10000


def attention(num_heads, num_queries, num_keys, seed=1):
    """Random rows that sum to 1."""
    draw = random.Random(seed)
    rows = [[draw.expovariate(1) ** 3 for _ in range(num_keys)] for _ in range(num_heads * num_queries)]
    totals = [sum(row) for row in rows]
    rows = [[x / total for x in row] for row, total in zip(rows, totals, strict=True)]
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
        return page.read(self.browser)

    def cell(self, head, query, key):
        """The middle of a cell, after scrolling it into the window."""
        return self.browser.ask(f"""(() => {{
          const figure = document.querySelector('figure[data-head="{head}"]'), canvas = figure.querySelector("canvas");
          const y = () => canvas.getBoundingClientRect().top + ({query} + 0.5) * canvas.clientHeight / figure.dataset.queries;
          window.scrollBy(0, y() - window.innerHeight / 2);
          return [canvas.getBoundingClientRect().left + ({key} + 0.5) * canvas.clientWidth / figure.dataset.keys, y()]; }})()""")


def check_source(pages):
    template = pages.template
    require(template.count(page.PLACE) == 1, "the place for the data is there", template.count(page.PLACE), "times")
    for address in (r"https?:", r"[\"'(]//", r"@import", r"\bfetch\(", r"XMLHttpRequest", r"\b(?:src|srcset)="):
        require(not re.search(address, template), "the template may reach for something outside:", address)
    require(not re.search(r"\burl\(", template), "a url in a style")
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
                right = max(head["columns"][-1][2], head["over"][2])
                require(right <= window[0], shape, "ends at", right, "in a window of", window[0])
            page.check_pixels(seen)
        page.check_quiet(pages.browser)
    print(f"{len(SHAPES)} shapes in {len(WINDOWS)} windows")


def check_mark(seen, data, at, number):
    """Checks that every head marks the cell, with its row, column and numbers."""
    head, query, key = at
    for h, view in enumerate(seen["heads"]):
        weight = data["heads"][h]["weights"][query][key]
        page.check_percent(view["here"], weight, 0.005)
        for labels, index in ((view["queries"], query), (view["keys"], key)):
            require([label["index"] for label in labels if label["now"] and label["shown"]] == [index], "the marked label of", at)
        row, column, cell = view["cross"]
        require(abs(page.centre(row, 1) - page.centre(view["rows"][query], 1)) < 0.6, "the marked row")
        require(abs(page.centre(column, 0) - page.centre(view["columns"][key], 0)) < 0.6, "the marked column")
        require(page.overlap(row, column) > 0 and abs(page.centre(cell, 0) - page.centre(column, 0)) < 0.6, "the marked cell")
    found = re.fullmatch(r"weight (\S+) in (.*)\nquery (\d+): (.*)\nkey (\d+): (.*)", seen["tip"])
    require(found, "the tip does not name what it shows:", repr(seen["tip"]))
    require(found.groups()[1:] == (data["heads"][head]["name"], str(query), data["queries"][query], str(key), data["keys"][key]), seen["tip"])
    page.check_percent(found[1], number, 5e-6)
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


def check_still(pages):
    """Nothing on the page moves when the pointer marks a cell."""
    for shape in ((3, 3, 3), (2, 1, 1), (4, 64, 64)):
        heads = attention(*shape)
        heads[1] |= {"name": "a head with a long name", "weights": [[1e-7] * shape[2]] * shape[1]}
        heads[0]["weights"][0][0] = 0.000012345
        for window in WINDOWS:
            before = pages.open("still", {"heads": heads}, *window)
            x, y = pages.cell(0, 0, 0)
            scrolled = pages.browser.ask("scrollY")
            pages.browser.move(x, y)
            seen = pages.read()
            require(seen["heads"][1]["here"] == "<0.0001%" and seen["heads"][0]["here"] == "0.00123%", seen["heads"][0]["here"])
            for head, after in zip(before["heads"], seen["heads"]):
                moved = [a - b for a, b in zip(after["view"].box + after["box"], head["view"].box + head["box"])]
                require(moved == [0, -scrolled] * 4, "marked,", shape, "moves by", moved, "in", window)
            pages.browser.move(1, 1)
    print("nothing moves")


def check_keyboard(pages):
    data = {"queries": words(5, 6), "keys": words(7, 7), "heads": attention(2, 5, 7)}
    pages.open("keyboard", data)
    for _ in range(10):
        pages.browser.press("Tab")
        if pages.browser.ask("document.activeElement.tagName") == "svg":
            break
    outlines = pages.browser.ask("[...document.querySelectorAll('figure canvas')].map(canvas => getComputedStyle(canvas).outlineWidth)")
    require(outlines == ["2px", "1px"], "the map that the keys go to is not marked:", outlines)
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
        seen = pages.read()
        page.check_scale(seen, top)
        page.check_colours(seen)
        page.check_pixels(seen, top)
    pages.browser.ask("document.querySelector('input[name=root]').click()")
    for medium, scheme, colours in (("", "light", "light"), ("", "dark", "dark"), ("print", "dark", "light"), ("", "light", "light")):
        pages.browser.media(medium, scheme)
        pages.browser.settle()
        seen = pages.read()
        page.check_scale(seen, largest)
        page.check_colours(seen, dark=colours == "dark")
        page.check_pixels(seen, largest, root=True, scheme=colours)
        page.check_painted(pages.browser, seen)
        page.check_contrast(pages.browser, seen, colours)
        background = page.colour_of(pages.browser.ask("getComputedStyle(document.body).backgroundColor"))
        require(background == page.PAPER[colours], "the page is", background, "in", medium, scheme)
        controls = pages.browser.ask("getComputedStyle(document.querySelector('fieldset')).display")
        require((controls == "none") == (medium == "print"), "controls on paper, or none on the screen")
    print("colours, in the light, in the dark and on paper")


def shown_labels(head):
    return [label for label in head["queries"] + head["keys"] if label["shown"] and label["index"] >= 0]


def check_enlarge_button(pages):
    """In every window the button enlarges a map so that it has all its labels, or is missing if nothing would change.
    """
    num_buttons = 0
    for shape in ((1, 1, 1), (2, 4, 13), (2, 17, 17), (2, 64, 64), (1, 30, 200)):
        data = {"queries": words(shape[1], 2), "keys": words(shape[2], 3), "heads": attention(*shape)}
        pages.open("button", data)
        for window in WINDOWS:
            pages.browser.resize(*window)
            before = pages.read()["heads"][0]
            if before["button"] is None:
                require(len(shown_labels(before)) == shape[1] + shape[2], "labels left out, and no way to see them:", shape, window)
                continue
            num_buttons += 1
            require(before["button"] == "enlarge", before["button"])
            pages.browser.ask("document.querySelector('figure button').click()")
            seen = pages.read()
            after = seen["heads"][0]
            require(after["button"] == "reduce", after["button"])
            page.check_cells(seen, data["heads"])
            page.check_labels(seen, data["queries"], data["keys"])
            require(len(shown_labels(after)) == shape[1] + shape[2], shape, window, "enlarged has not all labels")
            size = lambda head: [head["rows"][0][i + 2] - head["rows"][0][i] for i in (0, 1)]
            larger = size(after) > size(before) or any(label["text"].endswith("\u2026") for label in shown_labels(before))
            require(larger and all(a >= b for a, b in zip(size(after), size(before))), shape, window, size(before), size(after))
            require(seen["wider"] <= 0, "enlarged,", shape, "is wider than a window of", window[0])
            require(after["map"][2] <= window[0], "the enlarged map of", shape, "ends at", after["map"][2], "in a window of", window[0])
            pages.browser.ask("document.querySelector('figure button').click()")
    require(num_buttons > len(WINDOWS), num_buttons, "buttons")
    print(f"{num_buttons} maps enlarged in {len(WINDOWS)} windows")


def check_enlarged_keyboard(pages):
    """In a narrow window an enlarged map scrolls to the cell that the keys move to; the names of the queries stay
    visible."""
    data = {"queries": words(64, 9), "heads": attention(3, 64, 64)}
    pages.open("narrow", data, 400, 800)
    pages.browser.ask("document.querySelectorAll('figure button')[1].click()")
    pages.browser.press("Tab")
    pages.browser.ask("document.querySelectorAll('.over')[1].focus()")
    for key, query, column in (("End", 0, 63), ("PageDown", 63, 63), ("ArrowLeft", 63, 62), ("Home", 63, 0), ("PageUp", 0, 0)):
        pages.browser.press(key)
        pages.browser.settle()
        seen = pages.read()
        head = seen["heads"][1]
        require(f"query {query}:" in seen["tip"] and f"key {column}:" in seen["tip"], key, seen["tip"])
        cell = head["view"].cell(query, column)
        bar = pages.browser.ask("document.querySelector('.bar').getBoundingClientRect().bottom")
        inside = cell[0] >= head["side"][2] - 1 and cell[2] <= 400 and cell[1] >= bar and cell[3] <= 800
        require(inside, key, "leads to a cell that is not seen:", cell, "names end at", head["side"][2], "the bar at", bar)
        require(head["side"][0] >= 0, "the names of the queries are scrolled away")
    page.check_quiet(pages.browser)
    print("an enlarged map in a narrow window, by keys")


def check_tall_picture(pages):
    """A picture of the whole page, which is much higher than the window, shows every cell of every head."""
    data = {"queries": words(64, 9), "heads": attention(12, 64, 64)}
    for scheme, width, height in (("light", 400, 800), ("light", 1280, 900), ("dark", 1280, 900)):
        pages.browser.media(scheme=scheme)
        seen = pages.open("tall", data, width, height)
        page.check_cells(seen, data["heads"])
        page.check_labels(seen, data["queries"], data["queries"])
        page.check_pixels(seen, scheme=scheme)
        page.check_painted(pages.browser, seen)
        page.check_contrast(pages.browser, seen, scheme)
    pages.browser.media("print", "dark")
    pages.browser.settle()
    seen = pages.read()
    page.check_pixels(seen)
    page.check_painted(pages.browser, seen)
    page.check_contrast(pages.browser, seen)
    pages.browser.media()
    print("all heads in one tall picture, in the light, in the dark and on paper")


def check_many_cells(pages):
    """12 heads of 512 x 512: every cell is shown, and the number of elements does not grow with the cells."""
    rows = [[round(weight, 9) for weight in row] for row in attention(1, 512, 512)[0]["weights"]]
    data = {"heads": [{"weights": [row[h:] + row[:h] for row in rows]} for h in range(12)]}
    names = [str(i) for i in range(512)]
    seen = pages.open("many", data, 1280, 900)
    time = pages.browser.ask("performance.getEntriesByType('navigation')[0].loadEventEnd")
    page.check_cells(seen, data["heads"])
    page.check_pixels(seen)
    page.check_labels(seen, names, names)
    require(seen["note"] is None, "a note on cells smaller than pixels, which are not:", seen["note"])
    require(seen["elements"]["*"] <= MANY_ELEMENTS, seen["elements"]["*"], "elements")
    # Heads are drawn alike, and reading all cells of 12 from the browser takes long.
    seen = pages.open("narrow_cells", {"heads": data["heads"][:2]}, 400)
    page.check_pixels(seen)
    page.check_labels(seen, names, names)
    require(seen["note"], "no note on cells smaller than pixels")
    page.check_quiet(pages.browser)
    print(f"12 x 512 x 512: every cell, loaded in {time / 1000:.2f} s")


def check_enlarged(pages):
    data = {"queries": words(64, 9), "heads": attention(12, 64, 64)}
    before = pages.open("large", data)
    pages.browser.ask("document.querySelectorAll('figure button')[4].click()")
    seen = pages.read()
    head = seen["heads"][4]
    require(len(shown_labels(head)) == 128, "an enlarged head has not all labels")
    page.check_labels(seen, data["queries"], data["queries"])
    pages.browser.ask("document.querySelectorAll('figure button')[4].click()")
    sizes = lambda seen: [[round(box[2] - box[0]) for box in (head["over"], head["rows"][0])] for head in seen["heads"]]
    require(sizes(pages.read()) == sizes(before), "reduced, a head is not what it was")
    pages.browser.pdf(pages.folder / "large.pdf")
    num_sheets = len(re.findall(rb"/Type\s*/Page\b", (pages.folder / "large.pdf").read_bytes()))
    require(num_sheets == 2, "12 heads of 64 x 64 take", num_sheets, "sheets of A4")
    require(sizes(pages.read()) == sizes(before), "printing leaves another layout")
    print("enlarged, reduced and printed")


def check_small_weights(pages):
    """Small weights are shown in percent without an exponent, and none is shown as 0."""
    weights = [0.5, 0.004, 0.000123456789, 1.5e-6, 3e-12, 0]
    for key, (long, short) in enumerate((("50%", "50%"), ("0.4%", "0.4%"), ("0.0123457%", "0.0123%"), ("0.00015%", "0.00015%"),
                                         ("<0.0001%", "<0.0001%"), ("0%", "0%"))):
        if key == 0:
            seen = pages.open("small", {"heads": [{"weights": [weights]}]})
            values = [text for text, _ in seen["heads"][0]["values"]]
            require(values == ["50%", "<1%", "<1%", "<1%", "<1%", "0"], values)
        pages.browser.move(*pages.cell(0, 0, key))
        seen = pages.read()
        require(seen["tip"].startswith(f"weight {long} in head 0\n"), seen["tip"], "for", weights[key])
        require(seen["heads"][0]["here"] == short, seen["heads"][0]["here"], "for", weights[key])


def check_special(pages):
    heads = [{"weights": [[0.25, 0.75, 0], [0, 0, 0], [None, None, None]]}]
    seen = pages.open("special", {"title": "<b>T</b>", "description": "<i>D</i>", "model": "M&amp;", "layer": "L", "heads": heads})
    page.check_cells(seen, heads)
    page.check_labels(seen, ["0", "1", "2"], ["0", "1", "2"])
    require((seen["title"], seen["heading"], seen["description"]) == ("<b>T</b>", "<b>T</b>", "<i>D</i>"), "texts of the header")
    require(seen["facts"].startswith("M&amp; \u00b7 L \u00b7 1 head"), seen["facts"])
    require(seen["elements"]["b"] == 0, "a text became markup")
    values = [text for text, _ in seen["heads"][0]["values"]]
    require(values == ["25%", "75%", "0"] + ["0"] * 3 + ["NaN"] * 3, values)
    page.check_pixels(seen)
    left, top, right, bottom = seen["heads"][0]["view"].cell(2, 1)
    stripes = pages.browser.colours([(left + 2 + i, top + 3) for i in range(int(right - left) - 4)], whole=True)
    require(max(map(page.luminance, stripes)) - min(map(page.luminance, stripes)) > 0.2, "what is not a number has no stripes:", stripes)
    page.check_contrast(pages.browser, seen)
    pages.browser.move(*pages.cell(0, 1, 1))
    require("all weights of this query are 0" in pages.read()["tip"], "an empty row is not explained")
    pages.browser.move(*pages.cell(0, 2, 1))
    require("not a number" in pages.read()["tip"], "NaN is not explained")
    page.check_quiet(pages.browser)
    check_small_weights(pages)

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
        require(seen["heads"] == [], "cells beside a message")
    (pages.folder / "template.html").write_text(pages.template, encoding="utf-8")
    pages.browser.open(pages.folder / "template.html")
    require("This is the template" in pages.read()["message"], "the template does not say what it is")
    print("empty rows, NaN, and data that do not fit")


def check_bite(pages):
    """Checks the checks: each detects one wrong cell, one wrong label and one wrong colour."""
    data = {"queries": words(9, 10), "heads": attention(2, 9, 9)}
    many = {"queries": words(64, 10), "heads": attention(2, 64, 64)}
    figure = "document.querySelector('figure')"
    cells = lambda given: lambda seen: page.check_cells(seen, given["heads"])
    labels = lambda given: lambda seen: page.check_labels(seen, given["queries"], given["queries"])
    painted = lambda seen: page.check_painted(pages.browser, seen)
    wrongs = [
        (data, f"(() => {{ const right = {figure}.weight; {figure}.weight = (q, k) => q === 4 && k === 5 ? 0.5 : right(q, k); }})()", cells(data)),
        (data, f"{figure}.dataset.keys = 8", cells(data)),
        (data, "document.querySelectorAll('figure')[1].remove()", cells(data)),
        (data, "document.querySelector('g.keys').lastChild.textContent += 'x'", labels(data)),
        (data, "document.querySelector('g.queries').style.transform = 'translateY(9px)'", labels(data)),
        (many, "document.querySelector('g.queries .skipped').remove()", labels(many)),
        (many, "document.querySelector('g.keys .skipped').dataset.skipped = 7", labels(many)),
        (many, "document.querySelectorAll('g.keys text')[2].remove()", labels(many)),
        (many, "(path => path.setAttribute('d', path.getAttribute('d').replace(/M[^M]*$/, '')))(document.querySelector('figure .ticks'))", labels(many)),
        (data, f"{figure}.querySelector('canvas').getContext('2d').fillRect(3, 4, 1, 1)", lambda seen: page.check_pixels(seen)),
        (data, f"{figure}.querySelector('canvas').getContext('2d').fillRect(3, 4, 1, 1)", lambda seen: page.check_colours(seen)),
        (data, f"{figure}.querySelector('canvas').getContext('2d').clearRect(3, 4, 1, 1)", lambda seen: page.check_pixels(seen)),
        (many, f"{figure}.style.contentVisibility = 'hidden'", painted),
        (many, f"{figure}.querySelector('canvas').style.transform = 'translateX(7px)'",
         lambda seen: (page.check_cells(seen, many["heads"]), labels(many)(seen))),
        (data, "document.querySelector('.facts').style.color = '#8a8a8a'", lambda seen: page.check_contrast(pages.browser, seen)),
        (data, "document.querySelector('.values text').style.fill = '#777'", lambda seen: page.check_contrast(pages.browser, seen)),
        (data, "console.log('x')", lambda seen: page.check_quiet(pages.browser)),
    ]
    for given, wrong, check in wrongs:
        check(pages.open("bite", given))
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
        for check in (check_source, check_shapes, check_tall_picture, check_pointer, check_still, check_keyboard, check_scales,
                      check_enlarge_button, check_enlarged_keyboard, check_enlarged, check_special, check_many_cells, check_bite):
            check(pages)


if __name__ == "__main__":
    main()
