# SPDX-License-Identifier: Apache-2.0
"""check_operations.py ROOT: what the compiler does not notice of the operations in core/ops/registry.h. visit_operands must name each
operand of a problem: a device's memory is copied to the host, and bytes are counted, by what it visits. A test must compute the cost of
each problem. The tests that have all operations on tensors of heed.h must have each of them."""

import re
import sys
from pathlib import Path

REGISTRY = "core/ops/registry.h"
COSTS = "tests/unit/cost_test.cc"
HEADER = "capi/include/heed/heed.h"
# Each of these, or one of the files of a folder, names each operation on tensors.
TESTS = [
    "tests/capi/stack_test.cc",
    "tests/errors",
    "tests/fuzz/calls",
    "tests/property",
    "docs/semantics.md",
]
FUNCTION = re.compile(r"^HEED_API heed_status (heed_(?!tensor_)\w+)\(const heed_tensor\*", re.MULTILINE)
ROW = re.compile(r"^  OPERATION\((\w+)\)", re.MULTILINE)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
# A member, an array of members, or a pointer to the first one.
MEMBER = re.compile(r"^ +(\w+)\*? (\w+)(?:\[\w+\])?(?: = [^;]*)?;", re.MULTILINE)
OPERANDS = {"Operand", "ElementwiseOperand"}
# Its operands are in host memory on every device: nobody copies them, and a problem that does not read them does not visit them.
NOT_FOLLOWED = {"KeyLimits"}


def structs_of(root: Path) -> dict[str, str]:
    found = {}
    for path in sorted((root / "core/ops").glob("*.h")):
        found.update({match[1]: match[2] for match in STRUCT.finditer(path.read_text(encoding="utf-8"))})
    return found


def operands_of(name: str, structs: dict[str, str]) -> list[str]:
    """The operands of a struct, with the members that they are in: "input", "parts.transform.rotations"."""
    found = []
    for kind, member in MEMBER.findall(structs[name]):
        if kind in OPERANDS:
            found.append(member)
        elif kind in structs and kind not in NOT_FOLLOWED:
            found += [f"{member}.{operand}" for operand in operands_of(kind, structs)]
    return found


def visited_by(problem: str, root: Path) -> str:
    """The body of the problem's visit_operands."""
    pattern = re.compile(rf"same_as<std::remove_const_t<Problem>, {problem}>\nvoid visit_operands\(.*?\n\}}", re.DOTALL)
    for path in sorted((root / "core/ops").glob("*.h")):
        found = pattern.search(path.read_text(encoding="utf-8"))
        if found:
            return found[0]
    return ""


def is_visited(operand: str, body: str) -> bool:
    # A part of problem.parts is problem.parts[i] or a variable `part`.
    names = re.escape(f"problem.{operand}").replace(r"problem\.parts\.", r"(?:problem\.parts\[\w+\]|part)\.")
    return re.search(rf"visit\({names}(?:\[\w+\])?,", body) is not None


def text_of(path: Path) -> str:
    if path.is_dir():
        return "".join(text_of(file) for file in sorted(path.glob("*.cc")))
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def check_functions(root: Path) -> list[str]:
    texts = {name: text_of(root / name) for name in TESTS}
    functions = FUNCTION.findall(text_of(root / HEADER))
    return [f"{name}: [function] {one} is missing" for name, text in texts.items() for one in functions if not re.search(rf"\b{one}\b", text)]


def check(root: Path) -> tuple[list[str], int]:
    """The violations, one sentence each, and the number of operands that were looked for."""
    problems = []
    num_operands = 0
    structs = structs_of(root)
    costs = (root / COSTS).read_text(encoding="utf-8")
    rows = ROW.findall((root / REGISTRY).read_text(encoding="utf-8"))
    for name in [f"{row}Problem" for row in rows]:
        if name not in structs:
            problems.append(f"{REGISTRY}: [struct] no header of core/ops has struct {name}")
            continue
        body = visited_by(name, root)
        operands = operands_of(name, structs)
        num_operands += len(operands)
        problems += [f"core/ops: [operand] visit_operands of {name} does not visit {one}" for one in operands if not is_visited(one, body)]
        if not re.search(rf"\b{name}\b", costs):
            problems.append(f"{COSTS}: [cost] no test of the cost of {name}")
    return problems + check_functions(root), num_operands


if __name__ == "__main__":
    violations, count = check(Path(sys.argv[1]))
    if count == 0:
        violations.append(f"no operand found below {sys.argv[1]}")
    if violations:
        sys.exit("\n".join(violations))
    print(f"{count} operands, all visited")
