// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What a <see cref="PositionalEncoding"/> adds to the row of position p; d is its size, i counts from
/// 0.</summary>
public enum PositionKind
{
    /// <summary>sin(p / 10000^(2i/d)) and cos(p / 10000^(2i/d)) in turn (Vaswani et al., 2017), as d2l.</summary>
    Sinusoidal = 0,

    /// <summary>All sines of p / 10000^(i / (d/2 - 1)), then all cosines: Whisper, fairseq.</summary>
    SinusoidalHalves = 1,

    /// <summary>Row FirstRow + p of a table, the parameter "weight": BERT, GPT-2, OPT, BART.</summary>
    Learned = 2,

    /// <summary>All sines of p / 10000^(2i/d), then all cosines: Marian.</summary>
    SinusoidalHalves2I = 3,
}
