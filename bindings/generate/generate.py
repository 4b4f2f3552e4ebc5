#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py java|csharp --header <heed.h> [--templates <folder>] --output <folder> [--list]

Writes the enumerations, the classes of options and the inputs of Java or of C#, with their documentation, from heed.h and bindings/described.
Java's options are parts of other classes: they stand in place of the line "// @options" of the templates <name>.java.in, the inputs in place of
"// @inputs", and the getters of a class that keeps a builder in place of "// @getters". With --list only prints the names of the files.
"""

import argparse
from pathlib import Path

from description import Description, Wrong
from enumerations import csharp_enumeration, java_enumeration
from heed_header import Header
from inputs import Inputs, csharp_inputs, java_inputs
from options_csharp import csharp_options
from options_java import java_getters, java_options

HEAD = ["// SPDX-License-Identifier: Apache-2.0", "// Generated from heed.h and bindings/described by bindings/generate."]


def java_files(description: Description, inputs: Inputs, templates: Path) -> dict[str, list[str]]:
    files = {f"{name}.java": [*HEAD, *java_enumeration(one)] for name, one in description.enumerations.items()}
    left = {*description.options, "AttentionInputs"}
    for template in sorted(templates.glob("*.java.in")):
        name = template.name.removesuffix(".java.in")
        left.remove(name)
        lines = []
        for line in template.read_text(encoding="utf-8").splitlines():
            indent, mark = line[: len(line) - len(line.lstrip())], line.strip()
            if mark == "// @options":
                lines += java_options(description, description.options[name], indent)
            elif mark == "// @getters":
                lines += java_getters(description, description.options[name], indent)
            elif mark == "// @inputs":
                lines += java_inputs(inputs, indent)
            else:
                lines.append(line)
        files[f"{name}.java"] = lines
    if left:
        raise SystemExit(f"{templates} has no template for {sorted(left)}")
    return files


def csharp_files(description: Description, inputs: Inputs) -> dict[str, list[str]]:
    files = {f"{name}.cs": [*HEAD, *csharp_enumeration(one)] for name, one in description.enumerations.items()}
    for options in description.options.values():
        files[f"{options.csharp_class()}.Described.cs"] = [*HEAD, *csharp_options(description, options)]
    files["AttentionInputs.Described.cs"] = [*HEAD, *csharp_inputs(inputs)]
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
    folder, header = Path(__file__).resolve().parent.parent / "described", Header(arguments.header)
    description, inputs = Description(folder, header), Inputs(folder, header)
    if arguments.language == "java":
        files = java_files(description, inputs, arguments.templates)
    else:
        files = csharp_files(description, inputs)
    if arguments.list:
        print(";".join(files), end="")
        return
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (arguments.output / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
