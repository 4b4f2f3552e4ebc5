# SPDX-License-Identifier: Apache-2.0
"""A class of options of C#: its properties, its copy, and the conversion to C's struct. What else it has is another part of the class."""

import re

import names
from describing import csharp_describe
from description import Description, Option, Options
from texts import summary, text_of


def csharp_options(description: Description, options: Options) -> list[str]:
    one = _Class(description, options)
    base = description.base_of(options)
    extends = f" : {base.csharp_class()}" if base else ""
    return [
        "using System;",
        "",
        "namespace Heed;",
        "",
        *summary("", text_of(options.text, "csharp")),
        f"public {'abstract' if options.is_base() else 'sealed'} partial class {options.csharp_class()}{extends}",
        "{",
        *one.body(),
        "}",
    ]


# How values begin that continue the sentence about their option, and those that are a sentence of their own.
CONTINUES = re.compile(r"(from|above|any|an?|[1-9]|at most|such as|only|one) |H,")
IS_A_SENTENCE = re.compile(r"(0|-1|null), the default|null: |0 is the default|the default is|negative|none by default")


def sentence(subject: str, value: str, is_switch: bool) -> str:
    """What an option is and which values it has; the values of a switch are a second sentence."""
    said = text_of(value, "csharp")
    if is_switch:
        return f"{names.capital(subject)}. {names.capital(value)}."
    separator = "," if CONTINUES.match(said) else ";" if IS_A_SENTENCE.match(said) else ":"
    return f"{names.capital(subject)}{separator} {value}." if said else f"{names.capital(subject)}."


