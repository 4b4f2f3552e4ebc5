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

/// <summary>What can be asked of a parameter's type.</summary>
public static class ParameterTypeExtensions
{
    private static readonly Initializer Xavier = new XavierInitializer();

    /// <summary>What makes the first values where nothing else is said.</summary>
    /// <param name="type">The type.</param>
    /// <returns>The initializer, null for <see cref="ParameterType.Other"/>.</returns>
    public static Initializer? GetInitializer(this ParameterType type) => type switch
    {
        ParameterType.Weight => Xavier,
        ParameterType.Bias or ParameterType.Beta or ParameterType.RunningMean => Initializer.Zeros,
        ParameterType.Gamma or ParameterType.RunningVar => Initializer.Ones,
        _ => null,
    };
}
