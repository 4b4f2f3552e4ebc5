// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What a gradient is given to in a backward: an operation that a tape has recorded, or a leaf, where gradients
/// are added up.</summary>
internal abstract class GradientTarget
{
    /// <summary>Adds a gradient, and disposes it: no other array of the program's shares its memory but to read
    /// it.</summary>
    internal abstract void Take(NDArray gradient);
}
