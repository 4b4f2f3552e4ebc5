// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Activations of the elements of an array, as DJL's class has them, and blocks of them for a <see
/// cref="SequentialBlock"/>. <see cref="ActivationKind"/> has the formulas.</summary>
/// <remarks>Each function writes an array of the same shape and type that is given, or makes a new one, which belongs to
/// the manager of the array. Numbers are computed in Float32, of Float64 in Float64, and rounded once. -inf gives NaN,
/// except with ReLU. A block takes a list of one array and returns one; it has no parameters. Many threads may use the
/// functions and blocks at the same time. Each function throws an <see cref="ArgumentException"/> if the array is a scalar
/// or not of floating-point numbers, and an <see cref="ObjectDisposedException"/> if it or its manager is
/// disposed.</remarks>
public static partial class Activation
{
    private static NDArray Of(NDArray array, ActivationKind activation, NDArray? result) =>
        (array ?? throw new ArgumentNullException(nameof(array))).Activated(activation, result);

    private static ActivationKind KindOf(float beta) => beta switch
    {
        1 => ActivationKind.Silu,
        1.702f => ActivationKind.GeluQuick,
        _ => throw new ArgumentException(
            $"beta is {beta}, expected 1, or 1.702", nameof(beta)),
    };
}
