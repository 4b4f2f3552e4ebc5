// SPDX-License-Identifier: Apache-2.0
using System;
using static Heed.ArrayOperation;

namespace Heed;

/// <summary>Gradients of sums, means, norms and softmax. The arguments of a reduction are the axes along which it
/// reduces; null: all.</summary>
internal static class ReductionGradients
{
    /// <summary>Its argument is the axis.</summary>
    internal static readonly ArrayOperation Softmax = new("Softmax", OfSoftmax, Held.Result);

    /// <summary>Its argument is the axis.</summary>
    internal static readonly ArrayOperation LogSoftmax = new("LogSoftmax", OfLogSoftmax, Held.Result);

    /// <summary>Of the scores and the lengths: weights that are hidden are 0, and so are their gradients.</summary>
    internal static readonly ArrayOperation MaskedSoftmax =
        new("MaskedSoftmax", OfMaskedSoftmax, Held.Result, null, Held.None);

    private static readonly ArrayOperation Sum = new("Sum", OfSum);

    private static readonly ArrayOperation Mean = new("Mean", OfMean);

    private static readonly ArrayOperation Norm = new("Norm", OfNorm, Held.First | Held.Result);

    /// <summary>What a tape records of a reduction; null: it has no gradient.</summary>
    internal static ArrayOperation? Of(Reduction reduction) => reduction switch
    {
        Reduction.Sum => Sum,
        Reduction.Mean => Mean,
        Reduction.Norm => Norm,
        _ => null,
    };

    /// <summary>The tape that a reduction of an array is recorded on; null: none is.</summary>
    /// <exception cref="NotSupportedException">The array is tracked, and the reduction has no gradient, or a result is
    /// given.</exception>
    internal static Tape? TapeOf(Reduction reduction, NDArray? result, NDArray array) =>
        Tape.ForNew(Of(reduction), reduction, result, array);

    private static NDArray OfSum(OperationNode node, NDArray g)
    {
        using NDArray kept = Kept(node, g);
        return kept.Broadcast(node.Shape(0));
    }

    private static NDArray OfMean(OperationNode node, NDArray g)
    {
        Shape shape = node.Shape(0);
        using NDArray share = g.Divide((double)shape.Size / Math.Max(g.Size, 1));
        using NDArray kept = Kept(node, share);
        return kept.Broadcast(shape);
    }

    /// <summary>g a / y, and 0 where y is 0.</summary>
    private static NDArray OfNorm(OperationNode node, NDArray g)
    {
        using NDArray kept = Kept(node, g);
        using NDArray norms = Kept(node, node.Result);
        using NDArray product = kept.Multiply(node.First);
        using NDArray made = product.Divide(norms);
        return ElementGradients.WithCondition(made, norms.Neq(0));
    }

    /// <summary>A result with the axes that were reduced, of size 1.</summary>
    private static NDArray Kept(OperationNode node, NDArray array) =>
        array.Reshape(ResultRules.Reduced(node.Shape(0), (int[]?)node.Arguments, true));

    private static NDArray OfSoftmax(OperationNode node, NDArray g)
    {
        using NDArray product = g.Multiply(node.Result);
        using NDArray sums = product.Sum(new[] { (int)node.Arguments! }, keepDims: true);
        using NDArray rest = g.Subtract(sums);
        return rest.Multiply(node.Result);
    }

    private static NDArray OfMaskedSoftmax(OperationNode node, NDArray g)
    {
        using NDArray product = g.Multiply(node.Result);
        using NDArray isSeen = node.Result.Neq(0);
        using NDArray part = product.Where(isSeen, 0);
        using NDArray sums = part.Sum(new[] { -1 }, keepDims: true);
        using NDArray rest = node.Result.Multiply(sums);
        return part.Subtract(rest);
    }

    private static NDArray OfLogSoftmax(OperationNode node, NDArray g)
    {
        using NDArray sums = g.Sum(new[] { (int)node.Arguments! }, keepDims: true);
        using NDArray shares = node.Result.Exp();
        using NDArray product = shares.Multiply(sums);
        return g.Subtract(product);
    }
}
