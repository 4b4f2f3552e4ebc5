# SPDX-License-Identifier: Apache-2.0
"""check_contents_bite.py HEADER: tests check_contents.py. Makes each mistake in heed.h, and requires that it is reported."""

import sys
from pathlib import Path

from check_contents import check

header = Path(sys.argv[1]).read_text(encoding="utf-8")

# (the mistake, the text that it replaces, the text that it leaves, what must be reported)
MISTAKES = [
    ("none", "", "", None),
    ("a function that is not listed", "_wrap, _destroy, _dtype", "_destroy, _dtype", "heed_tensor_wrap of 1.4 is not in the contents"),
    ("a struct that is not listed", ", heed_decoder_inputs", "", "heed_decoder_inputs of 3.6 is not in the contents"),
    ("a listed function that is gone", "_explain\n", "_explain, _old\n", "heed_layer_old is in the contents of 2.4"),
    ("a title that has changed", "---- 4.3 Sequences -", "---- 4.3 Texts -", '4.3 is "Texts", in the contents "Sequences"'),
    ("a section that is gone", "/* ---- 6.3 Progress -", "/* -- 6.3 Progress -", "the contents list the sections"),
    ("a section that is not listed", "/* ==== 5. Models =", "/* ---- 4.5 More -", "the contents list the sections"),
    ("a reference to no section", "(6.5), files", "(9.1), files", "there is no section 9.1"),
]

failures = []
for mistake, old, new, expected in MISTAKES:
    if old not in header:
        failures.append(f"{mistake}: heed.h does not have {old!r}")
        continue
    found = check(header.replace(old, new, 1))
    if (expected is None and found) or (expected is not None and not any(expected in problem for problem in found)):
        failures.append(f"{mistake}: expected {expected}, reported {found}")
if failures:
    sys.exit("\n".join(failures))
print(f"{len(MISTAKES) - 1} mistakes, all reported")
