#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generated.py <root of the sources>

bindings/generate refuses a description that heed.h contradicts, and renders texts in the forms of both languages.
"""
import sys
import tempfile
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "bindings/generate"))
from blocks import read_blocks  # noqa: E402
from description import Description, Wrong  # noqa: E402
from describing import csharp_describe, java_describe  # noqa: E402
from heed_header import Header  # noqa: E402
from inputs import Inputs  # noqa: E402
from methods import Method, Parameter, csharp_methods, java_methods  # noqa: E402
from texts import javadoc, paragraphs_of, summary, text_of  # noqa: E402

HEADER = (ROOT / "capi/include/heed/heed.h").read_text(encoding="utf-8")

# What is changed in heed.h, and what the refusal says.
CONTRADICTIONS = [
    ("an option that is not described", "  int64_t num_mels;", "  int64_t num_mels; int32_t of_tomorrow;", "of_tomorrow"),
    ("a described option that is gone", "  int64_t num_mels;", "", "num_mels"),
    ("an option of all attentions", "  int32_t empty_rows;", "  int32_t empty_rows; float of_tomorrow;", "of_tomorrow"),
    ("an option of an unknown type", "  int64_t num_mels;", "  double num_mels;", "double"),
    ("an input that is not described", "  const heed_tensor* token_types;", "  const heed_tensor* token_types; const heed_tensor* of_tomorrow;", "of_tomorrow"),
    ("an enumerator that is not described", "HEED_CAUSAL_NONE = 0,", "HEED_CAUSAL_NONE = 0, HEED_CAUSAL_OF_TOMORROW = 9,", "OF_TOMORROW"),
    ("a described enumerator that is gone", "HEED_CAUSAL_NONE = 0,", "", "NONE"),
]

# A text, and what Java and C# say.
TEXTS = [
    ("a divisor of {num_heads}", "a divisor of numHeads", "a divisor of NumHeads"),
    ("{BOTH_WAYS} of {BFLOAT16}", "BOTH_WAYS of BFLOAT16", "BothWays of BFloat16"),
    ("not {Scoring.DOT_PRODUCT}", "not Scoring.DOT_PRODUCT", "not Scoring.DotProduct"),
    ("a {@KvCache}", "a {@link KvCache}", 'a <see cref="KvCache"/>'),
    ("{@Causal.TOP_LEFT}", "{@link Causal#TOP_LEFT}", '<see cref="Causal.TopLeft"/>'),
    ("{@AttentionInputs.sinks}", "{@link AttentionInputs#setSinks}", '<see cref="AttentionInputs.Sinks"/>'),
    ("{@KvCache.discard()}", "{@link KvCache#discard}", '<see cref="KvCache.Discard"/>'),
    ("{one|another} & j <= i", "one &amp; j &lt;= i", "another &amp; j &lt;= i"),
]

# A text of two paragraphs and code, and the comment of Java.
PARAGRAPHS = """
A sum of {num_heads}:

    a {norm_first} < b
      c

and a {@KvCache}."""
COMMENT = ["/**", " * A sum of numHeads:", " *", " * <pre>", " * a normFirst &lt; b", " *   c", " * </pre>", " *", " * <p>and a {@link KvCache}.", " */"]

# The entries of a text of options, and what the sources of Java and C# have.
DESCRIBED = [
    ("padding_index", '"paddingIndex=" + paddingIndex', '$"paddingIndex={PaddingIndex}"'),
    ("scale=1", "(scale == 0 ? 1 : scale)", "{(Scale == 0 ? 1 : Scale)}"),
    ("?scale", '(scale != 0 ? "scale=" + scale : "")', '(Scale != 0 ? $"scale={Scale}" : string.Empty)'),
    ("{|scale}", "", '$"scale={Scale}"'),
]

# A method with a default, of every type of elements, and what the sources have and lack.
METHOD = Method(
    "of_value",
    "Makes an array.",
    "made({TYPE}, data, count)",
    "Made<{T}>(data, count)",
    "an array of {ELEMENT}",
    [Parameter("{T}", "data", "the value"), Parameter("int", "count", "how many", "3")],
    "three of {ELEMENT}",
    throws={"argument": ["count is 0", "data is negative"]},
    each=True,
)
METHODS = {
    "java": (["public NDArray ofValue(byte data) {", "return ofValue(data, 3);", "return made(BOOLEAN, data, count);", "@return three of INT8"], ["UINT8"]),
    "csharp": (["public NDArray OfValue(byte data, int count = 3) =>", "Made<sbyte>(data, count)", "<returns>An array of UInt8.</returns>"], ["three of"]),
}


def refusal(header):
    """What the generator says about a changed heed.h; nothing if it takes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heed.h"
        path.write_text(header, encoding="utf-8")
        try:
            description = Description(ROOT / "bindings/described", Header(path))
            Inputs(ROOT / "bindings/described", Header(path))
            read_blocks(ROOT / "bindings/described", description)
        except Wrong as wrong:
            return str(wrong)
    return ""


def faults():
    if refusal(HEADER):
        yield f"heed.h is refused: {refusal(HEADER)}"
    for what, before, after, said in CONTRADICTIONS:
        if before not in HEADER:
            yield f"heed.h has no '{before}'"
        elif said not in (refused := refusal(HEADER.replace(before, after))):
            yield f"{what} gives '{refused}', expected a sentence with '{said}'"
    for text, java, csharp in TEXTS:
        for language, expected in (("java", java), ("csharp", csharp)):
            if (found := text_of(text, language).replace("\0", " ")) != expected:
                yield f"{language} says '{found}' for '{text}', expected '{expected}'"
    if (comment := javadoc("", paragraphs_of(PARAGRAPHS, "java"))) != COMMENT:
        yield f"the comment of paragraphs is {comment}, expected {COMMENT}"
    yield from faults_of_describing()
    yield from faults_of_methods()
    words = "{@KvCache} and " * 40
    for lines in (javadoc("    ", text_of(words, "java"), ("@return " + words,)), summary("    ", text_of(words, "csharp"))):
        yield from (f"a line has {len(line)} columns: {line}" for line in lines if len(line) > 120)


def faults_of_describing():
    description = Description(ROOT / "bindings/described", Header(ROOT / "capi/include/heed/heed.h"))
    options = description.options["Embedding"]
    for entry, java, csharp in DESCRIBED:
        options.describes = [entry]
        sources = {
            "java": "\n".join(java_describe(description, options)),
            "csharp": "\n".join(line for part in csharp_describe(description, options) for line in part),
        }
        for language, expected in (("java", java), ("csharp", csharp)):
            if expected not in sources[language] or (not expected and "scale" in sources[language].lower()):
                yield f"{language} describes {entry} by '{sources[language]}', expected '{expected}'"


def faults_of_methods():
    sources = {"java": "\n".join(java_methods([METHOD], "")), "csharp": "\n".join(csharp_methods("NDManager", [METHOD]))}
    for language, (expected, others) in METHODS.items():
        yield from (f"{language}'s methods lack '{one}'" for one in expected if one not in sources[language])
        yield from (f"{language}'s methods have '{one}'" for one in others if one in sources[language])
    without_count = sources["java"].split("return ofValue(data, 3);")[0]
    if "count is 0" in without_count or "data is negative" not in without_count:
        yield "a method of Java that leaves out a parameter is documented as refusing it, or nothing"


if problems := list(faults()):
    sys.exit("\n".join(problems))
print(f"{len(CONTRADICTIONS)} contradictions are refused, {len(TEXTS)} texts are as expected")
