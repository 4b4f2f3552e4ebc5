# SPDX-License-Identifier: Apache-2.0
"""The options of a builder of Java: fields, the conversion to C's struct, and setters."""

import names
from describing import java_describe
from description import Description, Option, Options
from texts import WIDTH, javadoc, text_of

PRIMITIVE = {"long": "long", "int": "int", "float": "float", "bool": "boolean"}


def java_options(description: Description, options: Options, indent: str) -> list[str]:
    """The lines in place of "@options", which stands in the body of the builder."""
    one = _Builder(description, options, WIDTH - len(indent))
    lines = [*one.members(), *one.fields(), *one.constructor(), *one.conversion(), *one.reading(), *java_describe(description, options), *one.setters()]
    return [indent + line if line else "" for line in lines]


def java_getters(description: Description, options: Options, indent: str) -> list[str]:
    """The lines in place of "@getters", of a class that keeps a builder as `options`."""
    lines = []
    for one in options.options:
        is_switch = one.type == "bool"
        name = f"{'is' if is_switch else 'get'}{names.pascal(one.name)}"
        text = text_of(f"{'Tells' if is_switch else 'Returns'} {one.subject}.", "java")
        value = f"{str(one.is_inverted).lower()} by default" if is_switch else text_of(one.value, "java")
        lines += [
            "",
            *javadoc("", text, (f"@return {value}",), WIDTH - len(indent)),
            f"public {PRIMITIVE[one.type]} {name}() {{",
            f"    return options.{names.camel(one.name)};",
            "}",
        ]
    return [indent + line if line else "" for line in lines[1:]]


