# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which: check_includes.py ROOT reads every #include (and SWIG's %include) below ROOT, and
reports those that RULES forbids."""

import re
import sys
from pathlib import Path, PurePosixPath

# Headers of ops/ with plain structs that kernels read directly. A kernel must not call functions of these headers that
# are not always inline: an inline function in the objects of several ISAs would be one symbol for all of them.
PLAIN_OPS = [
    "core/ops/activation.h",
    "core/ops/attention.h",
    "core/ops/attention_backward.h",
    "core/ops/cached_keys.h",
    "core/ops/elementwise_functions.h",
    "core/ops/head_transform.h",
    "core/ops/norm.h",
    "core/ops/operand.h",
    "core/ops/sequence.h",
    "core/ops/update.h",
    "core/tensor/dtype.h",
]

# What layers and those that load them know of devices.
ENGINE_OF_LAYERS = [
    "core/backends/backend.h",
    "core/backends/call_arena.h",
    "core/backends/context.h",
    "core/backends/workspace.h",
]

# The rule of a file is the first row whose pattern matches it: (name, files, what they may include).
# {} stands for one folder's name, the same in files and in what they may include; * for anything within a folder, **
# for any depth.
# After the last "/" a pattern names files, so "core/backends/*" is the files directly in that folder.
# What is not listed is forbidden. Headers in <> that are not in OWNED (below) belong to the system, and are allowed if
# "system" is listed.
RULES = [
    # The lowest layer: it includes nothing else of heed.
    ("platform", "core/platform/**", ["core/platform/**", "system"]),
    ("base", "core/base/**", ["core/platform/*", "core/base/**", "json", "system"]),
    ("tensor", "core/tensor/**", ["core/platform/*", "core/base/**", "core/tensor/**", "dlpack", "json", "system"]),
    ("ops", "core/ops/**", ["core/base/**", "core/tensor/**", "core/ops/**", "system"]),
    ("attention", "core/attention/**", ["core/base/**", "core/tensor/**", "core/ops/**", "core/attention/**", "system"]),
    ("kernels", "core/backends/{}/kernels/**", ["core/backends/{}/kernels/**", *PLAIN_OPS, "C"]),
    (
        "backend",
        "core/backends/{}/**",
        ["core/platform/*", "core/base/**", "core/tensor/**", "core/ops/**", "core/backends/*", "core/backends/{}/**", "cann", "system"],
    ),
    (
        "backends",
        "core/backends/*",
        ["core/platform/*", "core/base/**", "core/tensor/**", "core/ops/**", "core/backends/*", "core/backends/*/*_backend.h", "system"],
    ),
    (
        "cache",
        "core/cache/**",
        [
            "core/base/**",
            "core/tensor/**",
            "core/ops/**",
            "core/attention/**",
            "core/cache/**",
            "core/backends/context.h",
            "system",
        ],
    ),
    (
        "families",
        "core/families/**",
        ["core/base/**", "core/tensor/**", "core/ops/**", "core/attention/**", "core/families/**", "system"],
    ),
    # What a layer is. It knows no kind, no file and no family.
    (
        "layers",
        "core/layers/*",
        [
            "core/platform/*",
            "core/base/**",
            "core/tensor/**",
            "core/ops/**",
            "core/attention/**",
            "core/cache/**",
            "core/layers/*",
            "core/layers/backward/*",
            *ENGINE_OF_LAYERS,
            "system",
        ],
    ),
    (
        "layers",
        "core/layers/backward/*",
        [
            "core/platform/*",
            "core/base/**",
            "core/tensor/**",
            "core/ops/**",
            "core/attention/**",
            "core/cache/**",
            "core/layers/*",
            "core/layers/backward/*",
            *ENGINE_OF_LAYERS,
            "system",
        ],
    ),
    (
        "kinds",
        "core/layers/kinds/**",
        [
            "core/platform/*",
            "core/base/**",
            "core/tensor/**",
            "core/ops/**",
            "core/attention/**",
            "core/cache/**",
            "core/layers/**",
            *ENGINE_OF_LAYERS,
            "system",
        ],
    ),
    # From files to the parameters of any layer: it knows no kind.
    (
        "loading",
        "core/loading/**",
        [
            "core/platform/*",
            "core/base/**",
            "core/tensor/**",
            "core/ops/**",
            "core/attention/**",
            "core/families/**",
            "core/layers/*",
            "core/layers/backward/*",
            "core/loading/**",
            *ENGINE_OF_LAYERS,
            "system",
        ],
    ),
    (
        "models",
        "core/models/**",
        [
            "core/platform/*",
            "core/base/**",
            "core/tensor/**",
            "core/attention/**",
            "core/families/**",
            "core/layers/**",
            "core/loading/**",
            "core/models/**",
            "system",
        ],
    ),
    (
        "tensor_functions",
        "core/tensor_functions/**",
        [
            "core/base/**",
            "core/tensor/**",
            "core/ops/**",
            "core/attention/**",
            "core/tensor_functions/**",
            "core/backends/backend.h",
            "core/backends/context.h",
            "system",
        ],
    ),
    # What trains a layer's parameters. Layers know nothing of it.
    (
        "training",
        "core/training/**",
        [
            "core/base/**",
            "core/tensor/**",
            "core/ops/**",
            "core/attention/**",
            "core/layers/*",
            "core/layers/backward/*",
            "core/tensor_functions/**",
            "core/training/**",
            "core/backends/backend.h",
            "core/backends/context.h",
            "system",
        ],
    ),
    ("header", "capi/include/**", ["C"]),
    (
        "capi",
        "capi/src/**",
        [
            "core/platform/*",
            "core/base/**",
            "core/tensor/**",
            "core/ops/**",
            "core/attention/**",
            "core/backends/*",
            "core/cache/**",
            "core/families/**",
            "core/layers/**",
            "core/loading/**",
            "core/models/**",
            "core/tensor_functions/**",
            "core/training/**",
            "capi/src/**",
            "capi/include/heed/heed.h",
            "system",
        ],
    ),
    ("bindings", "bindings/**", ["bindings/**", "capi/include/heed/heed.h", "swig", "system"]),
    ("examples", "examples/**", ["examples/**", "capi/include/heed/heed.h", "system"]),
    (
        "installed",
        "tests/install/**",
        ["capi/include/heed/heed.h", "system"],
    ),
    # It measures only what every user can call.
    ("bench", "tests/bench/**", ["capi/include/heed/heed.h", "tests/bench/**", "Eigen", "measured", "system"]),
    # It shares no code with what is tested on it.
    ("simulator", "tests/ascend_sim/**", ["tests/ascend_sim/**", "gtest", "cann", "system"]),
    # It shares no code with what is compared with it.
    ("reference", "tests/reference/**", ["tests/reference/**", "Eigen", "system"]),
    (
        "tests",
        "tests/**",
        ["core/**", "capi/src/**", "capi/include/heed/heed.h", "bindings/swig/said.h", "tests/**", "Eigen", "dlpack", "json", "gtest", "cann", "system"],
    ),
]

# Headers of other projects: first folder -> the word for it in RULES.
OWNED = {
    "Eigen": "Eigen",
    "dlpack": "dlpack",
    "nlohmann": "json",
    "gtest": "gtest",
    "gmock": "gtest",
    "benchmark": "measured",
    "oneapi": "measured",
    "onnxruntime_c_api.h": "measured",
    "acl": "cann",
    "atb": "cann",
}

# Only these files may include these headers, even if other rules allow them, so that no other part depends on them.
ONLY_IN = {"dlpack": ["core/tensor/dlpack.cc", "tests/**"], "json": ["core/base/json_reader.h", "core/tensor/safetensors_writer.cc", "tests/**"], "cann": ["core/backends/ascend/**", "tests/ascend*/**"]}

# The headers of C and of processors. They have no templates, so a kernel that is compiled for one processor adds no
# weak symbols to the library.
C_HEADERS = re.compile(r"^(std(int|def|bool|arg|io|lib)|string|math|float|limits|\w+intrin|arm_\w+)\.h$|^c(stddef|stdint|float|limits)$")

SOURCES = {".h", ".hpp", ".inc", ".c", ".cc", ".cpp", ".i", ".swg"}
CORE_FOLDERS = {"platform", "base", "tensor", "attention", "backends", "ops", "cache", "families", "layers", "loading", "models", "tensor_functions", "training"}
INCLUDE = re.compile(r'^\s*[#%]\s*(?:include|import)\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def as_regex(pattern: str) -> str:
    escaped = re.escape(pattern).replace(r"\*\*", ".+").replace(r"\*", "[^/]*")
    return escaped.replace(r"\{\}", "(?P<folder>[^/]+)", 1) + "$"


def normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def target(root: Path, file: str, quoted: bool, include: str) -> str:
    """The included file as a path relative to the root, or the word that RULES has for it."""
    first = include.split("/")[0]
    if include == "heed/heed.h":
        return "capi/include/heed/heed.h"
    beside = normal(PurePosixPath(file).parent / include)
    if (root / beside).is_file():
        return beside
    if (root / "core" / include).is_file() or first in CORE_FOLDERS:
        return normal(PurePosixPath("core") / include)
    if first == "reference":
        return normal(PurePosixPath("tests") / include)
    if first in OWNED:
        return OWNED[first]
    if include.endswith((".i", ".swg")):
        return "swig"
    if not quoted:
        return "system"
    in_capi = f"capi/src/{include}"
    return in_capi if (root / in_capi).is_file() else beside if "/" in include else "nowhere"


def allowed(name: str, allowance: list[str], folder: str | None, include: str, found: str, file: str) -> bool:
    if found in ONLY_IN and not any(re.match(as_regex(pattern), file) for pattern in ONLY_IN[found]):
        return False
    if found == "system" and "C" in allowance:
        return C_HEADERS.match(include) is not None
    for pattern in allowance:
        if pattern == found or (folder is not None and re.match(as_regex(pattern.replace("{}", folder)), found)):
            return True
        if folder is None and re.match(as_regex(pattern), found):
            return True
    return False


def check(root: Path) -> tuple[list[str], int]:
    """The violations, one sentence each, and the number of includes that were read."""
    problems = []
    num_includes = 0
    for top in ("core", "capi", "bindings", "examples", "tests"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCES or not path.is_file():
                continue
            file = path.relative_to(root).as_posix()
            rule = next(((r, m) for r in RULES if (m := re.match(as_regex(r[1]), file))), None)
            if rule is None:
                problems.append(f"{file}: no rule of check_includes.py covers it")
                continue
            (name, _, allowance), match = rule
            text = path.read_text(encoding="utf-8")
            for found_include in INCLUDE.finditer(text):
                num_includes += 1
                include = found_include.group(2)
                found = target(root, file, found_include.group(1) == '"', include)
                if not allowed(name, allowance, match.groupdict().get("folder"), include, found, file):
                    line = text.count("\n", 0, found_include.start()) + 1 + found_include.group(0).count("\n")
                    problems.append(f"{file}:{line}: [{name}] may not include {include}")
    return problems, num_includes


if __name__ == "__main__":
    violations, count = check(Path(sys.argv[1]))
    if count == 0:
        violations.append(f"no #include found below {sys.argv[1]}")
    if violations:
        sys.exit("\n".join(violations))
    print(f"{count} includes, all allowed")
