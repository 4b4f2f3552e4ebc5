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


# What stands before the first piece of a sum, and before each other one.
JAVA_RETURN = ("    return ", " " * 12)
CSHARP_INDENT = " " * 8


@dataclass
class _Entry:
    option: Option
    is_optional: bool
    in_place_of_0: str  # a number or an option
    is_nested: bool

    def label(self) -> str:
        return f"{names.camel(self.option.name)}="

    def differs_from_default(self, name: str) -> str:
        """A condition in Java or C#, where the option has this name."""
        if self.option.type == "bool":
            return f"!{name}" if self.option.is_inverted else name
        return f"{name} != {'null' if self.is_nested else '0'}"


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


def _sum(first: str, indent: str, pieces: list[str]) -> list[str]:
    """A sum of at least two pieces, each on a line of its own."""
    return [f"{first}{pieces[0]}", *(f"{indent}+ {piece}" for piece in pieces[1:-1]), f"{indent}+ {pieces[-1]};"]


# ---- Java ----------------------------------------------------------------------------------------------------------------


def java_describe(description: Description, options: Options) -> list[str]:
    if not options.describes or "java" not in options.describes_in:
        return []
    pieces, separator = [], ""
    for entry in _entries(description, options, "java"):
        value = _java_value(entry)
        label = f'"{separator}{entry.label()}"'
        pieces.append(f'({entry.differs_from_default(names.camel(entry.option.name))} ? {label} + {value} : "")' if entry.is_optional else f"{label} + {value}")
        separator = ", "
    if options.is_base():
        return ["", "final String describeCommon() {", *_sum(*JAVA_RETURN, pieces), "}"]
    if _describes_common(description, options):
        pieces.append('", " + describeCommon()')
    return ["", "@Override", "String describe() {", *_sum(*JAVA_RETURN, [f'"{options.name}("', *pieces, '")"']), "}"]


def _java_value(entry: _Entry) -> str:
    name = names.camel(entry.option.name)
    if entry.is_nested:
        return f"{name}.describe()" if entry.is_optional else f"textOf({name})"
    return f"({name} == 0 ? {names.camel(entry.in_place_of_0)} : {name})" if entry.in_place_of_0 else name


# ---- C# ------------------------------------------------------------------------------------------------------------------


def csharp_describe(description: Description, options: Options) -> list[list[str]]:
    if not options.describes or "csharp" not in options.describes_in:
        return []
    pieces, separator = [], ""
    for entry in _entries(description, options, "csharp"):
        text = f'$"{separator}{entry.label()}{{{_csharp_value(entry)}}}"'
        pieces.append(f"({entry.differs_from_default(names.pascal(entry.option.name))} ? {text} : string.Empty)" if entry.is_optional else text)
        separator = ", "
    if options.is_base():
        return [["    private protected string DescribeCommon() =>", *_sum(CSHARP_INDENT, CSHARP_INDENT, pieces)]]
    if _describes_common(description, options):
        pieces.append('$", {DescribeCommon()}"')
    return [
        [
            "    /// <summary>The text of a block with these options.</summary>",
            "    internal string Describe() =>",
            *_sum(CSHARP_INDENT, CSHARP_INDENT, [f'"{options.name}("', *pieces, '")"']),
        ]
    ]


def _csharp_value(entry: _Entry) -> str:
    name = names.pascal(entry.option.name)
    if entry.is_nested and entry.is_optional:
        return f"{name}.Describe()"
    if entry.is_nested:
        return f"({name} ?? new {entry.option.type}Options()).Describe()" if entry.option.java_default else f'{name}?.Describe() ?? "null"'
    return f"({name} == 0 ? {names.pascal(entry.in_place_of_0)} : {name})" if entry.in_place_of_0 else name
