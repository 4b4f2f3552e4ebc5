// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What a <see cref="LayerNorm"/> computes of a row x, with the parameters g, "weight", and b,
/// "bias".</summary>
public enum NormKind
{
    /// <summary>(x - mean) / sqrt(variance + Epsilon) * g + b, with the mean and the biased variance of the row (Ba et
    /// al., "Layer Normalization", arXiv 1607.06450).</summary>
    Layer = 0,

    /// <summary>x / sqrt(mean of x^2 + Epsilon) * g (Zhang and Sennrich, "Root Mean Square Layer Normalization", arXiv
    /// 1910.07467).</summary>
    Rms = 1,
}
