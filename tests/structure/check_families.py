# SPDX-License-Identifier: Apache-2.0
"""Only records name families. check_families.py ROOT reads the model_types of all records, and reports in core/ and capi/,
outside the files of records:
- literals that are a model_type of a record, or a list of such with commas or spaces,
- comparisons of a model_type with any literal, also with the beginning or the end of one."""

import re
import sys
from pathlib import Path

RECORDS = (
    "core/families/attention_families.h",
    "core/families/decoder_families.h",
    "core/families/encoder_families.h",
    "core/families/transformer_families.h",
)
# (file, literal): words that mean something else there.
OTHER_MEANINGS = {
    # The module of the model in names of tensors.
    ("core/families/named_attention.cc", "roformer"),
}

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
COMMENT_OR_LITERAL = re.compile(r"//[^\n]*|/\*.*?\*/|" + LITERAL, re.DOTALL)
MODEL_TYPES = re.compile(r"\.model_types\s*=\s*((?:" + LITERAL + r"\s*)+)")
TYPE = r"\bmodel_types?_?\b(?:\(\))?"
COMPARISON = re.compile(
    rf'{TYPE}\s*(?:==|!=)\s*"|"\s*(?:==|!=)\s*(?:\w+(?:\.|->))*{TYPE}|{TYPE}\s*\.\s*(?:starts_with|ends_with|find|rfind|compare|substr)\s*\(\s*"'
    rf'|(?:ModelType|"model_type")\s*\)\s*(?:\.\s*(?:starts_with|ends_with|find|rfind|compare)\s*\(|(?:==|!=))\s*"'
)
SOURCES = {".h", ".c", ".cc"}


def model_types(root: Path) -> set[str]:
    """All model_types of the records below the root."""
    types = set()
    for file in RECORDS:
        path = root / file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for match in MODEL_TYPES.finditer(text):
            types.update("".join(part[1:-1] for part in re.findall(LITERAL, match[1])).split())
    return types


def check(root: Path) -> tuple[list[str], int]:
    """The violations, one sentence each, and the number of model_types."""
    types = model_types(root)
    problems = []
    for top in ("core", "capi"):
        for path in sorted((root / top).rglob("*")):
            file = path.relative_to(root).as_posix()
            if path.suffix not in SOURCES or not path.is_file() or file in RECORDS:
                continue
            text = path.read_text(encoding="utf-8")

            def report(kind: str, position: int, what: str) -> None:
                problems.append(f"{file}:{text.count(chr(10), 0, position) + 1}: [{kind}] {what}")

            for match in COMMENT_OR_LITERAL.finditer(text):
                literal = match[0][1:-1]
                words = literal.replace(",", " ").split() if match[0].startswith('"') else []
                if words and types.issuperset(words) and (file, literal) not in OTHER_MEANINGS:
                    report("type", match.start(), f'"{literal}" names families: what they differ in belongs into their records')
            code = COMMENT_OR_LITERAL.sub(lambda match: match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0]), text)
            for match in COMPARISON.finditer(code):
                report("comparison", match.start(), "a model_type is compared with a literal: what families differ in belongs into their records")
    return problems, len(types)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found, count = check(Path(sys.argv[1]))
    if count < 200:
        found.append(f"only {count} model_types were found in the records")
    if found:
        sys.exit("\n".join(found))
    print(f"{count} model_types, each in records alone")
