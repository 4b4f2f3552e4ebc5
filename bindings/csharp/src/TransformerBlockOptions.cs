// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>Options common to the layers of encoders and of decoders. A block copies its options when it is
/// made.</summary>
public abstract class TransformerBlockOptions
{
    private protected TransformerBlockOptions()
    {
    }

    /// <summary>The members that both of C's structs have.</summary>
    internal interface IMembers
    {
        IntPtr FeedForward { set; }

        IntPtr Norm { set; }

        int NormFirst { set; }

        float Dropout { set; }

        int OutputNorms { set; }

        int NoFirstNorm { set; }

        float ResidualScale { set; }
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

    /// <summary>Whether the outputs of each attention and of the feed-forward network pass a norm of their own before
    /// they are added, as in Gemma 2; false by default; only with NormFirst.</summary>
    public bool OutputNorms { get; set; }

    /// <summary>Whether the self-attention reads its rows without a norm before it, as in the first layer of
    /// ModernBERT: there is no "norm_1". False by default; only with NormFirst.</summary>
    public bool NoFirstNorm { get; set; }

    /// <summary>What the outputs of each attention and of the feed-forward network are multiplied by before they are
    /// added, as Granite's residual_multiplier; 0, the default, means 1. Not with OutputNorms.</summary>
    public float ResidualScale { get; set; }

    internal LayerNormOptions NormOrDefaults => Norm ?? new LayerNormOptions();

    /// <summary>Replaces the options inside by copies.</summary>
    private protected void CopyCommon()
    {
        FeedForward = FeedForward?.Copy();
        Norm = Norm?.Copy();
    }

    private protected string DescribeCommon() =>
        $"feedForward={FeedForward?.Describe()}, norm={NormOrDefaults.Describe()}, normFirst={NormFirst}, "
        + $"dropout={Dropout}"
        + (OutputNorms ? ", outputNorms=True" : string.Empty)
        + (NoFirstNorm ? ", noFirstNorm=True" : string.Empty)
        + (ResidualScale == 0 ? string.Empty
            : $", residualScale={ResidualScale}");

    private protected void Fill(IMembers members, NativeStructs structs)
    {
        members.FeedForward = NativeStruct.PointerOf(FeedForward?.ToNative(structs));
        members.Norm = NativeStruct.PointerOf(Norm?.ToNative(structs));
        members.NormFirst = NormFirst ? 1 : 0;
        members.Dropout = Dropout;
        members.OutputNorms = OutputNorms ? 1 : 0;
        members.NoFirstNorm = NoFirstNorm ? 1 : 0;
        members.ResidualScale = ResidualScale;
    }

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
