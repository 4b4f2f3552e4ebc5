# SPDX-License-Identifier: Apache-2.0
"""check_contents.py HEADER: the contents at the top of heed.h list every section with the functions and structs that it declares, and a
section that a comment names in brackets, as (1.5), exists.

Left out of the contents are handles, enumerations, and the options of a kind whose heed_<kind>_create is in the same section."""

import re
import sys
from pathlib import Path

from header_functions import functions_in, without_comments

HEADING = re.compile(r"^/\* (?:====|----) (\d\.\d?) (.*?) [=-]+ \*/$", re.MULTILINE)
ENTRY = re.compile(r" \*   (\d\.\d?)  (.+?)(?:  +(\S.*))?")
STRUCT = re.compile(r"\bstruct (heed_\w+) \{")
OBJECT = re.compile(r"heed_[a-z]+")


def whole(names: list[str]) -> list[str]:
    """The names without abbreviation: "_wrap" behind "heed_tensor_create" is "heed_tensor_wrap"."""
    result = []
    for name in names:
        result.append(OBJECT.match(result[-1])[0] + name if name.startswith("_") else name)
    return result


def contents(comment: str) -> dict[str, tuple[str, list[str]]]:
    """Title and names of each section, by its number, as the contents list them."""
    listed = {}
    lines = comment[comment.index("CONTENTS.") : comment.index(" * OBJECTS")].splitlines()[3:-1]
    for line in lines:
        if entry := ENTRY.fullmatch(line):
            number, title, names = entry.groups(default="")
            listed[number] = (title, [])
        else:
            names = line.removeprefix(" *")
        listed[number][1].extend(re.findall(r"\w+", names))
    return {number: (title, whole(names)) for number, (title, names) in listed.items()}


def declared(section: str) -> set[str]:
    functions = set(functions_in(section))
    structs = STRUCT.findall(without_comments(section))
    return functions | {name for name in structs if f"{name.removesuffix('_options')}_create" not in functions}


def check(header: str) -> list[str]:
    comment, body = header.split("#ifndef HEED_HEED_H", 1)
    listed = contents(comment)
    pieces = HEADING.split(body)[1:]
    sections = {number: (title, text) for number, title, text in zip(pieces[::3], pieces[1::3], pieces[2::3])}
    problems = []
    if list(listed) != list(sections):
        problems.append(f"the contents list the sections {', '.join(listed)}, but there are {', '.join(sections)}")
    for number in listed.keys() & sections.keys():
        (listed_title, names), (title, text) = listed[number], sections[number]
        if listed_title != title:
            problems.append(f'{number} is "{title}", in the contents "{listed_title}"')
        names = {name for name in names if name.startswith("heed_")}
        problems += [f"{name} of {number} is not in the contents" for name in sorted(declared(text) - names)]
        problems += [f"{name} is in the contents of {number}, which does not declare it" for name in sorted(names - declared(text))]
    problems += [f"there is no section {number}" for number in re.findall(r"\((\d\.\d)\b", header) if number not in sections]
    return problems


if __name__ == "__main__":
    found = check(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if found:
        sys.exit("\n".join(found))
    print("the contents of heed.h are complete")
