# SPDX-License-Identifier: Apache-2.0
"""Tests the checks: writes each violation below into a separate tree, and requires that the check reports it, and that
it reports nothing that is allowed."""

import sys
import tempfile
from pathlib import Path

import check_families
import check_files
import check_includes
import check_names
import check_operations
import check_pages
import check_platform
import map as room_map

# (rule that must report it, file, include)
FORBIDDEN = [
    ("platform", "core/platform/file_io_posix.cc", '"base/error.h"'),
    ("platform", "core/platform/file_io_posix.cc", "<nlohmann/json.hpp>"),
    ("base", "core/base/half.h", '"tensor/tensor.h"'),
    ("base", "core/base/half.h", "<heed/heed.h>"),
    ("base", "core/base/half.h", "<nlohmann/json.hpp>"),
    ("tensor", "core/tensor/tensor.h", '"ops/attention.h"'),
    ("tensor", "core/tensor/tensor.h", '"heed/heed.h"'),
    ("tensor", "core/tensor/tensor.cc", "<nlohmann/json.hpp>"),
    ("tensor", "core/tensor/tensor.cc", "<dlpack/dlpack.h>"),
    ("tensor", "core/tensor/dlpack.h", "<dlpack/dlpack.h>"),
    ("reference", "tests/reference/attention.cc", '"ops/attention.h"'),
    ("reference", "tests/reference/attention.cc", '"base/philox.h"'),
    ("reference", "tests/reference/attention.cc", '"../../tensor/tensor.h"'),
    ("ops", "core/ops/linear.h", '"attention/validate.h"'),
    ("ops", "core/ops/linear.h", '"backends/backend.h"'),
    ("attention", "core/attention/validate.cc", '"reference/attention.h"'),
    ("attention", "core/attention/validate.cc", '"../../tests/reference/attention.h"'),
    ("attention", "core/attention/validate.cc", '"backends/backend.h"'),
    ("attention", "core/attention/validate.cc", "<Eigen/Dense>"),
    ("kernels", "core/backends/cpu/kernels/tile.cc", '"base/half.h"'),
    ("kernels", "core/backends/cpu/kernels/tile.cc", '"../plan.h"'),
    ("kernels", "core/backends/cpu/kernels/tile.cc", "<vector>"),
    ("kernels", "core/backends/cpu/kernels/tile.cc", '"backends/other/kernels/tile.h"'),
    ("backend", "core/backends/cpu/plan.cc", '"backends/ascend/plan.h"'),
    ("backend", "core/backends/cpu/plan.cc", '"../ascend/plan.h"'),
    ("backend", "core/backends/cpu/plan.cc", '"layers/layer.h"'),
    ("backend", "core/backends/cpu/plan.cc", '"../../../capi/src/handles.h"'),
    ("backend", "core/backends/cpu/plan.cc", "<heed/heed.h>"),
    ("backend", "core/backends/cpu/plan.cc", '"attention/validate.h"'),
    ("backend", "core/backends/cpu/plan.cc", '"reference/attention.h"'),
    ("backends", "core/backends/context.cc", '"layers/layer.h"'),
    ("backends", "core/backends/context.cc", '"backends/cpu/plan.h"'),
    ("cache", "core/cache/cache.cc", '"layers/layer.h"'),
    ("cache", "core/cache/cache.cc", '"backends/cpu/cpu_backend.h"'),
    ("layers", "core/layers/layer.cc", '"layers/kinds/linear.h"'),
    ("layers", "core/layers/layer.cc", '"loading/weight_finder.h"'),
    ("families", "core/families/model_block.cc", '"loading/weight_finder.h"'),
    ("families", "core/families/model_block.cc", '"layers/layer.h"'),
    ("loading", "core/loading/weight_finder.cc", '"layers/kinds/linear.h"'),
    ("loading", "core/loading/weight_finder.cc", '"models/model_folder.h"'),
    ("kinds", "core/layers/kinds/linear.cc", '"loading/weight_finder.h"'),
    ("kinds", "core/layers/kinds/linear.cc", '"families/model_config.h"'),
    ("kinds", "core/layers/kinds/linear.cc", '"backends/cpu/backend.h"'),
    ("kinds", "core/layers/kinds/linear.cc", '"backends/cpu/kernels/tile.h"'),
    ("kinds", "core/layers/kinds/linear.cc", "<heed/heed.h>"),
    ("kinds", "core/layers/kinds/linear.cc", "<nlohmann/json.hpp>"),
    ("kinds", "core/layers/kinds/linear.cc", '"tensor_functions/matmul.h"'),
    ("models", "core/models/model_folder.cc", '"backends/backend.h"'),
    ("tensor_functions", "core/tensor_functions/matmul.cc", '"backends/cpu/linear.h"'),
    ("kinds", "core/layers/kinds/linear.cc", '"models/model_folder.h"'),
    ("models", "core/models/model_folder.cc", '"tensor_functions/matmul.h"'),
    ("models", "core/models/model_folder.cc", "<heed/heed.h>"),
    ("tensor_functions", "core/tensor_functions/matmul.cc", '"layers/layer.h"'),
    ("training", "core/training/optimizer.cc", '"layers/kinds/linear.h"'),
    ("training", "core/training/optimizer.cc", '"backends/cpu/linear.h"'),
    ("layers", "core/layers/layer.cc", '"training/gradients.h"'),
    ("header", "capi/include/heed/heed.h", "<string>"),
    ("header", "capi/include/heed/heed.h", '"base/error.h"'),
    ("header", "capi/include/heed/heed.h", "<dlpack/dlpack.h>"),
    ("capi", "capi/src/layer.cc", '"backends/cpu/plan.h"'),
    ("capi", "capi/src/layer.cc", '"reference/attention.h"'),
    ("capi", "capi/src/layer.cc", "<Eigen/Dense>"),
    ("capi", "capi/src/context.cc", "<nlohmann/json.hpp>"),
    ("capi", "capi/src/tensor_dlpack.cc", "<dlpack/dlpack.h>"),
    ("bindings", "bindings/swig/heed.i", '"../../core/base/error.h"'),
    ("bindings", "bindings/java/native.cc", '"tensor/tensor.h"'),
    ("bindings", "bindings/java/native.cc", '"../../capi/src/handles.h"'),
    ("examples", "examples/c/program.c", '"tensor/tensor.h"'),
    ("installed", "tests/install/find_package/program.c", '"tensor/tensor.h"'),
    ("bench", "tests/bench/engine/main.cc", '"tensor/tensor.h"'),
    ("bench", "tests/bench/engine/main.cc", '"../../../capi/src/handles.h"'),
    ("simulator", "tests/ascend_sim/atb/elements.h", '"base/half.h"'),
    ("simulator", "tests/ascend_sim/runtime/stream.cc", "<heed/heed.h>"),
    ("tests", "tests/unit/tensor_test.cc", "<benchmark/benchmark.h>"),
    ("tests", "tests/unit/tensor_test.cc", '"../../bindings/java/native.h"'),
    ("tests", "tests/unit/tensor_test.cc", '"there_is_no_such_file.h"'),
]