class _Class:
    def __init__(self, description: Description, options: Options):
        self.description = description
        self.options = options
        self.nested = [one for one in options.options if one.type in description.options]

    def body(self) -> list[str]:
        parts = [*map(self._property, self.options.options)]
        if self.options.is_base():
            parts = [self._constructor(), self._members(), *parts, *self._copy_of_common(), *self._reading(), self._fill()]
        else:
            parts += [self._copy(), *self._reading(), *self._creation(), self._conversion()]
        parts += csharp_describe(self.description, self.options)
        return [line for number, part in enumerate(parts) for line in ([""] if number else []) + part]

    def _constructor(self) -> list[str]:
        return [f"    private protected {self.options.csharp_class()}()", "    {", "    }"]

    def _members(self) -> list[str]:
        declared = self.description.header.structs[self.options.structs[0]]
        lines = ["    /// <summary>The members that all of C's structs of these options have.</summary>", "    internal interface IMembers", "    {"]
        for one in self.options.options:
            kind = {"int64_t": "long", "float": "float", "int32_t": "int"}.get(declared[one.member], "IntPtr")
            lines += [f"        {kind} {names.pascal(one.member)} {{ set; }}", ""]
        return [*lines[:-1], "    }"]

    def _property(self, one: Option) -> list[str]:
        return [*summary("    ", self._text(one)), f"    public {self._type(one)} {names.pascal(one.name)} {{ get; set; }}{self._initial(one)}"]

    @staticmethod
    def _text(one: Option) -> str:
        text = sentence(one.subject, one.value, one.type == "bool")
        if one.required:
            text += " Must be set" + ((", " if one.required.startswith("but") else " ") + one.required if one.required is not True else "") + "."
        return text_of(f"{text} {one.more}".strip(), "csharp")

    def _type(self, one: Option) -> str:
        return f"{self.description.options[one.type].csharp_class()}?" if one in self.nested else one.type

    @staticmethod
    def _initial(one: Option) -> str:
        if one.is_inverted:
            return " = true;"
        if one.type == "DataType" or not one.default:
            return ""
        return f" = {one.default}{'f' if one.type == 'float' else ''};"

    def _copy_of_common(self) -> list[list[str]]:
        if not self.nested:
            return []
        lines = ["    /// <summary>Replaces the options inside by copies.</summary>", "    private protected void CopyCommon()", "    {"]
        return [[*lines, *(f"        {names.pascal(one.name)} = {names.pascal(one.name)}?.Copy();" for one in self.nested), "    }"]]

    def _copy(self) -> list[str]:
        name = self.options.csharp_class()
        base = self.description.base_of(self.options)
        copies_common = base and any(one.type in self.description.options for one in base.options)
        inner = ["        copy.CopyCommon();"] if copies_common else []
        inner += [f"        copy.{names.pascal(one.name)} = {names.pascal(one.name)}?.Copy();" for one in self.nested]
        inner += ["        copy.CopyMore();"] if self.options.csharp_copies_more else []
        if not inner:
            return [f"    internal {name} Copy() => ({name})MemberwiseClone();"]
        return [f"    internal {name} Copy()", "    {", f"        var copy = ({name})MemberwiseClone();", *inner, "        return copy;", "    }"]

    def _reading(self) -> list[list[str]]:
        """Takes the options that a layer says; only of options that blocks inside others have."""
        options, base = self.options, self.description.base_of(self.options)
        if not self.description.is_inside(options):
            return []
        kind = options.csharp_class()
        head = "private protected void ReadCommon(SaidOptions said)" if options.is_base() else f"internal {kind} Read(SaidOptions said)"
        lines = ["        ReadCommon(said);"] if base else []
        lines += [f"        {names.pascal(one.name)} = {self._said(one)};" for one in options.options]
        if not options.is_base():
            lines += ["        ReadByHand(said);"] if options.by_hand or (base and base.by_hand) else []
            lines.append("        return this;")
        return [["    /// <summary>Takes the options of a layer.</summary>", f"    {head}", "    {", *lines, "    }"]]

    def _said(self, one: Option) -> str:
        name, member = names.pascal(one.name), f'"{one.member}"'
        if one in self.nested:
            kind = self.description.options[one.type].csharp_class()
            return f"said.Part({member}) is {{ }} of{name} ? new {kind}().Read(of{name}) : {name}"
        if one.type == "bool":
            return f"{'!' if one.is_inverted else ''}said.Is({member})"
        if one.type in self.description.enumerations:
            bits = self.description.enumerations[one.type].is_bits
            return f"said.{'Bits' if bits else 'Word'}({member}, {name})"
        return f"said.Number({member}, {name})"

    def _creation(self) -> list[list[str]]:
        if "csharp" not in self.options.creates:
            return []
        create = names.pascal(self.options.create())
        return [
            [
                "    internal NativeLayer NewLayer(NativeContext context)",
                "    {",
                "        using var structs = new NativeStructs();",
                f"        return HeedNative.{create}(context, ToNative(structs));",
                "    }",
            ]
        ]

    def _fills_with_structs(self, options: Options) -> bool:
        return any(one.type in self.description.options for one in options.options)

    def _assignments(self) -> list[str]:
        return [f"        members.{names.pascal(one.member)} = {self._native(one)};" for one in self.options.options]

    def _fill(self) -> list[str]:
        structs = ", NativeStructs structs" if self._fills_with_structs(self.options) else ""
        return [f"    internal void Fill(IMembers members{structs})", "    {", *self._assignments(), "    }"]

    def _conversion(self) -> list[str]:
        proxy = names.proxy(self.options.structs[0])
        base = self.description.base_of(self.options)
        lines = [
            "    /// <summary>The options as C's struct.</summary>",
            f"    internal {proxy} ToNative(NativeStructs structs)",
            "    {",
            f"        {proxy} members = structs.Add(new {proxy}());",
        ]
        if base:
            lines.append(f"        Fill(members{', structs' if self._fills_with_structs(base) else ''});")
        lines += self._assignments()
        if self.options.by_hand or (base and base.by_hand):
            lines.append("        FillByHand(members, structs);")
        return [*lines, "        return members;", "    }"]

    def _native(self, one: Option) -> str:
        name = names.pascal(one.name)
        if one in self.nested:
            return f"NativeStruct.PointerOf({name}?.ToNative(structs))"
        if one.type == "bool":
            return f"{name} ? {'0 : 1' if one.is_inverted else '1 : 0'}"
        return name if one.type in ("long", "int", "float") else f"(int){name}"
