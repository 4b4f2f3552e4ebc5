# SPDX-License-Identifier: Apache-2.0
"""Combines C and C++ sources into few translation units, so that clang reads the headers that they share once for each unit."""

import re

# With larger units some processors would be idle at the end.
MAX_SOURCES = 64

# Keywords that names() finds where a declaration has no name of its own.
NO_NAMES = {"enum", "operator", "static_assert"}


def names(source):
    """The names that must not be defined twice in a translation unit: tests, macros, C functions, and declarations in unnamed namespaces
    that are not indented. A using-declaration may be repeated, so its name is not among them. The types of its parameters follow
    the name of a function if its line has them all, since functions that differ in them may have the same name."""
    text = source.read_text()
    found = {"_".join(test) for test in re.findall(r"^\w*TEST\w*\((\w+), (\w+)\)", text, re.MULTILINE)}
    found.update(re.findall(r'^(?:#define |int |extern "C" [^(]*?)(\w+)\b(?!\s*\w)', text, re.MULTILINE))
    for region in re.findall(r"^namespace \{$(.*?)^\}  // namespace$", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?!.*TEST|template|#|//|\}|using [^=]*$)\w.*", region, re.MULTILINE):
            # In "type name(...", "type name = ...", "type name[...", "struct name {" the last word before the first
            # such sign.
            line = re.sub(r"<[^(]*>|\[\[\w+\]\]| :.*| final", "", line)
            declarator = re.match(r"[^({=;\[]*", line)[0]
            parameters = re.match(r"\(([^()]+)\) (?:noexcept )?\{", line[len(declarator) :])
            # Without the last word of each parameter, its name.
            types = "(" + re.sub(r"\s*\w+\s*(,|$)", r"\1", parameters[1]) + ")" if parameters else ""
            found.update(name + types for name in re.findall(r"\w+", declarator)[-1:])
    return found - NO_NAMES


def may_differ(option):
    """Whether a unit may combine sources that have this option with sources that lack it: a folder of headers, or a macro with a value."""
    return re.match(r"-I|-isystem|-D\w+=", option)


def pack(sources):
    """Combines sources, given with their options, into units in which no name is defined twice. Returns a pair for each unit: its sources, and
    the union of their options that may differ."""
    packed = []
    for source, words in sources.items():
        own = names(source)
        own_options = {word.split("=")[0]: word for word in words if may_differ(word)}
        for unit, taken, options_taken in packed:
            agree = all(options_taken.get(key, option) == option for key, option in own_options.items())
            if len(unit) < MAX_SOURCES and agree and taken.isdisjoint(own):
                break
        else:
            packed.append((unit := [], taken := set(), options_taken := {}))
        unit.append(source)
        taken |= own
        options_taken.update(own_options)
    return [(unit, list(options_taken.values())) for unit, _, options_taken in packed]
