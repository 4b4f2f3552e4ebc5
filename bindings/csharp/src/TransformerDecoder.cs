// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>The children, which have options of this block.</content>
public sealed partial class TransformerDecoder
{
    private protected override NativeBlock MakeChild(string name, ChildPath at) => options.MakeChild(name, at);
}
