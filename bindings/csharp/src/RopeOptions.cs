// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Rotary positions (Su et al., "RoFormer", 2021) of a <see cref="MultiHeadAttention"/>, which copies and
/// checks the options. In each head of queries and keys, pair i of the elements is rotated by the angle
/// position * base^(-2i / RotarySize), changed as the scaling says. The position of query i is K - Q + i unless
/// <see cref="AttentionInputs.Positions"/> says another, that of a key its index.</summary>
/// <remarks>What a scaling does not use must not be set.</remarks>
public sealed class RopeOptions
{
    /// <summary>Which elements make a pair: that with which the weights were trained. Must be set.</summary>
    public RopeLayout Layout { get; set; }

    /// <summary>How many elements of a head are rotated, an even number; 0, the default, means the rest of the
    /// head.</summary>
    public long RotarySize { get; set; }

    /// <summary>The first element of a head that is rotated; 0 by default.</summary>
    public long RotaryOffset { get; set; }

    /// <summary>The base of the frequencies, above 0; 0, the default, means 10000.</summary>
    public float Base { get; set; }

    /// <summary>How positions are stretched; not at all by default.</summary>
    public RopeScaling Scaling { get; set; }

    /// <summary>How much longer texts may be than those of the training: above 0, for Linear, Ntk, Yarn and Llama3:
    /// above 1 frequencies become smaller, between 0 and 1 larger. Factors only computes the attention factor from it,
    /// which is 1 for factors up to 1, and needs none if the attention factor is set.</summary>
    public float Factor { get; set; }

    /// <summary>RotarySize / 2 numbers above 0, by which each frequency is divided, for the scaling Factors; null
    /// otherwise.</summary>
    public float[]? Factors { get; set; }

    /// <summary>As many numbers above 0 as Factors has, in place of those in calls whose positions are all below
    /// OriginalLength ("longrope" of Phi-3), for the scaling Factors; null: all calls have Factors. A cache of rotated
    /// keys that were rotated with the one list is refused in a call that takes the other.</summary>
    public float[]? ShortFactors { get; set; }

    /// <summary>How many positions the training had, for Yarn, Llama3, and Factors without an attention
    /// factor.</summary>
    public long OriginalLength { get; set; }

    /// <summary>For Yarn: frequencies that turn at least this many times in OriginalLength stay as they are; 0, the
    /// default, means 32.</summary>
    public float BetaFast { get; set; }

    /// <summary>For Yarn: frequencies that turn at most this many times in OriginalLength are divided by the whole
    /// factor; 0, the default, means 1.</summary>
    public float BetaSlow { get; set; }

    /// <summary>For Yarn: whether the ends of the range of frequencies between BetaFast and BetaSlow are rounded to
    /// whole pairs; true by default, false as gpt-oss.</summary>
    public bool Rounding { get; set; } = true;

    /// <summary>For Llama3: wavelengths above OriginalLength / LowFreqFactor are stretched by the whole factor; 0, the
    /// default, means 1.</summary>
    public float LowFreqFactor { get; set; }

    /// <summary>For Llama3: wavelengths below OriginalLength / HighFreqFactor stay as they are; 0, the default, means
    /// 4.</summary>
    public float HighFreqFactor { get; set; }

    /// <summary>The factor of cosines and sines, above 0. 0, the default, means with a Factor above 1 for Yarn
    /// 0.1 ln(Factor) + 1 and for Factors sqrt(1 + ln(Factor) / ln(OriginalLength)), and 1 otherwise.</summary>
    public float AttentionFactor { get; set; }

    internal RopeOptions Copy()
    {
        var copy = (RopeOptions)MemberwiseClone();
        copy.Factors = (float[]?)Factors?.Clone();
        copy.ShortFactors = (float[]?)ShortFactors?.Clone();
        return copy;
    }

    /// <summary>The options as C's struct.</summary>
    internal unsafe NativeRopeOptions ToNative(NativeStructs structs)
    {
        if (ShortFactors != null && ShortFactors.Length != (Factors?.Length ?? 0))
        {
            throw new ArgumentException(
                $"ShortFactors has {ShortFactors.Length} numbers, expected {Factors?.Length ?? 0} as Factors has",
                nameof(ShortFactors));
        }

        NativeRopeOptions members = structs.Add(new NativeRopeOptions());
        members.Layout = (int)Layout;
        members.RotarySize = RotarySize;
        members.RotaryOffset = RotaryOffset;
        members.Base = Base;
        members.Scaling = (int)Scaling;
        members.Factor = Factor;
        members.NumFactors = Factors?.Length ?? 0;
        members.Factors = structs.Pin(Factors);
        members.ShortFactors = structs.Pin(ShortFactors);
        members.OriginalLength = OriginalLength;
        members.BetaFast = BetaFast;
        members.BetaSlow = BetaSlow;
        members.NoRounding = Rounding ? 0 : 1;
        members.LowFreqFactor = LowFreqFactor;
        members.HighFreqFactor = HighFreqFactor;
        members.AttentionFactor = AttentionFactor;
        return members;
    }
}
