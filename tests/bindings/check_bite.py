#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the checks of this folder: makes each violation, and requires that it is reported."""
import sys

import check_calls
import check_words
import check_wrapped
import exceptions
import members

HEADER = "HEED_API heed_status heed_run(heed_layer* layer) HEED_NOEXCEPT;\nHEED_API void* heed_data(void);\n"
WRAPPER = "result = heed_run(arg1);"
LISTED = "heed_data: of no use there\n"

# (the violation, header, list, wrapper, text that the report must contain)
UNWRAPPED = [
    ("nothing", HEADER, LISTED, WRAPPER, None),
    ("a function that is neither wrapped nor listed", HEADER, LISTED, "", "does not call heed_run"),
    ("a reason that is missing", HEADER, "heed_data:\n", WRAPPER, "no reason for heed_data"),
    ("a listed function that is wrapped", HEADER, LISTED, WRAPPER + "heed_data(", "calls heed_data"),
    ("a listed function that is gone", HEADER, LISTED + "heed_old: gone\n", WRAPPER, "heed_old, which heed.h does not declare"),
]
# (what is planted, its path, its text, what must be in the report)
CALLS = [
    ("nothing", "heed_java_wrap.c", "result = heed_run(arg1); /* heed_old */ DllImport(\"heed_csharp\");", None),
    ("a native call of Java's with nine", "Calls.java", f"public final static native void run({', '.join(['long a'] * 9)});", "run has 9 parameters"),
    ("a native call of C#'s with nine", "Calls.cs", f"static extern int Run({', '.join(['void* a'] * 9)});", "Run has 9 parameters"),
    ("eight of them", "Calls.java", f"public final static native long[] run({', '.join(['long a'] * 8)});", None),
    ("a method with nine, which is no native call", "Calls.java", f"public static void run({', '.join(['long a'] * 9)}) {{}}", None),
    ("a function of the wrapper's own", "heed_java_wrap.c", "static int heed_run_one(int a) { return a; }", "has the name heed_run_one"),
    ("a method of a proxy", "HeedNative.java", "public static int heed_old();", "has the name heed_old"),
    ("code in a typemap", "heed.i", '%typemap(out) int "$1 = heed_old();"', "has the name heed_old"),
    ("a struct that keeps its buffer", "NativePart.java",
        "public void setName(java.nio.ByteBuffer value) {\n HeedNativeJNI.name_set(swigCPtr, keep(value));\n}", None),
    ("one that does not", "NativePart.java",
        "public void setName(java.nio.ByteBuffer value) {\n HeedNativeJNI.name_set(swigCPtr, value);\n}", "setName passes value"),
    ("a name in a text", "HeedNative.cs", 'throw new Exception("heed_old");', None),
]


def types(**found):
    result = {}
    for name, names in found.items():
        result[name] = members.Type()
        result[name].members = set(names)
    return result


JAVA = types(Array=["new", "getShape", "isOpen", "toFloatArray", "get", "close", "FLOAT_16"])
CSHARP = types(Array=["new", "Shape", "IsOpen", "ToFloatArray", "Item", "Dispose", "Float16"])
# (the violation, Java's types, C#'s types, reasons, text that the report must contain)
UNPAIRED = [
    ("nothing", JAVA, CSHARP, {}, None),
    ("a member of Java's alone", types(Array=JAVA["Array"].members | {"repeat"}), CSHARP, {}, "Java Array.repeat is in one language only"),
    ("a member of C#'s alone", JAVA, types(Array=CSHARP["Array"].members | {"Repeat"}), {}, "C# Array.Repeat is in one language only"),
    ("a type of Java's alone", {**JAVA, **types(List=["new"])}, CSHARP, {}, "Java List is in one language only"),
    ("a type of C#'s alone", JAVA, {**CSHARP, **types(List=["new"])}, {}, "C# List is in one language only"),
    ("one with a reason", types(Array=JAVA["Array"].members | {"repeat"}), CSHARP, {"Java *.repeat": "why"}, None),
    ("a reason for nothing", JAVA, CSHARP, {"Java Array.repeat": "why"}, "only_in_one.txt has Java Array.repeat"),
]
# (the violation, Java's message, its own words, text that the report must contain)
UNTRANSLATED = [
    ("nothing", "numHeads is 0, but W_q.weight has (8, 6)", set(), None),
    ("a function", "expected heed_layer_load first", set(), "heed_layer_load"),
    ("a constant", "causal is HEED_CAUSAL_NONE", set(), "HEED_CAUSAL_NONE"),
    ("a constant of Java's", "causal is Causal.TOP_LEFT", {"Causal.TOP_LEFT"}, None),
    ("a member of a struct", "options->scale is 1", set(), "->"),
    ("an argument", "num_bytes is 1", set(), "num_bytes"),
    ("what C calls a shape", "array has dims (2)", set(), "dims"),
    ("a type", "array is F32", set(), "F32"),
    ("a type of a file", '"a.safetensors": tensor "b" is F32', set(), None),
    ("a name in quotes", 'name is "num_bytes dims"', set(), None),
    ("a variable of the environment", "HEED_ISA is wrong", set(), None),
]
# (the case, a source, the expected result)
EXCEPTIONS = [
    ("a sentence in pieces", 'throw new IOException("a is " + a.b(1) + ", expected " + "b");', [("IOException", "a is ..., expected b")]),
    ("a message behind a name", 'new ArgumentOutOfRangeException(nameof(a), a, "expected b or c")', [("ArgumentOutOfRangeException", "expected b or c")]),
    ("an interpolated text", 'new ArgumentException($"a is {string.Join(", ", a)} {{b}}", c)', [("ArgumentException", "a is ... {b}")]),
    ("a type that is not repeated", 'IOException A() =>\n  new($"a is {b}");', [("IOException", "a is ...")]),
    ("what only formats", 'new ArgumentException(FormattableString.Invariant($"a is {b}"))', [("ArgumentException", "a is ...")]),
    ("a choice", 'new IOException(a == null ? "a is null" : "a is not null");', []),
    ("a name alone", 'new NullPointerException("queries"); // new IOException("a comment is none")', []),
]


def main():
    failed = 0
    for check, cases in (
        (lambda header, listed, wrapper: list(check_wrapped.faults(header, listed, {"wrapper": wrapper})), UNWRAPPED),
        (lambda java, csharp, reasons: members.page(java, csharp, reasons)[1], UNPAIRED),
        (check_words.words_of_c, UNTRANSLATED),
        (lambda path, text: list(check_calls.faults(HEADER, {path: text})), CALLS),
    ):
        for planted, *arguments, expected in cases:
            found = check(*arguments)
            if (expected is None and found) or (expected is not None and not any(expected in fault for fault in found)):
                print(f"{planted}: expected {expected}, found {found}")
                failed += 1
    for planted, source, expected in EXCEPTIONS:
        if exceptions.sentences_of(source) != expected:
            print(f"{planted}: expected {expected}, found {exceptions.sentences_of(source)}")
            failed += 1
    print(f"{len(UNWRAPPED) + len(CALLS) + len(UNPAIRED) + len(UNTRANSLATED) + len(EXCEPTIONS)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
