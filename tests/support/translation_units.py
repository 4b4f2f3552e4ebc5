# SPDX-License-Identifier: Apache-2.0
"""Combines C and C++ sources into few translation units, so that clang reads the headers that they share once for each unit."""

import re

# With larger units some processors would be idle at the end.
MAX_SOURCES = 64


# What stands where a name would, but may be in several sources.
NO_NAMES = {"enum", "operator", "static_assert"}


def names(source):
    """Names that another source may define, too: tests, and names in unnamed namespaces that are not indented. Not those of
    using-declarations, since several may declare the same."""
    text = source.read_text()
    found = {"_".join(test) for test in re.findall(r"^\w*TEST\w*\((\w+), (\w+)\)", text, re.MULTILINE)}
    found.update(re.findall(r'^(?:#define |int |extern "C" [^(]*?)(\w+)\b(?!\s*\w)', text, re.MULTILINE))
    for region in re.findall(r"^namespace \{$(.*?)^\}  // namespace$", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?!.*TEST|template|#|//|\}|using [^=]*$)\w.*", region, re.MULTILINE):
            # In "type name(...", "type name = ...", "type name[...", "struct name {" the last word before the first
            # such sign.
            declarator = re.match(r"[^({=;\[]*", re.sub(r"<[^(]*>|\[\[\w+\]\]| :.*| final", "", line))[0]
            found.update(re.findall(r"\w+", declarator)[-1:])
    return found - NO_NAMES


def may_differ(option):
    """Whether sources with and without an option may be in one unit: so for folders of headers, and for macros with a value."""
    return re.match(r"-I|-isystem|-D\w+=", option)


def pack(sources):
    """Units of sources without a common name: pairs of the sources, and their options that may differ."""
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
