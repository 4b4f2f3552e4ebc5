# SPDX-License-Identifier: Apache-2.0
"""Methods of Java and C# that differ in their form alone: bindings/described/methods*.toml. Java's stand in place of the line "// @methods"
of a template."""

import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

import names
from texts import WIDTH, csharp_tag, javadoc, text_of

# The types of elements: Java's, C#'s and heed's. Java has no type for UINT8.
ELEMENTS = [
    ("float", "float", "FLOAT32"),
    ("double", "double", "FLOAT64"),
    ("int", "int", "INT32"),
    ("long", "long", "INT64"),
    ("byte", "sbyte", "INT8"),
    ("", "byte", "UINT8"),
    ("boolean", "bool", "BOOLEAN"),
]

JAVA_TYPES = {"bool": "boolean", "bool[]": "boolean[]"}


@dataclass
class Parameter:
    type: str
    name: str
    text: str
    default: str = ""
    without: str = ""  # a sentence about the method of Java that leaves it out


@dataclass
class Method:
    name: str
    text: str
    java: str = ""  # the expression that it returns
    csharp: str = ""
    returns: str = ""
    parameters: list[Parameter] = field(default_factory=list)
    returns_by_default: str = ""
    type: str = "NDArray"
    throws: dict[str, list[str]] = field(default_factory=dict)  # kinds of exceptions (names.py), and when they are thrown
    each: bool = False  # of every type of elements
    of: dict[str, str] = field(default_factory=dict)  # of these enumerators, whose texts are {text}
    only: str = ""  # the only language that has it
    is_static: bool = False
    java_is_final: bool = False
    owner: str = ""  # its class
    tracked: str = ""  # with an array that a gradient tape tracks: "recorded" by the tape, or "read"; otherwise such arrays are refused

    def modifier(self) -> str:
        return "static " if self.is_static else ""

    def refusals(self, language: str, given: list[Parameter], said: str) -> list[str]:
        """The statements that refuse an array that a gradient tape tracks: any array of a method that the tape does not record, and with an
        array to write also those of one that it does."""
        makes_or_writes = self.type == "void" or "NDArray" in self.type or "NDList" in self.type
        if self.owner not in ("NDArray", "NDArrays", "Activation") or not makes_or_writes or self.tracked == "read":
            return []
        arrays = [names.camel(one.name) for one in given if one.type == "NDArray"]
        arrays = (["this"] if self.owner == "NDArray" else []) + arrays
        written = next((names.camel(one.name) for one in given if one.type == "NDArray" and one.default), None)
        if self.tracked == "recorded" and written is None:
            return []
        method = "refuse" if self.tracked != "recorded" else "refuseInto"
        if language == "java":
            return [f'Tape.{method}("{said}", {one});' for one in arrays]
        condition = "" if self.tracked != "recorded" else f"if ({written} is not null) "
        return [f'{condition}Tape.{names.capital(method)}("{said}", {", ".join(arrays)});']

    def all(self, language: str) -> list["Method"]:
        """The method, or those of every type of elements or of every enumerator."""
        if self.only not in ("", language):
            return []
        parameters = [replace(one, type=_in(language, one.type), name=_in(language, one.name)) for one in self.parameters]
        one = replace(self, name=_in(language, self.name), type=_in(language, self.type), parameters=parameters)
        if self.each:
            return [one._filled(_of_elements(elements, language)) for elements in ELEMENTS if elements[language == "csharp"]]
        return [one._filled(_of_enumerator(name, text, language)) for name, text in self.of.items()] or [one]

    def _filled(self, words: dict[str, str]) -> "Method":
        def filled(text: str) -> str:
            for word, said in words.items():
                text = text.replace(word, said)
            return text

        texts = {one: filled(getattr(self, one)) for one in ("name", "text", "java", "csharp", "returns", "returns_by_default")}
        return replace(self, **texts, parameters=[replace(one, type=filled(one.type)) for one in self.parameters])


def _in(language: str, said: str) -> str:
    """Of "{a|b}" what the language says."""
    return text_of(said, language) if "|" in said else said


def _of_elements(elements: tuple[str, str, str], language: str) -> dict[str, str]:
    return {"{T}": elements[language == "csharp"], "{TYPE}": elements[2], "{ELEMENT}": f"{{{elements[2]}}}"}


def _of_enumerator(name: str, text: str, language: str) -> dict[str, str]:
    """The words for an enumerator, which may have another name in each language: "SUB|SUBTRACT"."""
    name = name.split("|")[-1 if language == "csharp" else 0]
    return {"{name}": name.lower(), "{text}": text, "{NAME}": name if language == "java" else names.pascal(name)}


def read_methods(folder: Path) -> dict[str, list[Method]]:
    """The methods of each class, of which several files may have some."""
    read: dict[str, list[Method]] = {}
    for path in sorted(folder.glob("methods*.toml")):
        for name, methods in tomllib.loads(path.read_text(encoding="utf-8")).items():
            read.setdefault(name, []).extend(_method(one, name) for one in methods)
    return read


def _method(table: dict, owner: str) -> Method:
    return Method(**table | {"owner": owner, "parameters": [Parameter(*one) for one in table.get("parameters", [])]})