ALLOWED = [
    ("core/platform/file_io_posix.cc", "<unistd.h>"),
    ("core/platform/file_io_posix.cc", '"platform/file_io.h"'),
    ("core/base/file.cc", '"platform/file_io.h"'),
    ("core/backends/cpu/plan.cc", '"platform/threads.h"'),
    ("capi/src/layer.cc", '"platform/threads.h"'),
    ("core/base/half.h", "<cstdint>"),
    ("core/base/json_reader.h", "<nlohmann/json.hpp>"),
    ("core/tensor/dlpack.cc", "<dlpack/dlpack.h>"),
    ("tests/reference/attention.cc", "<Eigen/Dense>"),
    ("tests/reference/attention.cc", '"reference/attention.h"'),
    ("core/backends/cpu/kernels/tile.cc", "<immintrin.h>"),
    ("core/backends/cpu/kernels/tile.cc", '"backends/cpu/kernels/tile.h"'),
    ("core/backends/cpu/plan.cc", '"backends/cpu/kernels/tile.h"'),
    ("core/layers/kinds/linear.cc", '"backends/backend.h"'),
    ("core/tensor_functions/matmul.cc", '"backends/context.h"'),
    ("capi/src/layer.cc", '"layers/layer.h"'),
    ("capi/src/operations/matmul.cc", '"tensor_functions/matmul.h"'),
    ("bindings/swig/heed.i", "<heed/heed.h>"),
    ("bindings/swig/heed.i", '"stdint.i"'),
    ("tests/bench/engine/main.cc", "<benchmark/benchmark.h>"),
    ("tests/property/rules_test.cc", '"reference/attention.h"'),
]

