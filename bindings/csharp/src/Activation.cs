// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Activations of the elements of an array, as DJL's class has them, and blocks of them for a <see
/// cref="SequentialBlock"/>. <see cref="ActivationKind"/> has the formulas.</summary>
/// <remarks>Each function makes a new array of the same shape and type, which belongs to the manager of the array.
/// Numbers are computed in Float32 and rounded once. -inf gives NaN, except with ReLU. A block takes a list of one array
/// and returns one; it has no parameters. Many threads may use the functions and blocks at the same time. Each function
/// throws an <see cref="ArgumentException"/> if the array is a scalar or of another type than Float32, Float16 or
/// BFloat16, and an <see cref="ObjectDisposedException"/> if it or its manager is disposed.</remarks>
public static class Activation
{
    /// <summary>ReLU: max(x, 0); NaN stays NaN.</summary>
    /// <param name="array">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray Relu(NDArray array) => Of(array, ActivationKind.Relu);

    /// <summary>GELU: x Phi(x), as PyTorch and DJL compute it; Phi is the distribution function of the normal
    /// distribution.</summary>
    /// <param name="array">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray Gelu(NDArray array) => Of(array, ActivationKind.Gelu);

    /// <summary>The approximation of GELU by a hyperbolic tangent, "gelu_new" and "gelu_pytorch_tanh" of Hugging
    /// Face.</summary>
    /// <param name="array">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray GeluTanh(NDArray array) => Of(array, ActivationKind.GeluTanh);

    /// <summary>x sigma(1.702 x), "quick_gelu" of CLIP; sigma is the logistic function.</summary>
    /// <param name="array">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray GeluQuick(NDArray array) => Of(array, ActivationKind.GeluQuick);

    /// <summary>SiLU: x sigma(x); sigma is the logistic function.</summary>
    /// <param name="array">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray Silu(NDArray array) => Of(array, ActivationKind.Silu);

    /// <summary>Swish: x sigma(beta x); sigma is the logistic function.</summary>
    /// <param name="array">The array.</param>
    /// <param name="beta">1, as of <see cref="Silu"/>, or 1.702, as of <see cref="GeluQuick"/>.</param>
    /// <returns>A new array.</returns>
    /// <exception cref="ArgumentException">beta is another number.</exception>
    public static NDArray Swish(NDArray array, float beta)
    {
        _ = array ?? throw new ArgumentNullException(nameof(array));
        return Of(array, KindOf(beta));
    }

    /// <summary>Makes a block that computes <see cref="Relu"/>.</summary>
    /// <returns>A block.</returns>
    public static Block ReluBlock() => new ActivationBlock(ActivationKind.Relu);

    /// <summary>Makes a block that computes <see cref="Gelu"/>.</summary>
    /// <returns>A block.</returns>
    public static Block GeluBlock() => new ActivationBlock(ActivationKind.Gelu);

    /// <summary>Makes a block that computes <see cref="GeluTanh"/>.</summary>
    /// <returns>A block.</returns>
    public static Block GeluTanhBlock() => new ActivationBlock(ActivationKind.GeluTanh);

    /// <summary>Makes a block that computes <see cref="GeluQuick"/>.</summary>
    /// <returns>A block.</returns>
    public static Block GeluQuickBlock() => new ActivationBlock(ActivationKind.GeluQuick);

    /// <summary>Makes a block that computes <see cref="Silu"/>.</summary>
    /// <returns>A block.</returns>
    public static Block SiluBlock() => new ActivationBlock(ActivationKind.Silu);

    /// <summary>Makes a block that computes <see cref="Swish"/>.</summary>
    /// <param name="beta">1 or 1.702.</param>
    /// <returns>A block.</returns>
    /// <exception cref="ArgumentException">beta is another number.</exception>
    public static Block SwishBlock(float beta) => new ActivationBlock(KindOf(beta));

    private static NDArray Of(NDArray array, ActivationKind activation) =>
        (array ?? throw new ArgumentNullException(nameof(array))).Activated(activation);

    private static ActivationKind KindOf(float beta) => beta switch
    {
        1 => ActivationKind.Silu,
        1.702f => ActivationKind.GeluQuick,
        _ => throw new ArgumentException(
            $"beta is {beta}, expected 1, or 1.702", nameof(beta)),
    };
}
