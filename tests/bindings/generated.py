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
from description import Description, Wrong  # noqa: E402
from heed_header import Header  # noqa: E402
from inputs import Inputs  # noqa: E402
from texts import javadoc, summary, text_of  # noqa: E402

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


def refusal(header):
    """What the generator says about a changed heed.h; nothing if it takes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heed.h"
        path.write_text(header, encoding="utf-8")
        try:
            Description(ROOT / "bindings/described", Header(path))
            Inputs(ROOT / "bindings/described", Header(path))
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
    words = "{@KvCache} and " * 40
    for lines in (javadoc("    ", text_of(words, "java"), ("@return " + words,)), summary("    ", text_of(words, "csharp"))):
        yield from (f"a line has {len(line)} columns: {line}" for line in lines if len(line) > 120)


if problems := list(faults()):
    sys.exit("\n".join(problems))
print(f"{len(CONTRADICTIONS)} contradictions are refused, {len(TEXTS)} texts are as expected")
