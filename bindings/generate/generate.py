#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py java|csharp --header <heed.h> [--templates <folder>] --output <folder> [--list]

Writes the enumerations, the classes of options, the inputs and the blocks of Java or of C#, with their documentation, from heed.h and
bindings/described. Those of Java that are parts of classes stand in place of lines of the templates <name>.java.in: the options of
"// @options", the inputs of "// @inputs", the outputs of "// @outputs", the getters of a class that keeps a builder of "// @getters", a
block of "// @doc" and "// @block", methods of "// @methods". With --list only prints the names of the files.
"""

import argparse
from pathlib import Path

from blocks import read_blocks
from blocks_csharp import csharp_block
from blocks_java import java_block, java_build, java_class_doc, java_template
from description import Description, Wrong
from enumerations import csharp_enumeration, java_enumeration
from heed_header import Header
from inputs import Inputs, csharp_inputs, csharp_outputs, java_inputs, java_outputs
from methods import csharp_methods, java_methods, read_methods
from options_csharp import csharp_options
from options_java import java_getters, java_options

HEAD = ["// SPDX-License-Identifier: Apache-2.0", "// Generated from heed.h and bindings/described by bindings/generate."]


class Described:
    """All that bindings/described says."""

    def __init__(self, folder: Path, header: Header):
        self.description = Description(folder, header)
        self.inputs = Inputs(folder, header)
        self.blocks = read_blocks(folder, self.description)
        self.methods = read_methods(folder)


def java_files(described: Described, templates: Path) -> dict[str, list[str]]:
    description = described.description
    files = {f"{name}.java": [*HEAD, *java_enumeration(one)] for name, one in description.enumerations.items()}
    sources = {path.name.removesuffix(".java.in"): path.read_text(encoding="utf-8") for path in sorted(templates.glob("*.java.in"))}
    for name, block in described.blocks.items():
        if name not in sources:
            sources[name] = java_template(block, description.options[name])
    left = {*description.options, *described.blocks, *described.methods, "AttentionInputs"} - set(sources)
    if left:
        raise SystemExit(f"{templates} has no template for {sorted(left)}")
    for name, source in sources.items():
        files[f"{name}.java"] = [line for written in source.splitlines() for line in _java_lines(described, name, written)]
    return files


def _java_lines(described: Described, name: str, line: str) -> list[str]:
    """A line of a template, or what stands in its place."""
    description, block = described.description, described.blocks.get(name)
    indent, options = line[: len(line) - len(line.lstrip())], description.options.get(name)
    match line.strip():
        case "// @options":
            return java_options(description, options, indent) + (java_build(block, options, indent) if block else [])
        case "// @getters":
            return java_getters(description, options, indent)
        case "// @inputs":
            return java_inputs(described.inputs, indent)
        case "// @outputs":
            return java_outputs(described.inputs, indent)
        case "// @doc":
            return java_class_doc(block)
        case "// @block":
            return java_block(block, options, indent)
        case "// @methods":
            return java_methods(described.methods[name], indent)
    return [line]


def csharp_files(described: Described) -> dict[str, list[str]]:
    description = described.description
    files = {f"{name}.cs": [*HEAD, *csharp_enumeration(one)] for name, one in description.enumerations.items()}
    for options in description.options.values():
        files[f"{options.csharp_class()}.Described.cs"] = [*HEAD, *csharp_options(description, options)]
    files["AttentionInputs.Described.cs"] = [*HEAD, *csharp_inputs(described.inputs)]
    files["AttentionOutputs.Described.cs"] = [*HEAD, *csharp_outputs(described.inputs)]
    for name, block in described.blocks.items():
        files[f"{name}.Described.cs"] = [*HEAD, *csharp_block(block, description.options.get(name))]
    for name, methods in described.methods.items():
        files[f"{name}.Described.cs"] = [*HEAD, *csharp_methods(name, methods)]
    return files


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("language", choices=("java", "csharp"))
    parser.add_argument("--header", type=Path, required=True)
    parser.add_argument("--templates", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    try:
        write(arguments)
    except Wrong as wrong:
        raise SystemExit(f"bindings/described: {wrong}") from None


def write(arguments: argparse.Namespace) -> None:
    described = Described(Path(__file__).resolve().parent.parent / "described", Header(arguments.header))
    files = java_files(described, arguments.templates) if arguments.language == "java" else csharp_files(described)
    if arguments.list:
        print(";".join(files), end="")
        return
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (arguments.output / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
