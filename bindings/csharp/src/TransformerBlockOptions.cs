// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <content>What is not generated from heed.h.</content>
public abstract partial class TransformerBlockOptions
{
    internal LayerNormOptions NormOrDefaults => Norm ?? new LayerNormOptions();

    private protected string DescribeCommon() =>
        $"feedForward={FeedForward?.Describe()}, norm={NormOrDefaults.Describe()}, normFirst={NormFirst}, "
        + $"dropout={Dropout}"
        + (OutputNorms ? ", outputNorms=True" : string.Empty)
        + (NoFirstNorm ? ", noFirstNorm=True" : string.Empty)
        + (ResidualScale == 0 ? string.Empty
            : $", residualScale={ResidualScale}");

    /// <summary>Makes the children that are no attention, for this many steps with a sum and a norm.</summary>
    internal IEnumerable<NativeBlock> MakeCommonChildren(int numSteps, Func<string, NativeBlock.ChildPlace> at)
    {
        yield return new FeedForward(FeedForward!, at("feed_forward"));
        for (int step = NoFirstNorm ? 2 : 1; step <= numSteps; step++)
        {
            yield return new LayerNorm(NormOrDefaults, at($"norm_{step}"));
        }
        for (int step = 1; OutputNorms && step <= numSteps; step++)
        {
            yield return new LayerNorm(NormOrDefaults, at($"output_norm_{step}"));
        }
        for (int step = 1; step <= numSteps; step++)
        {
            yield return new Dropout(Dropout, at($"dropout_{step}"));
        }
    }
}
