// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The purpose of a parameter. It selects the initializer if none is set.</summary>
public enum ParameterType
{
    /// <summary>A matrix of weights; initialized by <see cref="XavierInitializer"/>.</summary>
    Weight,

    /// <summary>A bias; initialized with 0.</summary>
    Bias,

    /// <summary>The factor of a normalization; initialized with 1.</summary>
    Gamma,

    /// <summary>The summand of a normalization; initialized with 0.</summary>
    Beta,

    /// <summary>The running mean of a normalization; initialized with 0.</summary>
    RunningMean,

    /// <summary>The running variance of a normalization; initialized with 1.</summary>
    RunningVar,

    /// <summary>Any other purpose, which has no default initializer.</summary>
    Other,
}
