# SPDX-License-Identifier: Apache-2.0
"""The texts of C++ sources: string literals, concatenated if several are adjacent, as in "%s is %" PRId64 ", expected", and with the terms of
core/base/terms.h, as in OPTION("num_heads") " is %d".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<directive>^[ ]*\#[^\n]*)
      | R"\((?P<raw>.*?)\)"
      | "(?P<string>(?:[^"\\\n]|\\.)*)"
      | (?P<character>'(?:[^'\\\n]|\\.)+')
      | (?P<conversion>PRI[a-z]\w+)
      | (?P<term>\b(?:OPTION|SETTING|FLAG|INPUT|OUTPUT|MEMBER|ARGUMENT|CONSTANT|FUNCTION|KIND|DTYPE|WORD)\((?P<said>\s*"[^)]*)\))
      | (?P<word>[\w']+)
      | (?P<other>\S)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
ESCAPES = {"n": "\n", "t": "\t", "0": "\0"}


@dataclass
class Text:
    file: str
    line: int
    text: str  # as C says it
    before: str  # the code before it, without spaces
    plain: str = ""  # without its terms


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), text)


# What C says before the text of a term.
BEFORE_TERM = {"OPTION": "options->", "SETTING": "options->", "INPUT": "inputs->", "OUTPUT": "outputs->"}


def said_by(term: str, arguments: str) -> str:
    """The text of C for a term of these arguments, each of one or more literals."""
    parts = [
        "".join("d" if literal[0] == "P" else unescaped(literal[1:-1]) for literal in re.findall(r'"(?:[^"\\]|\\.)*"|PRI\w+', argument))
        for argument in re.split(r',(?=\s*")', arguments)
    ]
    if term == "FLAG":
        return parts[1]
    return BEFORE_TERM.get(term, "") + " ".join(parts)


def texts_of(root: Path, file: str) -> Iterator[Text]:
    source = (root / file).read_text(encoding="utf-8")
    code = ""
    current: Text | None = None
    for match in TOKEN.finditer(source):
        kind = match.lastgroup
        if kind in ("comment", "directive"):
            continue
        if kind in ("raw", "string", "conversion", "term", "said"):
            if current is None:
                current = Text(file, source.count("\n", 0, match.start()) + 1, "", code)
            # PRId64 becomes d: the length of the conversion does not matter.
            if match["term"]:
                current.text += said_by(match["term"].partition("(")[0], match["said"])
                current.plain += "\1"
                continue
            said = {"raw": match["raw"], "string": unescaped(match["string"] or ""), "conversion": "d"}[kind]
            current.text += said
            current.plain += said
            continue
        if current is not None:
            yield current
            current = None
            code = ""
        code = (code + match[0])[-200:]


def all_texts(root: Path, folders: tuple[str, ...]) -> list[Text]:
    files = [path.relative_to(root).as_posix() for folder in folders for path in sorted((root / folder).rglob("*"))]
    return [text for file in files if file.endswith((".h", ".cc")) for text in texts_of(root, file)]