# (check that must report it or None, file, text). The texts are concatenated here so that this file passes the check
# itself.
LICENCE_LINE = "// " + check_files.LICENCE + "\n"
FILES = [
    ("licence", "core/base/half.h", "#pragma once\n"),
    ("licence", "scripts/build", "#!/bin/sh\n"),
    ("licence", "core/CMakeLists.txt", "project(x)\n"),
    ("path", "core/base/half.h", LICENCE_LINE + "// see /" + "work/notes\n"),
    ("path", "docs/build.md", "cd /" + "home/me/heed\n"),
    ("path", "tests/golden/data/a.safetensors", "\x00\x01/" + "root/model\n"),
    ("merge", "docs/build.md", "<" * 7 + " HEAD\n"),
    ("merge", "docs/build.md", "a\n" + "|" * 7 + " 0123456\n"),
    ("merge", "docs/build.md", "a\n" + ">" * 7 + " branch\n"),
    (None, "docs/build.md", "Building\n" + "=" * 7 + "\n" + "|" * 7 + "x|\n"),
    (None, "core/base/half.h", LICENCE_LINE + "// lies in $prefix/" + "home/x\n"),
    (None, "docs/build.md", "cmake --install build\n"),
]


# (what check_platform must report or None, file, text)
SYSTEMS = [
    ("system", "core/base/file.cc", "#ifdef __linux__\n"),
    ("system", "core/base/file.cc", "#if defined(_WIN32) || \\\n    defined(__APPLE__)\n"),
    ("system", "core/base/file.cc", "#if 1 && \\\n  defined(__APPLE__)\n"),
    ("system", "capi/src/layer.cc", "#elif __GLIBC__ > 2\n"),
    ("system", "tests/unit/half_test.cc", "#ifndef _WIN32\n"),
    ("system", "core/backends/cpu/kernels/tile.h", "#ifdef __linux__\n"),
    ("processor", "core/backends/cpu/engine/isa.cc", "#if defined(__x86_64__)\n"),
    ("processor", "core/base/half.h", "#ifdef __AVX2__\n"),
    ("processor", "core/base/half.h", "#ifdef __ARM_NEON\n"),
    ("header", "core/base/file.cc", "#include <unistd.h>\n"),
    ("header", "core/base/file.cc", "#include <sys/stat.h>\n"),
    ("header", "core/backends/plugin.cc", "# include <dlfcn.h>\n"),
    ("header", "capi/src/layer.cc", "#include <pthread.h>\n"),
    ("header", "core/backends/cpu/engine/isa.cc", "#include <cpuid.h>\n"),
    ("header", "tests/unit/half_test.cc", "#include <fcntl.h>\n"),
    ("header", "tests/capi/support/files.cc", "#include <windows.h>\n"),
    ("call", "tests/unit/half_test.cc", 'void f() { ::setenv("A", "1", 1); }\n'),
    ("call", "tests/unit/half_test.cc", "int f() { return fork(); }\n"),
    ("locale", "core/layers/layer.cc", 'fail(Status::Io, "scale is %g", scale);\n'),
    ("locale", "capi/src/layer.cc", 'std::snprintf(text, sizeof text, "%.9e", scale);\n'),
    ("locale", "core/base/error.h", 'uselocale (plain);\n'),
    ("locale", "core/base/file.cc", "std::strerror(error);\n"),
    (None, "core/platform/file_io_posix.cc", "#include <unistd.h>\n#ifdef __linux__\n"),
    (None, "core/platform/cpu_features_x86.cc", "#include <cpuid.h>\n"),
    (None, "core/backends/cpu/kernels/kernel_table.h", "#if defined(__x86_64__)\n"),
    (None, "capi/include/heed/heed.h", "#if defined(_WIN32)\n"),
    (None, "tests/support/platform/files.cc", "#include <unistd.h>\nint f() { return fork(); }\n"),
    (None, "tests/unit/half_test.cc", "#if defined(__x86_64__)\n"),
    (None, "core/base/half.h", "#include <cstdint>\n// fork() of <unistd.h> on __linux__ with %g\n#if defined(__SANITIZE_ADDRESS__)\n"),
    (None, "core/base/file.cc", 'fail(Status::Io, "100 %% of %s: %d and %" PRId64 ", %zu", name, 1, 2, 3);\n'),
]

