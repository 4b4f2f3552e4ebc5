// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>The children, which have options of this block.</content>
public sealed partial class TransformerEncoderBlock
{
    private protected override NativeBlock MakeChild(string name, ChildPath at) =>
        name == "self_attention" ? new MultiHeadAttention(options.Attention!, at) : options.MakeChild(name, at);
}
