# SPDX-License-Identifier: Apache-2.0
"""Names of C in the forms of Java and C#."""

# Why calls throw, and what.
EXCEPTIONS = {
    "java": {
        "argument": "IllegalArgumentException",
        "unsupported": "UnsupportedOperationException",
        "full": "CacheFullException",
        "state": "IllegalStateException",
        "closed": "IllegalStateException",
    },
    "csharp": {
        "argument": "ArgumentException",
        "unsupported": "NotSupportedException",
        "full": "CacheFullException",
        "state": "InvalidOperationException",
        "closed": "ObjectDisposedException",
    },
}


def camel(name: str) -> str:
    """num_heads: numHeads."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def pascal(name: str) -> str:
    """num_heads and NUM_HEADS: NumHeads; after a digit letters stay as they are."""
    parts = name.split("_")
    return "".join(part if part[0].isdigit() else part.capitalize() for part in parts)


def proxy(struct: str) -> str:
    """The class that SWIG makes of a struct. heed_rope_options: NativeRopeOptions."""
    return "Native" + pascal(struct.removeprefix("heed_"))


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
