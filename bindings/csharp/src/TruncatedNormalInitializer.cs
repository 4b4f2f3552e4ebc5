// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Draws parameters from a normal distribution around 0, without the numbers that are more than two standard
/// deviations from 0.</summary>
public sealed class TruncatedNormalInitializer : Initializer
{
    private readonly float sigma;

    /// <summary>Makes an initializer.</summary>
    /// <param name="sigma">The standard deviation of the distribution before truncation, not negative.</param>
    public TruncatedNormalInitializer(float sigma = 0.01f)
    {
        this.sigma = sigma;
    }

    /// <inheritdoc/>
    /// <remarks>A number outside is replaced by another draw for the same element.</remarks>
    /// <exception cref="ArgumentException">The standard deviation is negative or not finite.</exception>
    public override NDArray Initialize(NDManager manager, Shape shape, DataType dataType)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        _ = shape ?? throw new ArgumentNullException(nameof(shape));
        float[] kept = Draw(manager, shape);
        float bound = 2 * sigma;
        while (Array.Exists(kept, number => Math.Abs(number) > bound))
        {
            float[] next = Draw(manager, shape);
            for (int i = 0; i < kept.Length; i++)
            {
                kept[i] = Math.Abs(kept[i]) > bound ? next[i] : kept[i];
            }
        }
        NDArray floats = manager.Create(kept, shape);
        if (dataType == DataType.Float32)
        {
            return floats;
        }
        using (floats)
        {
            return floats.ToType(dataType, copy: true);
        }
    }

    private float[] Draw(NDManager manager, Shape shape)
    {
        using NDArray numbers = manager.RandomNormal(0, sigma, shape, DataType.Float32);
        return numbers.ToFloatArray();
    }
}
