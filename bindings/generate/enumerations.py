# SPDX-License-Identifier: Apache-2.0
"""Enumerations as sources of Java and C#."""

import names
from description import Enumeration
from texts import javadoc, summary, text_of


def java_enumeration(one: Enumeration) -> list[str]:
    if one.java_unknown:
        return _java_ordinals(one)
    field = "bit" if one.is_bits else "code"
    listed = [enumerator for enumerator in one.enumerators if enumerator.name not in one.only_csharp]
    lines = ["package io.heed;", "", *javadoc("", text_of(one.text, "java")), f"public enum {one.name} {{"]
    for enumerator in listed:
        lines += javadoc("    ", text_of(enumerator.text, "java"))
        lines.append(f"    {enumerator.name}({enumerator.number}){';' if enumerator is listed[-1] else ','}")
    return [
        *lines,
        "",
        f"    /** The {'bit' if one.is_bits else 'number'} in heed.h. */",
        f"    final int {field};",
        "",
        f"    {one.name}(int {field}) {{",
        f"        this.{field} = {field};",
        "    }",
        "}",
    ]


def _java_ordinals(one: Enumeration) -> list[str]:
    """An enumeration whose numbers count from 0, and which can have those of a later version."""
    assert [enumerator.number for enumerator in one.enumerators] == list(range(len(one.enumerators)))
    lines = ["package io.heed;", "", *javadoc("", text_of(one.text, "java")), f"public enum {one.name} {{"]
    for enumerator in one.enumerators:
        lines += [*javadoc("    ", text_of(enumerator.text, "java")), f"    {enumerator.name},"]
    return [
        *lines,
        *javadoc("    ", text_of(one.java_unknown, "java")),
        "    UNKNOWN;",
        "",
        f"    private static final {one.name}[] VALUES = values();",
        "",
        "    /** That of a number in heed.h, which counts from 0 in the order above. */",
        f"    static {one.name} of(int code) {{",
        "        return code >= 0 && code < UNKNOWN.ordinal() ? VALUES[code] : UNKNOWN;",
        "    }",
        "}",
    ]


def csharp_enumeration(one: Enumeration) -> list[str]:
    lines = ["using System;", "", "namespace Heed;", ""] if one.is_bits else ["namespace Heed;", ""]
    lines += summary("", text_of(one.text, "csharp"))
    lines += ["[Flags]"] if one.is_bits else []
    lines += [f"public enum {one.name}", "{"]
    for enumerator in one.enumerators:
        if enumerator is not one.enumerators[0]:
            lines.append("")
        lines += summary("    ", text_of(enumerator.text, "csharp"))
        lines.append(f"    {one.csharp_names.get(enumerator.name, names.pascal(enumerator.name))} = {enumerator.number},")
    return [*lines, "}"]
