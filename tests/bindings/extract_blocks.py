# SPDX-License-Identifier: Apache-2.0
"""The blocks of code in a page of documentation, for tests that compile and run them."""
import re
from typing import NamedTuple, Optional


class Block(NamedTuple):
    """A fenced block of code."""

    language: str
    line: int  # that of its first line of code in the page, from 1
    text: str
    output: Optional[str]  # a block of "text" behind it, with at most one paragraph between: what the program prints


def blocks(path, language):
    """The page's blocks of one language, in order."""
    with open(path, encoding="utf-8") as page:
        lines = page.read().split("\n")
    found, fence, start = [], None, 0
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(r"```(\w*)", line)
        if fence is None and match:
            fence, start = match[1], number + 1
        elif fence is not None and match and not match[1]:
            found.append((fence, start, number))
            fence = None
    if fence is not None:
        raise ValueError(f"{path}:{start - 1}: a block of code without an end")
    result = []
    for (kind, start, end), following in zip(found, found[1:] + [None]):
        if kind == language:
            output = None
            if following and following[0] == "text" and is_near(lines[end:following[1] - 2]):
                output = "".join(f"{line}\n" for line in lines[following[1] - 1:following[2] - 1])
            result.append(Block(kind, start, "".join(f"{line}\n" for line in lines[start - 1:end - 1]), output))
    return result


def is_near(between):
    """Whether the lines are at most one paragraph, and no heading."""
    paragraphs = [text for text in "\n".join(between).split("\n\n") if text.strip()]
    return len(paragraphs) <= 1 and not any(line.startswith(("#", "|")) for line in between)
