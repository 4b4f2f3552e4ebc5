// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class RopeOptions
{
    /// <summary>RotarySize / 2 numbers above 0, by which each frequency is divided, for the scaling Factors; null
    /// otherwise.</summary>
    public float[]? Factors { get; set; }

    /// <summary>As many numbers above 0 as Factors has, in place of those in calls whose positions are all below
    /// OriginalLength ("longrope" of Phi-3), for the scaling Factors; null: all calls have Factors. A cache of rotated
    /// keys that were rotated with the one list is refused in a call that takes the other.</summary>
    public float[]? ShortFactors { get; set; }

    private void ReadByHand(SaidOptions said)
    {
        Factors = said.Numbers("factors");
        ShortFactors = said.Numbers("short_factors");
    }

    private void CopyMore()
    {
        Factors = (float[]?)Factors?.Clone();
        ShortFactors = (float[]?)ShortFactors?.Clone();
    }

    private unsafe void FillByHand(NativeRopeOptions members, NativeStructs structs)
    {
        if (ShortFactors != null && ShortFactors.Length != (Factors?.Length ?? 0))
        {
            throw new ArgumentException(
                $"ShortFactors has {ShortFactors.Length} numbers, expected {Factors?.Length ?? 0} as Factors has",
                nameof(ShortFactors));
        }
        members.NumFactors = Factors?.Length ?? 0;
        members.Factors = structs.Pin(Factors);
        members.ShortFactors = structs.Pin(ShortFactors);
    }
}
