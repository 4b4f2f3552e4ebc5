# SPDX-License-Identifier: Apache-2.0
"""check_every_function.py ROOT: a function of heed.h that the tests leave out. Every pointer of every function needs a case that passes NULL
for it (IS_NULL in nulls.cc, or a sentence on the page), and every function with a status a call that runs out of memory. every_function.txt
lists what needs none, with the reasons. Functions that are planted into heed.h must be reported."""

import re
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "abi"), str(TESTS / "support")]
from header_functions import pointers_in  # noqa: E402
from reasons import read_entries  # noqa: E402

LIST = Path(__file__).with_name("every_function.txt")
# Where each function runs out of memory.
MEMORY = (
    "tests/capi/out_of_memory_test.cc",
    "tests/capi/out_of_memory_models_test.cc",
    "tests/capi/out_of_memory_training_test.cc",
    "tests/cache/support/cache_operation.cc",
)
CASES = (
    re.compile(r'\bIS_NULL\(\s*"(?P<name>\w+)",\s*(?P<function>heed_\w+)\('),
    re.compile(r'\bALSO\(\s*"(?P<name>\w+) and (?P<second>\w+) are both NULL[^"]*",\s*(?P<function>heed_\w+)\('),
)
MADE = re.compile(r"\bNOT_MADE\((heed_\w+),")
LISTED = re.compile(r"^- \*\*(\w+) is NULL[^\n]*\n  `\w+` from `(?:[^`]*; )?(heed_\w+)\(", re.MULTILINE)
PLANTED = "HEED_API heed_status heed_planted(heed_tensor* tensor, const float* numbers, void (*release)(void* user, void* data)) HEED_NOEXCEPT;\n"


def refused_pointers(root: Path) -> set[str]:
    """Each "function.pointer" that a case passes NULL for."""
    found = set()
    for path in sorted((root / "tests/errors").glob("*.cc")):
        text = path.read_text(encoding="utf-8")
        for pattern in CASES:
            for match in pattern.finditer(text):
                names = [match["name"]] + ([match["second"]] if "second" in pattern.groupindex else [])
                found |= {f"{match['function']}.{name}" for name in names}
        found |= {f"{function}.{name}" for function in MADE.findall(text) for name in ("context", "layer")}
    page = (root / "docs/errors.md").read_text(encoding="utf-8")
    return found | {f"{function}.{name}" for name, function in LISTED.findall(page)}


def compared(what: str, all_of_them: list[str], tested: set[str], excepted: dict[str, str]) -> list[str]:
    """What neither a test nor the list has, and what is in the list without need."""
    known = set(all_of_them)
    problems = [f"heed.h: {one}: no {what}, nor a reason in {LIST.name}" for one in all_of_them if one not in tested | set(excepted)]
    problems += [f"{at}: {one} is not in heed.h: take it out" for one, at in excepted.items() if one not in known]
    return problems + [f"{at}: {one} has a {what}: take it out" for one, at in excepted.items() if one in tested]


def check(root: Path, header: str) -> list[str]:
    """The violations, one sentence each."""
    excepted = {kind: {text: entry.at for entry in read_entries(LIST) if entry.file == kind for text in entry.texts("-")} for kind in ("NULL", "memory")}
    pointers = pointers_in(header)
    each_pointer = [f"{function}.{name}" for function, names in pointers.items() for name in names]
    problems = compared("case that passes NULL", each_pointer, refused_pointers(root), excepted["NULL"])
    with_status = re.findall(r"^HEED_API heed_status (heed_\w+)", header, re.MULTILINE)
    memory = "".join((root / file).read_text(encoding="utf-8") for file in MEMORY)
    called = {function for function in with_status if re.search(rf"\b{function}\b", memory)}
    return problems + compared("call that runs out of memory", with_status, called, excepted["memory"])


if __name__ == "__main__":
    top = Path(sys.argv[1])
    text = (top / "capi/include/heed/heed.h").read_text(encoding="utf-8")
    violations = check(top, text)
    planted = [problem for problem in check(top, text + PLANTED) if "heed_planted" in problem]
    if len(planted) != 4:
        violations.append(f"of a planted function with three pointers it reports {planted}")
    if violations:
        sys.exit("\n".join(violations))
    count = sum(len(names) for names in pointers_in(text).values())
    print(f"{count} pointers and every function with a status")
