// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Attention with linear biases (Press et al., 2022) as an option of a block, with the slopes of the
/// paper.</summary>
public enum Alibi
{
    /// <summary>No bias.</summary>
    None = 0,

    /// <summary>Added to the scaled scores, as in the paper: Bloom, MPT.</summary>
    Added = 1,

    /// <summary>Multiplied by the scale and then added, with slopes rounded to BFloat16: Falcon.</summary>
    Scaled = 2,
}
