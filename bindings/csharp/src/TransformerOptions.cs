// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;

namespace Heed;

/// <summary>Options common to the layers of encoders and of decoders. A block copies its options when it is
/// made.</summary>
public abstract class TransformerOptions
{
    private protected TransformerOptions()
    {
    }

    /// <summary>The members that both of C's structs have.</summary>
    internal interface IMembers
    {
        IntPtr FeedForward { set; }

        IntPtr Norm { set; }

        int NormFirst { set; }

        float Dropout { set; }
    }

    /// <summary>The feed-forward network, whose OutputSize is 0 or the attention's NumHiddens. Must be set.</summary>
    public FeedForwardOptions? FeedForward { get; set; }

    /// <summary>All norms; null, the default: a layer norm with the defaults of
    /// <see cref="LayerNormOptions"/>.</summary>
    public LayerNormOptions? Norm { get; set; }

    /// <summary>Whether norms are before each attention and the feed-forward network ("pre-norm"); false, the default:
    /// after each sum.</summary>
    public bool NormFirst { get; set; }

    /// <summary>The probability, from 0 to below 1, that an element of what is added to the rows is dropped when
    /// training; 0 by default. Attention and feed-forward network have dropouts of their own.</summary>
    public float Dropout { get; set; }

    internal LayerNormOptions NormOrDefaults => Norm ?? new LayerNormOptions();

    /// <summary>Replaces the options inside by copies.</summary>
    private protected void CopyCommon()
    {
        FeedForward = FeedForward?.Copy();
        Norm = Norm?.Copy();
    }

    private protected string DescribeCommon() =>
        $"feedForward={FeedForward?.Describe()}, norm={NormOrDefaults.Describe()}, normFirst={NormFirst}, "
        + $"dropout={Dropout.ToString(CultureInfo.InvariantCulture)}";

    private protected void Fill(IMembers members, NativeStructs structs)
    {
        members.FeedForward = NativeStruct.PointerOf(FeedForward?.ToNative(structs));
        members.Norm = NativeStruct.PointerOf(Norm?.ToNative(structs));
        members.NormFirst = NormFirst ? 1 : 0;
        members.Dropout = Dropout;
    }

    /// <summary>Makes the children that are no attention, for this many steps with a sum and a norm.</summary>
    internal IEnumerable<NativeBlock> MakeCommonChildren(int numSteps, Func<string, NativeBlock.ChildPlace> at)
    {
        yield return new FeedForward(FeedForward!, at("feed_forward"));
        for (int step = 1; step <= numSteps; step++)
        {
            yield return new LayerNorm(NormOrDefaults, at($"norm_{step}"));
        }
        for (int step = 1; step <= numSteps; step++)
        {
            yield return new Dropout(Dropout, at($"dropout_{step}"));
        }
    }
}