class _Builder:
    def __init__(self, description: Description, options: Options, width: int):
        self.width = width
        self.description = description
        self.options = options
        self.listed = [one for one in options.options if one.member not in options.java_by_hand]
        self.builder = "B" if options.is_base() else "Builder"

    def members(self) -> list[str]:
        """The interface of the structs of the classes that extend this one."""
        if not self.options.is_base():
            return []
        lines = ["/** The members that all of C's structs of these options have. */", "interface Members {"]
        declared = self.description.header.structs[self.options.structs[0]]
        for member in [one.member for one in self.options.options] + self.options.by_hand:
            kind = {"int64_t": "long", "float": "float", "int32_t": "int"}.get(declared[member], "long")
            lines += [f"    void set{names.pascal(member)}({kind} {names.camel(member)});", ""]
        return [*lines[:-1], "}", ""]

    def fields(self) -> list[str]:
        return [f"{'' if one.java_is_visible else 'private '}{self._type(one)} {names.camel(one.name)}{self._initial(one)};" for one in self.listed]

    def constructor(self) -> list[str]:
        name = self.options.name if self.options.is_base() else "Builder"
        return ["", f"{'' if self.options.is_base() else 'private '}{name}() {{}}"]

    def conversion(self) -> list[str]:
        options = self.options
        structs = ", structs" if options.is_base() and self._fills_with_structs(options) else ""
        base = self.description.base_of(options)
        if options.is_base():
            head = ["", f"final void fill(Members members{', NativeStructs structs' if structs else ''}) {{"]
        else:
            proxy = names.proxy(options.structs[0])
            head = [
                "",
                "/** The options as C's struct. */",
                f"{proxy} toNative(NativeStructs structs) {{",
                f"    {proxy} members = structs.add(new {proxy}());",
            ]
        lines = []
        if base:
            lines.append(f"    fill(members{', structs' if self._fills_with_structs(base) else ''});")
        lines += [f"    members.set{names.pascal(one.member)}({self._native(one)});" for one in self.listed]
        if options.by_hand or options.java_by_hand:
            lines.append(f"    fillByHand(members{structs});")
        if not options.is_base():
            lines.append("    return members;")
        return [*self._creation(), *head, *lines, "}"]

    def _creation(self) -> list[str]:
        if "java" not in self.options.creates:
            return []
        return [
            "",
            "@Override",
            "NativeLayer newLayer(NativeContext context, NativeStructs structs) {",
            f"    return HeedNative.{self.options.create()}(context, toNative(structs));",
            "}",
        ]

    def reading(self) -> list[str]:
        """Takes the options that a layer says; only of options that blocks inside others have."""
        options, base = self.options, self.description.base_of(self.options)
        if not self.description.is_inside(options):
            return []
        head = "final void readCommon(SaidOptions said)" if options.is_base() else "Builder read(SaidOptions said)"
        lines = ["    readCommon(said);"] if base else []
        lines += [f"    {names.camel(one.name)} = {self._said(one)};" for one in self.listed]
        lines += ["    readByHand(said);"] if options.by_hand or options.java_by_hand else []
        return ["", "/** Takes the options of a layer. */", f"{head} {{", *lines, *([] if options.is_base() else ["    return this;"]), "}"]

    def _said(self, one: Option) -> str:
        field, member = names.camel(one.name), f'"{one.member}"'
        if one.type in self.description.options:
            inside = self.description.options[one.type]
            read = f"{inside.name}.builder().read(said.part({member})){'.build()' if inside.is_immutable_in_java else ''}"
            return f"said.has({member}) ? {read} : {field}"
        if one.type == "bool":
            return f"{'!' if one.is_inverted else ''}said.is({member})"
        if one.type in self.description.enumerations:
            return f"said.word({one.type}.class, {member}, {field})"
        return f"said.number({member}, {field})"

    def _fills_with_structs(self, options: Options) -> bool:
        return any(one.type in self.description.options for one in options.options)

    def setters(self) -> list[str]:
        return [line for one in self.listed if not one.java_is_set_with for line in self._setter(one)]

    def _setter(self, one: Option) -> list[str]:
        others = {other.member: other for other in self.listed}
        parameters = {names.camel(one.name): one} | {name: others[member] for name, member in one.java_with.items()}
        required = "" if not one.required else ", which is required" + (f" {one.required}" if one.required is not True else "")
        tags = [f"@param {name} {option.value if option is one else self._value_of_other(option)}" for name, option in parameters.items()]
        prefix = "set" if one.required else "opt"
        declared = ", ".join(f"{self._type(option)} {name}" for name, option in parameters.items())
        final = "final " if self.options.is_base() else ""
        return [
            "",
            *javadoc(
                "",
                text_of(f"Sets {one.subject}{required}. {one.more}", "java").strip(),
                (*(text_of(tag, "java") for tag in tags), "@return this"),
                self.width,
            ),
            f"public {final}{self.builder} {prefix}{names.pascal(one.name)}({declared}) {{",
            *(f"    {self._assignment(option, name)}" for name, option in parameters.items()),
            f"    return {'self()' if self.options.is_base() else 'this'};",
            "}",
        ]

    @staticmethod
    def _value_of_other(one: Option) -> str:
        return f"{one.subject}; {one.value}"

    def _assignment(self, one: Option, parameter: str) -> str:
        field = names.camel(one.name)
        target = f"this.{field}" if field == parameter else field
        return f"{target} = {self._given(one, parameter)};"

    def _given(self, one: Option, parameter: str) -> str:
        is_nested = one.type in self.description.options
        copied = is_nested and not self.description.options[one.type].is_immutable_in_java
        if one.type in self.description.enumerations or one.type == "DataType" or (is_nested and (one.required or one.java_default)):
            return f'Objects.requireNonNull({parameter}, "{parameter}")' + (".copy()" if copied else "")
        return f"{parameter} == null ? null : {parameter}.copy()" if copied else parameter

    def _type(self, one: Option) -> str:
        if one.type in self.description.options:
            return self.description.options[one.type].java_class()
        return PRIMITIVE.get(one.type, one.type)

    def _initial(self, one: Option) -> str:
        if one.java_default:
            return f" = {one.java_default}"
        if one.is_inverted:
            return " = true"
        if one.type == "DataType":
            return f" = DataType.{one.default}"
        if one.type in self.description.enumerations:
            first = self.description.enumerations[one.type].zero()
            return f" = {one.type}.{first}" if first else ""
        return f" = {one.default}{'f' if one.type == 'float' else ''}" if one.default else ""

    def _native(self, one: Option) -> str:
        field = names.camel(one.name)
        if one.java_native:
            return one.java_native
        if one.type in self.description.options:
            return f"NativeStruct.pointerOf({field}{'' if one.java_default else f' == null ? null : {field}'}.toNative(structs))"
        if one.type == "bool":
            return f"{field} ? {'0 : 1' if one.is_inverted else '1 : 0'}"
        if one.type == "DataType":
            return f"{field}.code"
        if one.type in self.description.enumerations:
            return f"{field}.code" if self.description.enumerations[one.type].zero() else f"{field} == null ? 0 : {field}.code"
        return field
