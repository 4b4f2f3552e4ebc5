# SPDX-License-Identifier: Apache-2.0
"""check_test_names.py SEMANTICS FOLDER...: fails unless the document SEMANTICS names every test Rule* in the FOLDERs,
and every test that it names exists."""

import re
import sys
from pathlib import Path

document = Path(sys.argv[1]).read_text(encoding="utf-8")
sources = "\n".join(path.read_text(encoding="utf-8") for folder in sys.argv[2:] for path in sorted(Path(folder).glob("*_test.cc")))

exists = {f"{suite}.{name}" for suite, name in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", sources, re.MULTILINE)}
named = set(re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", document))

problems = [f"{test} is named in {sys.argv[1]}, but there is no such test" for test in sorted(named - exists)]
problems += [f"{test} is not named in {sys.argv[1]}" for test in sorted(exists - named) if test.startswith("Rule")]
if not exists:
    problems.append(f"no tests found in {sys.argv[2]}")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(named)} tests are named")
