// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public abstract partial class TransformerBlockOptions
{
    internal LayerNormOptions NormOrDefaults => Norm ?? new LayerNormOptions();

    /// <summary>Makes a child that is no attention, by its name.</summary>
    internal NativeBlock MakeChild(string name, NativeBlock.ChildPath at) =>
        name == "feed_forward" ? new FeedForward(FeedForward!, at)
        : name.StartsWith("dropout", StringComparison.Ordinal) ? new Dropout(Dropout, at)
        : new LayerNorm(NormOrDefaults, at);
}
