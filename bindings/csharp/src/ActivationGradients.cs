// SPDX-License-Identifier: Apache-2.0
using System;
using static Heed.ArrayOperation;

namespace Heed;

/// <summary>Gradients of activations.</summary>
internal static class ActivationGradients
{
    private static readonly ArrayOperation Relu =
        new("Relu", (node, g) => ElementGradients.WithCondition(g, node.First.Gt(0)), Held.First);

    private static readonly ArrayOperation Gelu =
        new("Gelu", (node, g) => ElementGradients.With(g, SlopeOfGelu(node.First)), Held.First);

    private static readonly ArrayOperation GeluTanh =
        new("GeluTanh", (node, g) => ElementGradients.With(g, SlopeOfGeluTanh(node.First)), Held.First);

    private static readonly ArrayOperation GeluQuick =
        new("GeluQuick", (node, g) => ElementGradients.With(g, SlopeOfSwish(node.First, 1.702)), Held.First);

    private static readonly ArrayOperation Silu =
        new("Silu", (node, g) => ElementGradients.With(g, SlopeOfSwish(node.First, 1)), Held.First);

    internal static ArrayOperation Of(ActivationKind activation) => activation switch
    {
        ActivationKind.Relu => Relu,
        ActivationKind.Gelu => Gelu,
        ActivationKind.GeluTanh => GeluTanh,
        ActivationKind.GeluQuick => GeluQuick,
        _ => Silu,
    };

    /// <summary>Phi(a) + a phi(a), with the distribution function and the density of the normal distribution.</summary>
    private static NDArray SlopeOfGelu(NDArray a)
    {
        using NDArray scaled = a.Divide(Math.Sqrt(2));
        using NDArray erf = scaled.Erf();
        using NDArray raised = erf.Add(1);
        using NDArray distribution = raised.Divide(2);
        using NDArray square = a.Square();
        using NDArray half = square.Divide(-2);
        using NDArray exponential = half.Exp();
        using NDArray density = exponential.Divide(Math.Sqrt(2 * Math.PI));
        using NDArray product = a.Multiply(density);
        return distribution.Add(product);
    }

    /// <summary>Of a (1 + t) / 2 with t = tanh(c (a + d a^3)).</summary>
    private static NDArray SlopeOfGeluTanh(NDArray a)
    {
        double c = Math.Sqrt(2 / Math.PI);
        const double D = 0.044715;
        using NDArray cube = a.Pow(3);
        using NDArray scaled = cube.Multiply(D);
        using NDArray sum = a.Add(scaled);
        using NDArray argument = sum.Multiply(c);
        using NDArray t = argument.Tanh();
        using NDArray square = a.Square();
        using NDArray larger = square.Multiply(3 * D);
        using NDArray raised = larger.Add(1);
        using NDArray inside = raised.Multiply(c);
        using NDArray squareOfT = t.Square();
        using NDArray rest = 1 - squareOfT;
        using NDArray product = a.Multiply(rest);
        using NDArray second = product.Multiply(inside);
        using NDArray first = t.Add(1);
        using NDArray twice = first.Add(second);
        return twice.Divide(2);
    }

    /// <summary>Of a sigmoid(c a).</summary>
    private static NDArray SlopeOfSwish(NDArray a, double c)
    {
        using NDArray scaled = a.Multiply(c);
        using NDArray s = scaled.Sigmoid();
        using NDArray product = scaled.Multiply(s);
        using NDArray rest = 1 - s;
        using NDArray second = product.Multiply(rest);
        return s.Add(second);
    }
}
