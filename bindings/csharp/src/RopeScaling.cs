// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>How rotary positions are stretched for texts that are longer than those of the training.</summary>
public enum RopeScaling
{
    /// <summary>Not at all.</summary>
    None = 0,

    /// <summary>Positions are divided by the factor (Chen et al., 2023).</summary>
    Linear = 1,

    /// <summary>The base is multiplied by factor^(r / (r - 2)), where r is the rotary size.</summary>
    Ntk = 2,

    /// <summary>YaRN (Peng et al., 2023): low frequencies are divided by the factor, high ones stay.</summary>
    Yarn = 3,

    /// <summary>As Llama 3.1: long wavelengths are stretched by the factor, short ones stay.</summary>
    Llama3 = 4,

    /// <summary>Each frequency is divided by a factor of its own: longrope (Ding et al., 2024).</summary>
    Factors = 5,
}
