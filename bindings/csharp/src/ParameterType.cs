// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What a parameter is for, which decides how it is initialized where nothing else is said.</summary>
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

    /// <summary>Anything else, which needs an initializer of its own.</summary>
    Other,
}
