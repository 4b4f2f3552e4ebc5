# SPDX-License-Identifier: Apache-2.0
"""Reads bindings/described/blocks.toml: what the classes of blocks say and do that follows from a description."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from description import Description, Option, Options, Wrong
from texts import paragraphs_of

THREADS = "Many threads may call it on one block at the same time; a call that changes the {parameters} waits for them."


@dataclass
class FillCache:
    does: str
    inputs: str
    size: str = "these inputs and outputs that are not set"
    unsupported: str = ""

    workspace = """{scratch memory for this call alone|memory that no other call uses at the same time}; null: heed
        {uses memory of its|keeps its} own"""

    def refusals(self) -> list[tuple[str, str]]:
        """The kinds of exceptions, and when they are thrown."""
        closed = "the workspace or the cache is in use, or an array, the workspace, the cache or the block is closed"
        return [
            (
                "argument",
                """sizes, types or lengths do not fit, or the cache is missing, of another device, of other sizes, or has rows with other
                rotary positions""",
            ),
            ("full", "the cache has no room for the rows; it is as it was"),
            ("state", f"the block is not initialized,{{ {closed}| or the workspace or the cache is in use}}"),
            *([("unsupported", self.unsupported)] if self.unsupported else []),
        ]


@dataclass
class Block:
    name: str
    text: str = ""
    a: str = ""  # "an embedding"
    begins: str = ""  # what Java's builder() begins, if it is not `a`
    makes: str = ""  # what the builder makes, if it is more than `a`
    parameters: str = "parameters"  # or "parameter"
    refuses: str = ""  # why options are refused
    constructors: str = ""  # "attention": those of attentions that keep their weights; "by hand"
    csharp_has_defaults: bool = False  # null means the default options
    fill_cache: FillCache | None = None

    def is_attention(self) -> bool:
        return self.constructors == "attention"

    def is_by_hand(self) -> bool:
        return self.constructors == "by hand"

    def without_values(self) -> str:
        return f"without {'a value' if self.parameters == 'parameter' else 'values'} for its {self.parameters}"

    def paragraphs(self, language: str) -> list[str | list[str]]:
        *others, last = paragraphs_of(self.text, language)
        return [*others, f"{last} {THREADS.format(parameters=self.parameters)}"]

    def keeping(self, options: Options) -> tuple[Option, str, str]:
        """Of the constructor of an attention that keeps its weights: the option that is its first argument, and what is said of the
        constructor and of its argument dropout."""
        return (
            options.options[0],
            f"Makes a block {self.without_values()}, which keeps the attention weights of the last {{forward}}.",
            "the probability, from 0 to below 1, that an attention weight is dropped when training",
        )


def read_blocks(folder: Path, description: Description) -> dict[str, Block]:
    tables = tomllib.loads((folder / "blocks.toml").read_text(encoding="utf-8"))
    for name, table in tables.items():
        if "text" in table and name not in description.options:
            raise Wrong(f"{name} of blocks.toml has no options")
        if "fill_cache" in table:
            table["fill_cache"] = FillCache(**table["fill_cache"])
    return {name: Block(name, **table) for name, table in tables.items()}
