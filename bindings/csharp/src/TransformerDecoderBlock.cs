// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>How the children are made of the options of this block.</content>
public sealed partial class TransformerDecoderBlock
{
    private protected override NativeBlock MakeChild(string name, ChildPath at) => name switch
    {
        "self_attention" => new MultiHeadAttention(options.SelfAttention!, at),
        "cross_attention" => new MultiHeadAttention(options.CrossAttention!, at),
        _ => options.MakeChild(name, at),
    };
}
