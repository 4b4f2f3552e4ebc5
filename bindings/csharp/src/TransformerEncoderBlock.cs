// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>How the children are made of the options of this block.</content>
public sealed partial class TransformerEncoderBlock
{
    private protected override NativeBlock MakeChild(string name, ChildPath at) =>
        name == "self_attention" ? new MultiHeadAttention(options.Attention!, at) : options.MakeChild(name, at);
}
