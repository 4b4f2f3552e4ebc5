#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""members.py (--check | --update) <docs/bindings.md> <only_in_one.txt> --java <javap> <heed.jar> --csharp <command...>

Java and C# have the same public members: lists those of heed.jar (by javap) and of Heed.dll (by the command, a line
"type member" for each), pairs them by name, and writes the pairs to docs/bindings.md, or checks that they stand there. What only one of the two
has must be in only_in_one.txt with a reason.
"""
import re
import subprocess
import sys
import zipfile

# What has another name in .NET, by the lower-case names.
OTHER_NAMES = {
    "close": "dispose",
    "get": "item",
    "iterator": "getenumerator",
}
GETTER = re.compile(r"^(?:get|set|opt)([A-Z].*)$")


def javap_members(javap, jar):
    """{type: members} of the public types of heed.jar; a constructor is "new"."""
    with zipfile.ZipFile(jar) as archive:
        classes = [name[:-6].replace("/", ".") for name in archive.namelist() if re.fullmatch(r"io/heed/[A-Z][^/]*\.class", name)]
    printed = subprocess.run([javap, "-protected", "-cp", jar, *classes], check=True, capture_output=True, text=True).stdout
    found = {}
    for block in re.split(r"^Compiled from .*\n", printed, flags=re.MULTILINE)[1:]:
        head, *lines = block.splitlines()
        declared = re.match(r"public (?:(?:static|final|abstract) )*(?:class|interface|enum) io\.heed\.([\w$]+)", head)
        if not declared:
            continue
        simple = declared[1].rsplit("$", 1)[-1]
        members = set()
        for line in lines:
            text = re.sub(r"<.*>", "", line.split(" throws ")[0]).strip().rstrip(";")
            name = re.search(r"([\w.$]+)(?:\(.*\))?$", text)
            if text in ("}", "") or name is None or "static {}" in text:
                continue
            plain = name[1].rsplit(".", 1)[-1].rsplit("$", 1)[-1]
            members.add("new" if plain == simple else plain)
        if " extends java.lang.Enum<" in head or " enum " in head:
            members -= {"values", "valueOf"}
        found[declared[1].replace("$", ".")] = members
    return found


def csharp_members(command):
    """{type: members} of Heed.dll, from lines "type member"."""
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {}
    for line in printed.splitlines():
        type_name, member = line.split(" ")
        found.setdefault(type_name, set()).add(member)
    return found


def plain(name):
    return name.replace("_", "").lower()


def type_in_csharp(name):
    """MultiHeadAttention.Builder is MultiHeadAttentionOptions there."""
    return name.replace(".Builder", "Options").replace(".", "")


def candidates(java_name):
    """The lower-case names that a member of Java's may have in C#, best first."""
    name = plain(java_name)
    getter = GETTER.match(java_name)
    yield name
    if name in OTHER_NAMES:
        yield OTHER_NAMES[name]
    if getter:
        yield plain(getter[1])
        yield "is" + plain(getter[1])
    if name == "size":
        yield "count"
    if java_name.startswith("to") and java_name.endswith("Array"):
        for java, csharp in (("int", "int32"), ("long", "int64"), ("short", "int16")):
            yield name.replace(java, csharp)


def paired(java, csharp):
    """[(java members joined, C# member)] of one type, and what is left on both sides."""
    by_plain = {plain(member): member for member in csharp}
    pairs = {}
    alone = []
    for member in sorted(java, key=plain):
        match = next((by_plain[name] for name in candidates(member) if name in by_plain), None)
        if match:
            pairs.setdefault(match, []).append(member)
        else:
            alone.append(member)
    return pairs, alone, sorted(csharp - pairs.keys(), key=plain)


def reasons(path):
    """{"java Type.member": reason}; a reason may be shared: "java Type.a, Type.b: reason"."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                names, _, reason = line.partition(": ")
                language, _, members = names.partition(" ")
                for member in members.split(","):
                    found[f"{language} {member.strip()}"] = reason.strip()
    return found


def table(java, csharp, known):
    """The page's text, and the members that no reason stands for."""
    lines = []
    alone = []
    for name in sorted(set(java) | {next((j for j in java if type_in_csharp(j) == c), c) for c in csharp}):
        other = type_in_csharp(name)
        pairs, only_java, only_csharp = paired(java.get(name, set()), csharp.get(other, set()))
        title = name if name == other or name not in java else f"{name} / {other}"
        if name in java and other in csharp:
            lines += [f"### {title}", "", "| Java | C# |", "|---|---|"]
            lines += [f"| {', '.join(f'`{m}`' for m in members)} | `{match}` |" for match, members in sorted(pairs.items(), key=lambda p: plain(p[0]))]
            lines += [""]
            alone += [f"java {name}.{member}" for member in only_java] + [f"csharp {other}.{member}" for member in only_csharp]
        else:
            alone += [f"java {name}"] if name in java else [f"csharp {other}"]
    lines += ["## In one language only", "", "| language | member | why |", "|---|---|---|"]
    for member in alone:
        language, _, name = member.partition(" ")
        lines.append(f"| {'Java' if language == 'java' else 'C#'} | `{name}` | {known.get(member, '')} |")
    problems = [f"{member} is in one language only, and only_in_one.txt does not say why" for member in alone if not known.get(member)]
    problems += [f"only_in_one.txt has {member}, which both languages have, or none" for member in known if member not in alone]
    return "\n".join(lines) + "\n", problems


HEAD = """# Java and C#: the same members

Generated by `scripts/bindings` from heed.jar and Heed.dll; a test holds it against them. Overloads count once; `new` is a constructor; getters and
setters of Java are properties in C#, builders are objects of options. How to use them: [java.md](java.md), [csharp.md](csharp.md).

"""


def main():
    mode, page, only_in_one, java_flag, javap, jar, csharp_flag, *command = sys.argv[1:]
    assert mode in ("--check", "--update") and java_flag == "--java" and csharp_flag == "--csharp"
    text, problems = table(javap_members(javap, jar), csharp_members(command), reasons(only_in_one))
    text = HEAD + text
    if mode == "--update":
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        with open(page, encoding="utf-8") as file:
            if file.read() != text:
                problems.append(f"{page} is not what the classes are: run scripts/bindings")
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
