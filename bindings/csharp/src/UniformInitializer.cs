// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Draws parameters from a uniform distribution between -scale and scale.</summary>
public sealed class UniformInitializer : Initializer
{
    private readonly float scale;

    /// <summary>Makes an initializer.</summary>
    /// <param name="scale">The bound on both sides, not negative.</param>
    public UniformInitializer(float scale = 0.07f)
    {
        this.scale = scale;
    }

    /// <inheritdoc/>
    /// <exception cref="ArgumentException">The scale is negative or not finite.</exception>
    public override NDArray Initialize(NDManager manager, Shape shape, DataType dataType) =>
        (manager ?? throw new ArgumentNullException(nameof(manager))).RandomUniform(-scale, scale, shape, dataType);
}