# An operation without a fault, and each fault: what check_operations must report, and the text that is replaced, by what.
REGISTRY = "#define HEED_OPERATIONS(OPERATION) \\\n  OPERATION(Copy)\n"
PROBLEM = """struct CopyPart {
  Operand factor;  // optional
};

struct CopyProblem {
  Op op = {OpKind{0}, sizeof(CopyProblem)};
  ElementwiseOperand input;
  CopyPart parts[2];
  CopyPart* others = nullptr;
  KeyLimits limits;
};

template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, CopyProblem>
void visit_operands(Problem& problem, Visit visit) {
  for (auto& part : problem.parts) visit(part.factor, problem.sizes, Access::Read);
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.others.factor, problem.sizes, Access::Read);
}
"""
OPERATIONS = [
    (None, "", ""),
    ("operand", "  visit(problem.input,", "  visit(problem.output,"),
    ("operand", "visit(part.factor,", "visit(part.factors,"),
    ("operand", "visit(problem.others.factor,", "visit(problem.factor,"),
    ("operand", "CopyProblem>\nvoid visit_operands", "CopyProblem>\nvoid visit"),
    ("operand", "  KeyLimits limits;\n", "  Operand output[kMaxRank];\n"),
    ("struct", "struct CopyProblem {", "struct Copy {"),
    ("cost", "TEST(Cost, OfCopyProblem)", "TEST(Cost, OfCopyProblems)"),
    ("function", "TEST(Copy, heed_copy)", "TEST(Copy, heed_copy_of)"),
]


# (what check_pages must report or None, a file beside the page, the page's text)
LISTED = check_pages.TITLE + "\n`half`, `file_io`\n"
PAGES = [
    ("list", "core/base/philox.h", LISTED),
    ("list", "core/base/half_x.cc", LISTED),
    (None, "core/base/half.h", LISTED),
    (None, "core/platform/file_io_posix.cc", LISTED),
    (None, "core/backends/cpu/kernels/linear/packing-inl.h", LISTED),
    ("path", "core/base/half.h", "`core/numbers/half.h`\n" + LISTED),
    ("path", "core/base/half.h", "see `core/base/halves`\n" + LISTED),
    (None, "core/base/half.h", "`core/base/half`, `core/base/<dtype>.h`, `core/base:7`, `tests`, `a/b`\n" + LISTED),
]


