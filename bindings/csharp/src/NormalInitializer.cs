// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Draws parameters from a normal distribution around 0.</summary>
public sealed class NormalInitializer : Initializer
{
    private readonly float sigma;

    /// <summary>Makes an initializer.</summary>
    /// <param name="sigma">The standard deviation, not negative.</param>
    public NormalInitializer(float sigma = 0.01f)
    {
        this.sigma = sigma;
    }

    /// <inheritdoc/>
    /// <exception cref="ArgumentException">The standard deviation is negative or not finite.</exception>
    public override NDArray Initialize(NDManager manager, Shape shape, DataType dataType) =>
        (manager ?? throw new ArgumentNullException(nameof(manager))).RandomNormal(0, sigma, shape, dataType);
}
