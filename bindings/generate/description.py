# SPDX-License-Identifier: Apache-2.0
"""Reads bindings/described/*.toml, and checks it against heed.h: neither has an enumerator or an option that the other lacks."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from heed_header import Header


class Wrong(Exception):
    """The description and heed.h contradict each other."""


@dataclass
class Enumerator:
    name: str  # as in heed.h, without the prefix
    number: int
    text: str


@dataclass
class Enumeration:
    name: str
    text: str
    enumerators: list[Enumerator]
    is_bits: bool = False
    csharp_names: dict[str, str] = field(default_factory=dict)  # those that do not follow the rule
    only_csharp: tuple[str, ...] = ()
    java_unknown: str = ""  # the text of Java's enumerator for numbers of later versions

    def zero(self) -> str | None:
        return next((one.name for one in self.enumerators if one.number == 0), None)


@dataclass
class Option:
    member: str  # in the struct of heed.h
    name: str  # in Java and C#, in C's spelling
    type: str  # long, int, float, bool, or the name of an enumeration or of a class of options
    is_inverted: bool  # C says "no"
    required: bool | str
    subject: str
    value: str
    more: str
    default: str  # "": that of the type
    java_with: dict[str, str]  # parameters of the same setter of Java, and the options that they set
    java_is_set_with: str  # the option whose setter sets this one too
    java_default: str  # an expression of Java, for an option that is never null
    java_native: str  # an expression of Java for the member of C's struct
    java_is_visible: bool  # to the classes of the package


@dataclass
class Options:
    name: str  # of the block, or of the options themselves
    structs: list[str]  # of a class that others extend, those that have all its members
    base: str
    text: str
    options: list[Option]
    by_hand: list[str]  # members that fillByHand and FillByHand set
    left_out: list[str]  # members that are no options of the languages
    java_by_hand: list[str]
    creates: list[str]  # the languages in which the options make a layer, by heed_<kind>_create
    is_immutable_in_java: bool
    csharp_copies_more: bool
    describes: list[str]  # what their text has: describing.py
    describes_in: list[str]  # the languages in which the text is generated

    def csharp_class(self) -> str:
        return self.name if self.name.endswith("Options") else self.name + "Options"

    def java_class(self) -> str:
        return self.name if self.is_immutable_in_java else f"{self.name}.Builder"

    def create(self) -> str:
        """The function of C that makes a layer of the options."""
        return self.structs[0].removesuffix("_options") + "_create"

    def is_base(self) -> bool:
        return len(self.structs) > 1


class Description:
    def __init__(self, folder: Path, header: Header):
        self.header = header
        self.enumerations = {name: self._enumeration(name, table) for name, table in _tables(folder / "enumerations.toml")}
        tables = dict(table for path in sorted(folder.glob("options_*.toml")) for table in _tables(path))
        self.classes_of = {table["struct"]: name for name, table in tables.items() if "struct" in table}
        self.options = {name: self._options(name, table) for name, table in tables.items()}
        for options in self.options.values():
            self._check(options)
        layers = self._all_inside("TransformerEncoderBlock") | self._all_inside("TransformerDecoderBlock")
        self._inside = layers | self._all_inside("TransformerEncoder") | self._all_inside("TransformerDecoder")

    def is_inside(self, options: Options) -> bool:
        """Whether a block inside another has the options."""
        return options.name in self._inside

    def _all_inside(self, name: str) -> set[str]:
        options = self.options[name]
        within = [one.type for one in options.options if one.type in self.options]
        return {name}.union(*map(self._all_inside, [*within, *([options.base] if options.base else [])]))

    def base_of(self, options: Options) -> Options | None:
        return self.options[options.base] if options.base else None

    def _enumeration(self, name: str, table: dict) -> Enumeration:
        numbers = {one: self.header.numbers[f"HEED_{one}"] for one in table.get("also", [])} | self.header.enumerators(table["prefix"])
        for other in table.get("but", []):
            numbers = {one: number for one, number in numbers.items() if not one.startswith(other)}
        texts = table["enumerators"]
        if list(texts) != list(numbers):
            raise Wrong(f"{name} describes {list(texts)}, but heed.h has {list(numbers)} with {table['prefix']}")
        return Enumeration(
            name,
            table["text"],
            [Enumerator(one, number, texts[one]) for one, number in numbers.items()],
            table.get("bits", False),
            table.get("csharp_names", {}),
            tuple(table.get("only_csharp", ())),
            table.get("java_unknown", ""),
        )

    def _options(self, name: str, table: dict) -> Options:
        structs = table.get("structs") or [table["struct"]]
        options = [self._option(structs[0], member, one) for member, one in table.items() if isinstance(one, dict)]
        for one in options:
            for with_it in one.java_with.values():
                next(other for other in options if other.member == with_it).java_is_set_with = one.member
        return Options(
            name,
            structs,
            table.get("extends", ""),
            table["text"],
            options,
            table.get("by_hand", []),
            table.get("left_out", []),
            table.get("java_by_hand", []),
            table.get("creates", []),
            table.get("is_immutable_in_java", False),
            table.get("csharp_copies_more", False),
            table.get("describes", []),
            table.get("describes_in", ["java", "csharp"]),
        )

    def _option(self, struct: str, member: str, table: dict) -> Option:
        declared = self.header.structs[struct].get(member)
        if declared is None:
            raise Wrong(f"{struct} has no {member} in heed.h, but it is described")
        kind = table.get("type") or self._type_of(declared, f"{struct}.{member}")
        is_inverted = member.startswith("no_") and not table.get("is_plain", False)
        return Option(
            member,
            table.get("name", member.removeprefix("no_") if is_inverted else member),
            kind,
            is_inverted,
            table.get("required", False),
            table["is"],
            table["value"],
            table.get("more", ""),
            str(table.get("default", "")),
            table.get("java_with", {}),
            "",
            table.get("java_default", ""),
            table.get("java_native", ""),
            table.get("java_is_visible", False),
        )

    def _type_of(self, declared: str, name: str) -> str:
        known = {"int64_t": "long", "float": "float", "int32_t": "bool"}
        if declared in known:
            return known[declared]
        pointed = declared.removeprefix("const ").removesuffix("*").strip()
        if pointed in self.classes_of:
            return self.classes_of[pointed]
        raise Wrong(f"{name} is a {declared}, which the description does not know")

    def _check(self, options: Options) -> None:
        base = self.base_of(options)
        described = {one.member for one in options.options} | set(options.by_hand) | set(options.left_out)
        if base:
            described |= {one.member for one in base.options} | set(base.by_hand)
        for struct in options.structs:
            declared = set(self.header.structs[struct])
            missing = declared - described
            # What a class that extends this one describes is not missing here.
            if missing and struct not in {s for s, name in self.classes_of.items() if name != options.name}:
                raise Wrong(f"{struct} of heed.h has {sorted(missing)}, which {options.name} in bindings/described lacks")
            if described - declared:
                raise Wrong(f"{options.name} in bindings/described has {sorted(described - declared)}, which {struct} of heed.h lacks")


def _tables(path: Path):
    return tomllib.loads(path.read_text(encoding="utf-8")).items()
