# SPDX-License-Identifier: Apache-2.0
"""The classes of blocks of Java. They stand in place of lines of <name>.java.in: "// @doc" is the documentation of the class, "// @block"
its members; the builder's are in place of "// @options". A block without a template has TEMPLATE.
"""

import names
from blocks import Block, FillCache
from description import Options
from texts import WIDTH, javadoc, text_of

TEMPLATE = """// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

// @doc
public final class {name} extends {base} {{
    // @block

    /** Makes {a}. */
    public static final class Builder extends {options}<Builder> {{
        // @options
    }}
}}
"""


def java_template(block: Block, options: Options) -> str:
    base = "AttentionBlock" if block.is_attention() else f"BuiltBlock<{block.name}.Builder>"
    return TEMPLATE.format(name=block.name, base=base, options=options.base or "LayerOptions", a=block.makes or block.a)


def java_class_doc(block: Block) -> list[str]:
    return javadoc("", block.paragraphs("java"))


def java_block(block: Block, options: Options | None, indent: str) -> list[str]:
    width = WIDTH - len(indent)
    parts = []
    if block.is_attention():
        parts += _keeping(block, options, width)
    elif not block.is_by_hand():
        parts.append(_constructor(block))
    if block.a:
        text = f"Begins {block.begins or block.a}."
        parts.append([*javadoc("", text, ("@return a builder",)), "public static Builder builder() {", "    return new Builder();", "}"])
    if block.is_attention():
        parts += _layer(options)
    if block.fill_cache:
        parts.append(_fill_cache(block.fill_cache, width))
    return _members(parts, indent)


def java_build(block: Block, options: Options, indent: str) -> list[str]:
    """The last members of the builder."""
    tags = ("@return the block", text_of(f"@throws IllegalArgumentException if {block.refuses}", "java"))
    argument = "" if block.is_by_hand() else ", false" if block.is_attention() else ", null"
    parts = [
        [
            *javadoc("", f"Makes the block, {block.without_values()}.", tags, WIDTH - len(indent)),
            f"public {block.name} build() {{",
            f"    return new {block.name}(this{argument});",
            "}",
        ]
    ]
    if options.base:
        parts.append(["@Override", "Builder self() {", "    return this;", "}"])
    return ["", *_members(parts, indent)]


def _members(parts: list[list[str]], indent: str) -> list[str]:
    return [indent + line if line else "" for line in [line for part in parts for line in ["", *part]][1:]]


def _constructor(block: Block) -> list[str]:
    return [
        "/** Creates a root block, or a child when its path in a parent is given. */",
        f"{block.name}(Builder options, ChildPath path) {{",
        f'    super("{block.name}", options);',
        "    construct(path);",
        "}",
    ]


def _keeping(block: Block, options: Options, width: int) -> list[list[str]]:
    first, text, of_dropout = block.keeping(options)
    name = names.camel(first.name)
    refused = "@throws IllegalArgumentException if an argument is out of range"
    tags = (f"@param {name} {first.subject}", f"@param dropout {of_dropout}", refused)
    return [
        ["private final Builder options;"],
        [
            *javadoc("", text_of(text, "java"), tags, width),
            f"public {block.name}(long {name}, float dropout) {{",
            f"    this(builder().set{names.pascal(first.name)}({name}).optDropout(dropout), true);",
            "}",
        ],
        [
            f"private {block.name}(Builder options, boolean keepWeights) {{",
            f'    super("{block.name}", keepWeights);',
            "    this.options = options.copy();",
            "    construct();",
            "}",
        ],
    ]


def _layer(options: Options) -> list[list[str]]:
    return [
        ["@Override", "public String toString() {", "    return options.describe();", "}"],
        [
            "@Override",
            "NativeLayer newLayer(NativeContext context) {",
            "    try (NativeStructs structs = new NativeStructs()) {",
            f"        return HeedNative.{options.create()}(context, options.toNative(structs));",
            "    }",
            "}",
        ],
    ]


def _fill_cache(one: FillCache, width: int) -> list[str]:
    tags = [
        f"@param inputs {one.inputs}",
        f"@param workspace {one.workspace}. Its size is that of {{@NativeBlock.workspace_size()}} for {one.size}",
        *(f"@throws {names.EXCEPTIONS['java'][kind]} if {when}" for kind, when in one.refusals()),
        "@throws HeedException with {@Status.WORKSPACE_TOO_SMALL}; the message has both sizes",
    ]
    return [
        *javadoc("", text_of(f"{one.does}.", "java"), tuple(text_of(tag, "java") for tag in tags), width),
        "public void fillCache(AttentionInputs inputs, Workspace workspace) {",
        "    appendToCache(inputs, workspace);",
        "}",
    ]
