# SPDX-License-Identifier: Apache-2.0
"""The text of options, such as "Embedding(numEmbeddings=3, ...)", in Java and C#. An entry of `describes` is

num_heads       the option
?norm_first     the option, if it differs from its default
scale=1         the option, or 1 if it is 0; in place of 1 another option
{one|another}   in Java the one entry, in C# the other; nothing if that is empty
"""

from dataclasses import dataclass

import names
from description import Description, Option, Options


@dataclass
class _Entry:
    option: Option
    is_optional: bool
    in_place_of_0: str  # a number or an option
    is_nested: bool

    def label(self) -> str:
        return f"{names.camel(self.option.name)}="


def _entries(description: Description, options: Options, language: str) -> list[_Entry]:
    base = description.base_of(options)
    members = {one.member: one for one in (base.options if base else []) + options.options}
    entries = []
    for text in options.describes:
        said = text.strip("{}").split("|")[language == "csharp"] if text.startswith("{") else text
        if said:
            member, _, other = said.removeprefix("?").partition("=")
            replaced = members[other].name if other in members else other
            entries.append(_Entry(members[member], said.startswith("?"), replaced, members[member].type in description.options))
    return entries


def _describes_common(description: Description, options: Options) -> bool:
    base = description.base_of(options)
    return bool(base and base.describes)


# ---- Java ----------------------------------------------------------------------------------------------------------------


def java_describe(description: Description, options: Options) -> list[str]:
    if not options.describes or "java" not in options.describes_in:
        return []
    pieces, separator = [], ""
    for entry in _entries(description, options, "java"):
        value = _java_value(entry)
        label = f'"{separator}{entry.label()}"'
        pieces.append(f'({_java_condition(entry)} ? {label} + {value} : "")' if entry.is_optional else f"{label} + {value}")
        separator = ", "
    if options.is_base():
        return ["", "final String describeCommon() {", *_java_return(pieces), "}"]
    if _describes_common(description, options):
        pieces.append('", " + describeCommon()')
    return ["", "@Override", "String describe() {", *_java_return([f'"{options.name}("', *pieces, '")"']), "}"]


def _java_return(pieces: list[str]) -> list[str]:
    return [f"    return {pieces[0]}", *(f"            + {piece}" for piece in pieces[1:-1]), f"            + {pieces[-1]};"]


def _java_value(entry: _Entry) -> str:
    name = names.camel(entry.option.name)
    if entry.is_nested:
        return f"{name}.describe()" if entry.is_optional else f"textOf({name})"
    return f"({name} == 0 ? {names.camel(entry.in_place_of_0)} : {name})" if entry.in_place_of_0 else name


def _java_condition(entry: _Entry) -> str:
    name = names.camel(entry.option.name)
    if entry.option.type == "bool":
        return f"!{name}" if entry.option.is_inverted else name
    return f"{name} != {'null' if entry.is_nested else '0'}"


# ---- C# ------------------------------------------------------------------------------------------------------------------


def csharp_describe(description: Description, options: Options) -> list[list[str]]:
    if not options.describes or "csharp" not in options.describes_in:
        return []
    pieces, separator = [], ""
    for entry in _entries(description, options, "csharp"):
        text = f'$"{separator}{entry.label()}{{{_csharp_value(entry)}}}"'
        pieces.append(f"({_csharp_condition(entry)} ? {text} : string.Empty)" if entry.is_optional else text)
        separator = ", "
    if options.is_base():
        return [["    private protected string DescribeCommon() =>", *_csharp_sum(pieces)]]
    if _describes_common(description, options):
        pieces.append('$", {DescribeCommon()}"')
    return [
        [
            "    /// <summary>The text of a block with these options.</summary>",
            "    internal string Describe() =>",
            *_csharp_sum([f'"{options.name}("', *pieces, '")"']),
        ]
    ]


def _csharp_sum(pieces: list[str]) -> list[str]:
    return [f"        {pieces[0]}", *(f"        + {piece}" for piece in pieces[1:-1]), f"        + {pieces[-1]};"]


def _csharp_value(entry: _Entry) -> str:
    name = names.pascal(entry.option.name)
    if entry.is_nested and entry.is_optional:
        return f"{name}.Describe()"
    if entry.is_nested:
        return f"({name} ?? new {entry.option.type}Options()).Describe()" if entry.option.java_default else f'{name}?.Describe() ?? "null"'
    return f"({name} == 0 ? {names.pascal(entry.in_place_of_0)} : {name})" if entry.in_place_of_0 else name


def _csharp_condition(entry: _Entry) -> str:
    name = names.pascal(entry.option.name)
    if entry.option.type == "bool":
        return f"!{name}" if entry.option.is_inverted else name
    return f"{name} != {'null' if entry.is_nested else '0'}"
