#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""extract_blocks.py LANGUAGE SUFFIX TEMPLATE FOLDER PAGE...

Writes the code blocks of a language out of Markdown pages into files of FOLDER that a compiler takes. A block that an ```output block
follows is a program: written as it is, named by its class or, without one, by page and line, with what it prints beside it in .expected.
Any other is a fragment: put into TEMPLATE, where @NAME@ becomes a name that tells page and line, @IMPORTS@ its imports, @BODY@ the rest.
"""

import re
import sys
from pathlib import Path

IMPORT = re.compile(r"(import|using) (static )?[\w.*]+;|#include <[\w./]+>")
CLASS = re.compile(r"^[\w ]*\bclass (\w+)", re.MULTILINE)


def blocks_of(page):
    """(language, line of the page, text) for each code block."""
    language, first, lines = None, 0, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if language is None and line.startswith("```"):
            language, first, lines = line[3:], number + 1, []
        elif language is not None and line == "```":
            yield language, first, "\n".join(lines) + "\n"
            language = None
        elif language is not None:
            lines.append(line)
    if language is not None:
        sys.exit(f"{page}:{first}: this block has no end")


def name_of(page, line):
    return "".join(word.capitalize() for word in re.findall(r"\w+", page.stem)) + f"Line{line}"


def main(language, suffix, template, folder, *pages):
    template, folder = Path(template).read_text(encoding="utf-8"), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for page in map(Path, pages):
        blocks = list(blocks_of(page))
        for block, follower in zip(blocks, blocks[1:] + [("", 0, "")]):
            if block[0] != language:
                continue
            name, text = name_of(page, block[1]), block[2]
            if follower[0] == "output":
                found = CLASS.search(text)
                name = found.group(1) if found else name
                (folder / f"{name}.expected").write_text(follower[2], encoding="utf-8")
            else:
                imports = [line for line in text.splitlines() if IMPORT.fullmatch(line)]
                body = [line for line in text.splitlines() if not IMPORT.fullmatch(line)]
                text = template.replace("@NAME@", name).replace("@IMPORTS@", "\n".join(imports)).replace("@BODY@", "\n".join(body))
            (folder / f"{name}.{suffix}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
