// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Draws parameters with a variance that is inversely proportional to the size of the input or output (Glorot
/// and Bengio, 2010). The default for weights, as in DJL, is Gaussian with variance 2 / (size of the input).</summary>
public sealed class XavierInitializer : Initializer
{
    private readonly RandomType randomType;
    private readonly FactorType factorType;
    private readonly float magnitude;

    /// <summary>Makes an initializer.</summary>
    /// <param name="randomType">The distribution.</param>
    /// <param name="factorType">The size n that the variance depends on.</param>
    /// <param name="magnitude">Gaussian numbers have the variance magnitude / n; uniform numbers are between plus and
    /// minus the square root of magnitude / n.</param>
    /// <exception cref="ArgumentOutOfRangeException">The magnitude is not above 0, or there is no such
    /// type.</exception>
    public XavierInitializer(
        RandomType randomType = RandomType.Gaussian, FactorType factorType = FactorType.In, float magnitude = 2)
    {
        if (randomType is not (RandomType.Gaussian or RandomType.Uniform))
        {
            throw new ArgumentOutOfRangeException(
                nameof(randomType), randomType, "expected RandomType.Gaussian or RandomType.Uniform");
        }
        if (factorType is not (FactorType.In or FactorType.Out or FactorType.Avg))
        {
            throw new ArgumentOutOfRangeException(
                nameof(factorType), factorType, "expected FactorType.In, FactorType.Out or FactorType.Avg");
        }
        if (!(magnitude > 0) || float.IsInfinity(magnitude))
        {
            throw new ArgumentOutOfRangeException(nameof(magnitude), $"{magnitude}", "expected a finite number above 0");
        }
        this.randomType = randomType;
        this.factorType = factorType;
        this.magnitude = magnitude;
    }

    /// <summary>The distribution of the numbers.</summary>
    public enum RandomType
    {
        /// <summary>A uniform distribution.</summary>
        Uniform,

        /// <summary>A normal distribution.</summary>
        Gaussian,
    }

    /// <summary>The size that the variance depends on: for a shape (out, in, rest), in * rest or out * rest.</summary>
    public enum FactorType
    {
        /// <summary>The mean of both sizes.</summary>
        Avg,

        /// <summary>The size of the input.</summary>
        In,

        /// <summary>The size of the output.</summary>
        Out,
    }

    /// <inheritdoc/>
    /// <exception cref="ArgumentException">The shape has fewer than two axes, or the size is 0.</exception>
    public override NDArray Initialize(NDManager manager, Shape shape, DataType dataType)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        _ = shape ?? throw new ArgumentNullException(nameof(shape));
        if (shape.Dimension < 2)
        {
            throw new ArgumentException(
                $"shape is {shape}, but XavierInitializer needs two axes or more", nameof(shape));
        }
        double rest = 1;
        for (int axis = 2; axis < shape.Dimension; axis++)
        {
            rest *= shape[axis];
        }
        double size = factorType switch
        {
            FactorType.In => shape[1] * rest,
            FactorType.Out => shape[0] * rest,
            _ => (shape[0] + (double)shape[1]) * rest / 2,
        };
        if (!(size > 0))
        {
            throw new ArgumentException($"shape is {shape}, but XavierInitializer needs sizes above 0", nameof(shape));
        }
        float scale = (float)Math.Sqrt(magnitude / size);
        return randomType == RandomType.Gaussian
            ? manager.RandomNormal(0, scale, shape, dataType)
            : manager.RandomUniform(-scale, scale, shape, dataType);
    }
}
