# SPDX-License-Identifier: Apache-2.0
"""Documentation for both languages from one text. In braces are

{num_heads}               an option or a member: numHeads, NumHeads
{NONE}, {Causal.NONE}     an enumerator: NONE, None
{FLOAT32}                 an element type: FLOAT32, Float32
{@KvCache}                a link to a class
{@Causal.NONE}            to an enumerator
{@AttentionInputs.sinks}  to a member, in Java to its setter
{@KvCache.discard()}      to a method
{one|another}             what Java says and what C# says
"""

import re
import textwrap

import names

WIDTH = 120
# Enumerators whose names in C# are not those of Java with other capitals.
CSHARP_NAMES = {"BFLOAT16": "BFloat16", "UINT8": "UInt8", "IO": "IO"}
# Stands for a space at which no line ends.
UNBROKEN = "\0"


def text_of(text: str, language: str, keeps_spaces: bool = False) -> str:
    """A text in the form of the documentation of "java" or "csharp"."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"\{([^{}]*)\}", lambda match: _word(match[1], language), escaped if keeps_spaces else " ".join(escaped.split()))


def paragraphs_of(text: str, language: str) -> list[str | list[str]]:
    """The paragraphs of a text, between which it has empty lines; of code, which is indented, the lines."""
    parts = text.strip("\n").split("\n\n")
    return [_code_of(part, language) if part.startswith("    ") else text_of(part, language) for part in parts]


def _code_of(part: str, language: str) -> list[str]:
    return [text_of(line, language, keeps_spaces=True) for line in textwrap.dedent(part).splitlines()]


def _word(word: str, language: str) -> str:
    if "|" in word:
        said = word.split("|")[language == "csharp"]
        return _word(said, language) if said.startswith("@") else said
    if word.startswith("@"):
        return _link(word[1:], language)
    owner, dot, member = word.rpartition(".")
    return owner + dot + _member(member, language)


def _member(member: str, language: str) -> str:
    if member.isupper():
        return member if language == "java" else CSHARP_NAMES.get(member, names.pascal(member))
    return names.camel(member) if language == "java" else names.pascal(member)


def _link(target: str, language: str) -> str:
    if re.match(r"java\.|System\.", target):  # a class of the platform
        return f"{{@link {target}}}" if language == "java" else f'<see{UNBROKEN}cref="{target}"/>'
    owner, _, member = target.partition(".")
    name = _member(member.removesuffix("()"), language) if member else ""
    if language == "csharp":
        return f'<see{UNBROKEN}cref="{owner}{"." if member else ""}{name}"/>'
    if member and not member.isupper() and not member.endswith("()"):
        name = "set" + names.capital(name)
    return f"{{@link {owner}{'#' if member else ''}{name}}}"


def lines_of(text: str, prefix: str, hanging: str = "", width: int = WIDTH) -> list[str]:
    """The text in lines that begin with the prefix; those after the first have a hanging indent."""
    wrapped = textwrap.wrap(text, width - len(prefix), subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
    return [(prefix + line).replace(UNBROKEN, " ") for line in wrapped]


def javadoc(indent: str, text: str | list[str | list[str]], tags: tuple[str, ...] = (), width: int = WIDTH) -> list[str]:
    """A comment of one text or of paragraphs, with tags, such as "@return this", in the form of Java."""
    if isinstance(text, str):
        one_line = f"{indent}/** {text} */"
        if not tags and len(one_line) <= width:
            return [one_line]
        text = [text]
    prefix = f"{indent} * "
    lines = []
    for number, part in enumerate(text):
        lines += [f"{indent} *"] if number else []
        if isinstance(part, list):
            lines += [f"{prefix}<pre>", *(prefix + line for line in part), f"{prefix}</pre>"]
        else:
            lines += lines_of(f"<p>{part}" if number else part, prefix, width=width)
    if tags:
        lines.append(f"{indent} *")
    for tag in tags:
        lines += lines_of(tag, prefix, "    ", width)
    return [f"{indent}/**", *lines, f"{indent} */"]


def summary(indent: str, text: str) -> list[str]:
    """The same in the form of C#."""
    return lines_of(f"<summary>{text}</summary>", f"{indent}/// ")


def csharp_tag(tag: str, text: str, attribute: str = "") -> list[str]:
    """A tag of a member's documentation with a sentence."""
    said = text_of(text, "csharp")
    opened = f"{tag}{UNBROKEN if attribute else ''}{attribute}"
    return lines_of(f"<{opened}>{names.capital(said)}{'' if said.endswith('.') else '.'}</{tag}>", "    /// ")