def _default(one: Parameter, language: str) -> str:
    """The default of a parameter as an expression; empty if it has none."""
    given = text_of(one.default, language) if one.default.startswith("{") else one.default
    if one.type != "DataType" or not given:
        return given
    return f"DataType.{given if language == 'java' else text_of('{' + given + '}', language)}"


# ---- Java ----------------------------------------------------------------------------------------------------------------


def java_methods(methods: list[Method], indent: str) -> list[str]:
    lines = []
    for method in (one for described in methods for one in described.all("java")):
        first = next((at for at, one in enumerate(method.parameters) if _default(one, "java")), len(method.parameters))
        for number in range(first, len(method.parameters) + 1):
            lines += ["", *_java_method(method, number, WIDTH - len(indent))]
    return [indent + line if line else "" for line in lines[1:]]


def _java_method(method: Method, number: int, width: int) -> list[str]:
    """The method with that number of the parameters; those that are left out have their defaults."""
    given, left_out = method.parameters[:number], method.parameters[number:]
    values = [names.camel(one.name) for one in given] + [_default(one, "java") for one in left_out]
    name = names.camel(method.name)
    text = method.text
    for one in left_out:
        text += f" {one.without}" if one.without else ""
    tags = [f"@param {names.camel(one.name)} {one.text}" for one in given]
    tags += [f"@return {(left_out and method.returns_by_default) or method.returns}"] if method.returns else []
    for kind, whens in method.throws.items():
        exception = f"HeedException with {{@Status.{kind}}}" if kind.isupper() else names.EXCEPTIONS["java"][kind]
        tags += [f"@throws {exception} if {when}" for when in whens if not any(one.name in when.split() for one in left_out)]
    return_it = "return " if method.returns else ""
    expression = f"{name}({', '.join(values)})" if left_out else method.java
    if any(_default(one, "java").endswith("null") for one in method.parameters):
        expression = _with_defaults(method, left_out)
    modifier = f"{'final ' if method.java_is_final else ''}{method.modifier()}"
    # A default that is taken from the first argument.
    is_asked = given and left_out and f"{given[0].name}." in "".join(values)
    declared = ", ".join(f"{JAVA_TYPES.get(one.type, one.type)} {names.camel(one.name)}" for one in given)
    return [
        *javadoc("", text_of(text, "java"), tuple(text_of(tag, "java") for tag in tags), width),
        f"public {modifier}{JAVA_TYPES.get(method.type, method.type)} {name}({declared}) {{",
        *([f'    Objects.requireNonNull({given[0].name}, "{given[0].name}");'] if is_asked else []),
        *(f"    {refusal}" for refusal in method.refusals("java", given, name)),
        f"    {return_it}{expression};",
        "}",
    ]


def _with_defaults(method: Method, left_out: list[Parameter]) -> str:
    """The expression of a method of which parameters may be null only where they are left out."""
    expression = method.java
    for one in method.parameters:
        said = names.camel(one.name)
        if one in left_out:
            said = _default(one, "java")
        elif _default(one, "java").endswith("null"):
            said = f'Objects.requireNonNull({said}, "{said}")'
        expression = re.sub(rf'(?<!")\b{names.camel(one.name)}\b(?!")', said, expression)
    return expression


# ---- C# ------------------------------------------------------------------------------------------------------------------


def csharp_methods(name: str, methods: list[Method]) -> list[str]:
    lines = ["using System;", "using System.Collections.Generic;", "", "namespace Heed;", "", "/// <content>The methods that both languages have.</content>"]
    lines += [f"public {methods[0].modifier()}partial class {name}", "{"]
    for method in (one for described in methods for one in described.all("csharp")):
        lines += [*_csharp_method(method), ""]
    return [*lines[:-1], "}"]


def _csharp_method(method: Method) -> list[str]:
    lines = csharp_tag("summary", method.text)
    declared = []
    for one in method.parameters:
        default = _default(one, "csharp")
        kind = f"params {one.type.removesuffix('...')}[]" if one.type.endswith("...") else f"{one.type}{'?' if default == 'null' else ''}"
        declared.append(f"{kind} {names.camel(one.name)}{f' = {default}' if default else ''}")
        lines += csharp_tag("param", one.text, f'name="{names.camel(one.name)}"')
    lines += csharp_tag("returns", method.returns) if method.returns else []
    for kind, whens in method.throws.items():
        exception = "HeedException" if kind.isupper() else names.EXCEPTIONS["csharp"][kind]
        with_status = f"with {{@Status.{kind}}}: " if kind.isupper() else ""
        lines += [line for when in whens for line in csharp_tag("exception", with_status + when, f'cref="{exception}"')]
    name = names.pascal(method.name)
    head = f"    public {method.modifier()}{method.type} {name}({', '.join(declared)})"
    refusals = method.refusals("csharp", method.parameters, name)
    if not refusals:
        return [*lines, f"{head} =>", f"        {method.csharp};"]
    return_it = "" if method.type == "void" else "return "
    return [*lines, head, "    {", *(f"        {refusal}" for refusal in refusals), f"        {return_it}{method.csharp};", "    }"]