RECORD = ("core/families/decoder_families.h", '.model_types = "llama",\n.model_types =\n    "phi glm4 "\n    "gpt_neox"\n')
# (what check_families must report or None, file, text), beside a file of records.
FAMILIES = [
    ("type", "core/families/windows.cc", 'const char* kOther = "glm4";\n'),
    ("type", "core/families/known_settings.cc", 'constexpr std::string_view kRotary = ",llama,phi,";\n'),
    ("type", "core/models/model_options.cc", 'if (type == "llama") return 2;\n'),
    ("type", "core/loading/weight_layout.cc", '{"gpt_neox", "layers"},\n'),
    ("type", "capi/src/layer.cc", 'is("llama")\n'),
    ("comparison", "core/families/windows.cc", 'model_type_.starts_with("gem")\n'),
    ("comparison", "core/families/windows.cc", 'settings.text("model_type") == "glm"\n'),
    ("comparison", "core/families/windows.cc", 'settings.text(Setting::ModelType).starts_with("gl")\n'),
    ("comparison", "core/models/model_folder.cc", 'if (family.model_types != "new") return;\n'),
    ("comparison", "core/models/model_folder.cc", 'if ("new" == family->model_types) return;\n'),
    (None, "core/models/model_folder.cc", 'fail("model_type is %s, expected llama or phi", model_type); // as "llama"\n'),
    (None, "core/families/families.cc", "if (family.model_types == model_type) return true;\n"),
    (None, "core/families/named_attention.cc", 'path.has("roformer")\n'),
    (None, "core/families/encoder_families.h", '.model_types = "bert",\n'),
    (None, "tests/unit/half_test.cc", 'family_of("llama")\n'),
]

NAMES = {
    check_names.KINDS: 'inline constexpr const char* kLinear = "linear";\n',
    check_names.CHILDREN: '    case ChildRole::Norm: return "norm";\n    case ChildRole::Layers: return "layers.*";\n',
}
# (what check_names must report or None, file, text), beside the files of NAMES
NAMED = [
    ("kind", "core/loading/layer_weights.cc", 'if (layer.kind() == std::string_view("linear")) return;\n'),
    ("kind", "core/loading/layer_weights.cc", "if (layer.kind() == kind_name::kLinear) return;\n"),
    ("kind", "core/layers/layer.cc", 'constexpr const char* kKinds[] = {"linear"};\n'),
    ("kind", "core/layers/kinds/linear.h", 'const char* kind() const override { return "linear"; }\n'),
    ("child", "core/loading/layer_children.cc", 'if (name == "norm") return;\n'),
    ("child", "core/layers/layer.h", 'if (name == "layers.0") return;\n'),
    (None, "core/loading/block_layout.cc", '{kind_name::kLinear, "norm", "linear"},\n'),
    (None, "core/loading/layer_children.cc", '// "norm" and kind_name::kLinear\nif (name == "normal") return;\n'),
    (None, "core/layers/kinds/transformer_layer.cc", 'make_child("norm");\n'),
]

# A tree without violations, and its map.
ROOMS = {
    "core/platform/threads.h": "",
    "core/base/error.h": '#include "platform/threads.h"\n',
    "core/backends/backend.h": '#include "backends/cpu/cpu_backend.h"\n',
    "core/backends/cpu/plan.h": '#include "backends/backend.h"\n',
    "docs/architecture.md": f"Rooms\n\n{room_map.BEGIN}\n{room_map.END}\n\nMore\n",
}
# (what room_map must report or None, files)
MAPPED = [
    (None, {}),
    ("not that of the sources", {"core/base/half.h": ""}),
    ("not that of the sources", {"core/base/error.h": ""}),
    ("a circle", {"core/platform/threads.h": '#include "base/error.h"\n'}),
    ("a circle", {"core/layers/layer.h": '#include "loading/load.h"\n', "core/loading/load.h": '#include "layers/layer.h"\n'}),
    (f"core/base: {room_map.MOST_FILES + 1} files", {f"core/base/file_{i}.h": "" for i in range(room_map.MOST_FILES)}),
    ("no room", {"core/attic/trunk.h": ""}),
    ("no room", {"core/main.cc": ""}),
    ("has no map", {"docs/architecture.md": "Rooms\n"}),
]


def plant(folder: str, file: str, text: str) -> Path:
    path = Path(folder) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return Path(folder)


failures = []
for rule, file, include in FORBIDDEN + [(None, *pair) for pair in ALLOWED]:
    directive = "%include" if rule is None and file.endswith(".i") else "#include"
    with tempfile.TemporaryDirectory() as folder:
        problems, _ = check_includes.check(plant(folder, file, f"{directive} {include}\n"))
    expected = [] if rule is None else [f"{file}:1: [{rule}] may not include {include[1:-1]}"]
    if problems != expected:
        failures.append(f"{file} with {include}: expected {expected}, reported {problems}")
