# SPDX-License-Identifier: Apache-2.0
"""The parts of C#'s classes of blocks that are not written by hand."""

import names
from blocks import Block, FillCache
from description import Options
from texts import csharp_tag, lines_of, summary

KEPT = """    /// <summary>The attention weights (B, Q, K) of the last Forward, before dropout. Null before the first Forward, and
    /// while they are not kept. They belong to the manager of that call's queries. The next Forward disposes them, and
    /// so does setting <see cref="KeepAttentionWeights"/> to false: copy them to keep them longer.</summary>
    public NDArray? AttentionWeights => kept.Array;

    /// <summary>Whether each Forward that takes an NDList computes and keeps the attention weights. This does not
    /// change the output. Setting it to false disposes those of the last Forward.</summary>
    public bool KeepAttentionWeights
    {
        get => kept.On;
        set => kept.On = value;
    }"""


def csharp_block(block: Block, options: Options | None) -> list[str]:
    parts = []
    if block.is_attention():
        fields = ["    private readonly KeptWeights kept;", *_field(block)]
        parts = [fields, _keeping(block, options), *_constructors(block), KEPT.splitlines()]
    elif not block.is_by_hand():
        parts = [_field(block), *_constructors(block)]
    parts.append([f"    internal override string Kind => nameof({block.name});"])
    if block.fill_cache:
        parts.append(_fill_cache(block.fill_cache))
    if block.text:
        said = [*csharp_tag("summary", "Describes the block."), *csharp_tag("returns", "The text.")]
        parts.append([*said, "    public override string ToString() => options.Describe();"])
    return [
        "using System;",
        "using System.Threading;",
        "",
        "namespace Heed;",
        "",
        *_class_doc(block),
        f"public sealed partial class {block.name} : NativeBlock",
        "{",
        *[line for part in parts for line in ["", *part]][1:],
        "}",
    ]


def _class_doc(block: Block) -> list[str]:
    if not block.text:
        return ["/// <content>What is not written by hand.</content>"]
    first, *others = block.paragraphs("csharp")
    return [*summary("", first), *_remarks(others)] if others else summary("", first)


def _remarks(paragraphs: list[str | list[str]]) -> list[str]:
    lines = []
    for paragraph in paragraphs:
        if isinstance(paragraph, list):
            lines += ["/// <code>", *(f"/// {line}" for line in paragraph), "/// </code>"]
        else:
            lines += lines_of(f"<para>{paragraph}</para>", "/// ")
    return ["/// <remarks>", *lines, "/// </remarks>"]


def _field(block: Block) -> list[str]:
    return [f"    private readonly {block.name}Options options;"]


def _keeping(block: Block, options: Options) -> list[str]:
    first, text, of_dropout = block.keeping(options)
    name = names.camel(first.name)
    return [
        *csharp_tag("summary", text),
        *csharp_tag("param", f"{first.subject}, 1 or more", f'name="{name}"'),
        *csharp_tag("param", of_dropout, 'name="dropout"'),
        *csharp_tag("exception", "an argument is out of range", 'cref="ArgumentException"'),
        f"    public {block.name}(long {name}, float dropout = 0)",
        f"        : this(new {block.name}Options {{ {names.pascal(first.name)} = {name}, Dropout = dropout }}, new KeptWeights(true))",
        "    {",
        "    }",
    ]


def _constructors(block: Block) -> list[list[str]]:
    kind = f"{block.name}Options"
    keeps = block.is_attention()
    which = ", which does not keep the attention weights" if keeps else ""
    if block.csharp_has_defaults:
        null, declared, copy = "; null: the defaults", f"{kind}? options = null", f"options?.Copy() ?? new {kind}()"
    else:
        null, declared, copy = "", f"{kind} options", "(options ?? throw new ArgumentNullException(nameof(options))).Copy()"
    public = [
        *csharp_tag("summary", f"Makes a block {block.without_values()}{which}."),
        *csharp_tag("param", f"the options, which are copied{null}", 'name="options"'),
        *csharp_tag("exception", block.refuses, 'cref="ArgumentException"'),
        f"    public {block.name}({declared})",
        f"        : this({copy}, {'new KeptWeights(false)' if keeps else 'null'})",
        "    {",
        "    }",
    ]
    if keeps:
        head = [f"    private {block.name}({kind} options, KeptWeights kept)", "        : base(options.NewLayer, kept)"]
    else:
        head = [
            "    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>",
            f"    internal {block.name}({kind} options, ChildPath? path)",
            "        : base(options.NewLayer, childPath: path)",
        ]
    return [public, [*head, "    {", *(["        this.kept = kept;"] if keeps else []), "        this.options = options;", "    }"]]


def _fill_cache(one: FillCache) -> list[str]:
    small = "the workspace is too small; the sentence names both sizes"
    return [
        *csharp_tag("summary", one.does),
        *csharp_tag("param", one.inputs, 'name="inputs"'),
        *csharp_tag("param", f"{one.workspace}. Its size is that of {{@NativeBlock.workspace_size()}} for {one.size}", 'name="workspace"'),
        *csharp_tag("param", "stops the call; the cache is as it was", 'name="stop"'),
        *(line for kind, when in one.refusals() for line in csharp_tag("exception", when, f'cref="{names.EXCEPTIONS["csharp"][kind]}"')),
        *csharp_tag("exception", f"with {{@Status.WORKSPACE_TOO_SMALL}}: {small}", 'cref="HeedException"'),
        *csharp_tag("exception", "an array, the workspace, the cache or the block is disposed", 'cref="ObjectDisposedException"'),
        *csharp_tag("exception", "the token was cancelled", 'cref="OperationCanceledException"'),
        "    public void FillCache(AttentionInputs inputs, Workspace? workspace = null, CancellationToken stop = default) =>",
        "        AppendToCache(inputs, workspace, stop);",
    ]
