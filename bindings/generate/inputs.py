# SPDX-License-Identifier: Apache-2.0
"""The inputs and outputs of a call in Java and C#: bindings/described/inputs.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import names
from description import Wrong
from heed_header import Header
from options_csharp import sentence
from texts import WIDTH, javadoc, lines_of, summary, text_of

TENSOR = "const heed_tensor*"
MASK_IS_NUMBERS = (
    '<exception\0cref="ArgumentException">The mask is not Boolean. A mask of 0 and minus infinity, to be added, is a <see\0cref="{}"/>.</exception>'
)


@dataclass
class Input:
    name: str
    struct: str  # of an array
    type: str  # of another input
    subject: str
    gotten: str
    value: str
    more: str
    numbers_are: str  # for a mask, the input that takes numbers

    def camel(self) -> str:
        return names.camel(self.name)

    def pascal(self) -> str:
        return names.pascal(self.name)


class Inputs:
    def __init__(self, folder: Path, header: Header):
        tables = tomllib.loads((folder / "inputs.toml").read_text(encoding="utf-8"))
        self.structs = tables["structs"]
        struct_of = {member: struct for struct in self.structs for member, kind in header.structs[struct].items() if kind == TENSOR}
        if list(struct_of) != list(tables["arrays"]):
            raise Wrong(f"the inputs are {list(tables['arrays'])}, but heed.h has {list(struct_of)} in {self.structs}")
        self.arrays = [_input(name, one, struct_of[name]) for name, one in tables["arrays"].items()]
        self.others = [_input(name, one, "") for name, one in tables["others"].items()]
        self.outputs = [_input(name, one, "heed_layer_outputs") for name, one in tables["outputs"].items()]

    def arrays_of(self, struct: str) -> list[Input]:
        return [one for one in self.arrays if one.struct == struct]


def _input(name: str, table: dict, struct: str) -> Input:
    get = table.get("get", table["is"])
    return Input(name, struct, table.get("type", ""), table["is"], get, table["value"], table.get("more", ""), table.get("numbers_are", ""))


# ---- Java ----------------------------------------------------------------------------------------------------------------


def java_inputs(inputs: Inputs, indent: str) -> list[str]:
    lines = ["/** The inputs that are arrays, first those of an input list in its order. */", "private enum Input {"]
    for one in inputs.arrays:
        lines.append(f'    {one.name.upper()}("{one.camel()}"){";" if one is inputs.arrays[-1] else ","}')
    lines += ["", "    private static final Input[] ALL = values();", "", "    private final String label;", ""]
    lines += ["    Input(String label) {", "        this.label = label;", "    }", "}"]
    for struct in inputs.structs:
        proxy = names.proxy(struct)
        prefix = struct.removeprefix("heed_").removesuffix("inputs").removeprefix("layer_").upper()
        lines += ["", f"/** The setters of {struct}, by the index of the input. */"]
        lines.append(f"static final List<ObjLongConsumer<{proxy}>> {prefix}SETTERS = List.of(")
        setters = [f"        {proxy}::set{one.pascal()}" for one in inputs.arrays_of(struct)]
        lines += [setter + "," for setter in setters[:-1]] + [setters[-1] + ");"]
    lines.append("")
    for one in inputs.others:
        lines.append(_java_field(one))
    for one in inputs.arrays:
        lines += _java_array(one, WIDTH - len(indent))
    for one in inputs.others:
        lines += _java_other(one, WIDTH - len(indent))
    return [indent + line if line else "" for line in lines]


def _java_field(one: Input) -> str:
    if one.type == "sequences":
        return f"private final SequenceNumbers {one.camel()} = new SequenceNumbers();"
    if one.type == "CacheUse":
        return f"private CacheUse {one.camel()} = CacheUse.APPEND;"
    return f"private {'boolean' if one.type == 'bool' else one.type} {one.camel()};"


def java_outputs(inputs: Inputs, indent: str) -> list[str]:
    lines = [line for one in inputs.outputs for line in _java_array(one, WIDTH - len(indent), "AttentionOutputs", "Wanted")][1:]
    return [indent + line if line else "" for line in lines]


def _java_comment(one: Input, width: int, thrown: tuple[str, ...] = ()) -> list[str]:
    text = text_of(f"Sets {one.subject}. {one.more}".strip(), "java")
    return javadoc("", text, (f"@param {one.camel()} {text_of(one.value, 'java')}", "@return this", *thrown), width)


def _java_array(one: Input, width: int, owner: str = "AttentionInputs", enumeration: str = "Input") -> list[str]:
    constant, name = f"{enumeration}.{one.name.upper()}", one.camel()
    value, thrown = name, ()
    if one.numbers_are:
        value = f'checkedMask({name}, {constant}, "set{names.pascal(one.numbers_are)}")'
        thrown = ("@throws IllegalArgumentException if the mask is not BOOLEAN: a mask of 0 and -inf, to be added, is a bias",)
    return [
        "",
        *_java_comment(one, width, thrown),
        f"public {owner} set{one.pascal()}(NDArray {name}) {{",
        f"    return set({constant}, {value});",
        "}",
        "",
        *javadoc("", text_of(f"Returns {one.gotten}.", "java"), ("@return what was set, or null",), width),
        f"public NDArray get{one.pascal()}() {{",
        f"    return arrays[{constant}.ordinal()];",
        "}",
    ]


def _java_other(one: Input, width: int) -> list[str]:
    name = one.camel()
    kind, taken, given, unset = {
        "sequences": ("long[]", "long...", f"{name}.set({name})", "a copy of what was set, or null"),
        "KvCache": ("KvCache", "KvCache", f"{name} = {name}", "what was set, or null"),
        "long": ("long", "long", f"{name} = {name}", "what was set, or 0"),
        "bool": ("boolean", "boolean", f"{name} = {name}", "what was set, or false"),
        "CacheUse": ("CacheUse", "CacheUse", f'{name} = Objects.requireNonNull({name}, "{name}")', "what was set, or {@CacheUse.APPEND}"),
    }[one.type]
    tells, getter = ("Tells", "is") if one.type == "bool" else ("Returns", "get")
    return [
        "",
        *_java_comment(one, width),
        f"public AttentionInputs set{one.pascal()}({taken} {name}) {{",
        f"    this.{given};",
        "    return this;",
        "}",
        "",
        *javadoc("", text_of(f"{tells} {one.gotten}.", "java"), (text_of(f"@return {unset}", "java"),), width),
        f"public {kind} {getter}{one.pascal()}() {{",
        f"    return {name}{'.get()' if one.type == 'sequences' else ''};",
        "}",
    ]


# ---- C# ------------------------------------------------------------------------------------------------------------------


def csharp_inputs(inputs: Inputs) -> list[str]:
    lines = ["using System;", "", "namespace Heed;", "", "/// <content>The inputs.</content>", "public sealed partial class AttentionInputs", "{"]
    for struct in inputs.structs:
        proxy = names.proxy(struct)
        prefix = names.pascal(struct.removeprefix("heed_").removesuffix("_inputs")).removeprefix("Layer")
        if struct is not inputs.structs[0]:
            lines.append("")
        lines += summary("    ", f"The members of {struct}{', first those of a list of inputs in its order' if not prefix else ''}.")
        lines += [f"    internal static readonly TensorMember<{proxy}>[] {prefix}Members =", "    {"]
        lines += [f"        new(nameof({one.pascal()}), (inputs, tensor) => inputs.{one.pascal()} = tensor)," for one in inputs.arrays_of(struct)]
        lines.append("    };")
    lines += ["", "    /// <summary>The inputs that are arrays, in the order of the members above.</summary>", "    private enum Input", "    {"]
    lines += [f"        {one.pascal()}," for one in inputs.arrays]
    lines.append("    }")
    for one in inputs.arrays:
        lines += ["", *_csharp_array(one)]
    for one in inputs.others:
        lines += ["", *_csharp_other(one)]
    return [*lines, "}"]


def csharp_outputs(inputs: Inputs) -> list[str]:
    lines = ["namespace Heed;", "", "/// <content>The outputs.</content>", "public sealed partial class AttentionOutputs", "{"]
    lines += [line for one in inputs.outputs for line in ["", *_csharp_array(one, "Wanted")]][1:]
    return [*lines, "}"]


def _csharp_summary(one: Input) -> list[str]:
    said = f"{names.capital(one.subject)}: {one.value}." if one.struct else sentence(one.subject, one.value, one.type == "bool")
    return summary("    ", text_of(f"{said} {one.more}".strip(), "csharp"))


def _csharp_array(one: Input, enumeration: str = "Input") -> list[str]:
    name = one.pascal()
    value, thrown = "value", []
    if one.numbers_are:
        numbers = names.pascal(one.numbers_are)
        value = f"CheckedMask(value, nameof({name}), nameof({numbers}))"
        thrown = lines_of(MASK_IS_NUMBERS.format(numbers), "    /// ")
    return [
        *_csharp_summary(one),
        *thrown,
        f"    public NDArray? {name}",
        "    {",
        f"        get => this[{enumeration}.{name}];",
        f"        set => this[{enumeration}.{name}] = {value};",
        "    }",
    ]


def _csharp_other(one: Input) -> list[str]:
    lines, name = _csharp_summary(one), one.pascal()
    if one.type == "sequences":
        field = one.camel()
        return [*lines, f"    public long[]? {name}", "    {", f"        get => {field}.Values;", f"        set => {field}.Values = value;", "    }"]
    return [*lines, f"    public {one.type}{'?' if one.type == 'KvCache' else ''} {name} {{ get; set; }}"]