for kind, file, text in FILES:
    with tempfile.TemporaryDirectory() as folder:
        problems, _ = check_files.check(plant(folder, file, text))
    if len(problems) != (kind is not None) or not all(f"[{kind}]" in problem for problem in problems):
        failures.append(f"{file} with {text!r}: expected a violation of {kind}, reported {problems}")

for kind, file, text in SYSTEMS:
    with tempfile.TemporaryDirectory() as folder:
        problems, _ = check_platform.check(plant(folder, file, text))
    if len(problems) != (kind is not None) or not all(f"[{kind}]" in problem for problem in problems):
        failures.append(f"{file} with {text!r}: expected a violation of {kind}, reported {problems}")

for kind, file, text in PAGES:
    with tempfile.TemporaryDirectory() as folder:
        plant(folder, file, "")
        problems, _ = check_pages.check(plant(folder, check_pages.LIST, text))
    if len(problems) != (kind is not None) or not all(f"[{kind}]" in problem for problem in problems):
        failures.append(f"{file} with {text!r}: expected a violation of {kind}, reported {problems}")

for kind, old, new in OPERATIONS:
    with tempfile.TemporaryDirectory() as folder:
        plant(folder, check_operations.REGISTRY, REGISTRY)
        plant(folder, "core/ops/copy.h", PROBLEM.replace(old, new, 1))
        plant(folder, check_operations.COSTS, "TEST(Cost, OfCopyProblem)".replace(old, new, 1).replace("OfCopy", "Of Copy"))
        plant(folder, check_operations.HEADER, "HEED_API heed_status heed_copy(const heed_tensor* tensor, heed_tensor* result) HEED_NOEXCEPT;\n")
        for file in check_operations.TESTS[1:]:
            plant(folder, file if "." in file else f"{file}/copy_test.cc", "heed_copy")
        plant(folder, check_operations.TESTS[0], "TEST(Copy, heed_copy)".replace(old, new, 1))
        problems, _ = check_operations.check(Path(folder))
    if (len(problems) > 0) != (kind is not None) or not all(f"[{kind}]" in problem for problem in problems):
        failures.append(f"an operation with {new!r}: expected a violation of {kind}, reported {problems}")

for kind, file, text in FAMILIES:
    with tempfile.TemporaryDirectory() as folder:
        plant(folder, *RECORD)
        problems, count = check_families.check(plant(folder, file, text))
    if len(problems) != (kind is not None) or not all(f"[{kind}]" in problem for problem in problems) or count < 4:
        failures.append(f"{file} with {text!r}: expected a violation of {kind}, reported {problems} of {count} model_types")

for kind, file, text in NAMED:
    with tempfile.TemporaryDirectory() as folder:
        for name, names in NAMES.items():
            plant(folder, name, names)
        problems, _ = check_names.check(plant(folder, file, text))
    if len(problems) != (kind is not None) or not all(f"[{kind}]" in problem for problem in problems):
        failures.append(f"{file} with {text!r}: expected a violation of {kind}, reported {problems}")

for expected_text, files in MAPPED:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in ROOMS.items():
            plant(folder, name, text)
        problems, _ = room_map.check(Path(folder), update=True)
        for name, text in files.items():
            plant(folder, name, text)
        problems += room_map.check(Path(folder))[0]
    if len(problems) != (expected_text is not None) or not all(str(expected_text) in problem for problem in problems):
        failures.append(f"a map with {sorted(files)[:3]}: expected {expected_text}, reported {problems}")

failures += [f"no violation of rule {name} is planted" for name, *_ in check_includes.RULES if name not in {f[0] for f in FORBIDDEN}]

if failures:
    sys.exit("\n".join(failures))
print(f"{len(FORBIDDEN) + sum(kind is not None for kind, *_ in FILES + SYSTEMS + OPERATIONS + PAGES + FAMILIES + NAMED + MAPPED)} planted violations, all reported")
