# SPDX-License-Identifier: Apache-2.0
"""check_complete.py ROOT: docs/errors.md and docs/ascend.md must contain every error text of the sources.

Every string literal with a space in core/ and capi/src counts as a sentence or a part of one, unless not_errors.txt lists it as something
else. As a pattern, in which a conversion such as %d matches anything of its kind, it must match a sentence on one of these pages: the whole
sentence, with its status, if it is the format of fail(), otherwise a part. Sentences that the pages list without a call must be in the
sources, and no call may cause them."""

import re
import sys
from pathlib import Path

from source_texts import Text, all_texts

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from reasons import read_entries  # noqa: E402

FOLDERS = ("core", "capi/src")
PAGES = ("docs/errors.md", "docs/ascend.md")
LIST = Path(__file__).with_name("not_errors.txt")
CONVERSION = re.compile(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|j|t)?([diuxXsgcp%])")
KINDS = {"s": ".*", "c": ".", "p": "0x[0-9a-f]+", "g": r"[-+.e0-9]+|-?inf|-?nan", "%": "%"}
WHOLE_NUMBER = r"-?[0-9]+|\.\.\."  # ... if it differs between machines

# The function that gets the format.
THROWN = re.compile(r"\bfail\(Status::(\w+),$")
# Texts for the compiler, instructions, and the model_types of a record of core/families.
NO_SENTENCE = re.compile(r"\bstatic_assert\([^;]*,$|\basm(?:volatile)?\($|\.model_types=$")


def pattern(text: str) -> str:
    pieces = []
    at = 0
    for match in CONVERSION.finditer(text):
        pieces += [re.escape(text[at : match.start()]), f"(?:{KINDS.get(match[1], WHOLE_NUMBER)})"]
        at = match.end()
    return "".join(pieces) + re.escape(text[at:])


def upper_snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


class Listed:
    """The sentences on the pages."""

    def __init__(self, pages: list[str]):
        self.sentences = []
        self.formats = []
        for page in pages:
            provoked, _, unprovoked = re.sub(r"^#+ Without a call$", "\f", page, flags=re.MULTILINE).partition("\f")
            self.sentences += re.findall(r"^- \*\*(.*)\*\*<br>\n  `(\w+)`", provoked, re.MULTILINE)
            self.formats += re.findall(r"^- \*\*(.*)\*\*<br>$", unprovoked, re.MULTILINE)

    def has(self, text: Text) -> bool:
        status = THROWN.search(text.before)
        if text.text in self.formats or (not status and any(text.text in listed for listed in self.formats)):
            return True
        wanted = re.compile(pattern(text.text))
        if any(wanted.fullmatch(listed) for listed in self.formats):
            return True
        if not status:
            return any(wanted.search(sentence) for sentence, _ in self.sentences)
        return any(wanted.fullmatch(sentence) and its == upper_snake(status[1]) for sentence, its in self.sentences)


root = Path(sys.argv[1])
listed = Listed([(root / page).read_text(encoding="utf-8") for page in PAGES])
texts = [text for text in all_texts(root, FOLDERS) if " " in text.text.strip() and not NO_SENTENCE.search(text.before)]
exceptions = {(entry.file, text): entry for entry in read_entries(LIST) for text in entry.texts("-")}
used = set()
problems = []
for text in texts:
    if (text.file, text.text.strip()) in exceptions:
        used.add((text.file, text.text.strip()))
    elif not listed.has(text):
        problems.append(f"{text.file}:{text.line}: no call in {' or '.join(PAGES)} gets this: {text.text}")
for key in sorted(set(exceptions) - used):
    problems.append(f"{exceptions[key].at}: {key[0]} has no text '{key[1]}': take it out")
for listed_format in listed.formats:
    # The parts of a sentence may be formats themselves, as in fail_tensor(path, tensor, "has no data").
    parts = [text for text in texts if re.search(re.escape(text.text), listed_format) or re.fullmatch(pattern(text.text), listed_format)]
    if not parts:
        problems.append(f"a page lists '{listed_format}' without a call, but it is not in the sources")
    if any(re.fullmatch(pattern(listed_format), sentence) for sentence, _ in listed.sentences):
        problems.append(f"a page lists '{listed_format}' without a call, but a call gets it")
if not texts or not listed.sentences:
    problems.append("no texts found")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(texts)} texts, {len(listed.sentences)} sentences with a call, {len(listed.formats)} without")
