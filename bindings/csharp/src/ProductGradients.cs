// SPDX-License-Identifier: Apache-2.0
using static Heed.ArrayOperation;

namespace Heed;

/// <summary>Gradients of the matrix product. A vector is a matrix of one row on the left, and of one column on the
/// right.</summary>
internal static class ProductGradients
{
    internal static readonly ArrayOperation MatMul = new("MatMul", OfLeft, Held.Second, OfRight, Held.First);

    private static NDArray OfLeft(OperationNode node, NDArray g)
    {
        Shape left = Left(node.Shape(0));
        using NDArray whole = Whole(g, left.Dimension > node.Shape(0).Dimension, node.Second.Shape.Dimension == 1);
        using NDArray right = node.Second.Reshape(Right(node.Second.Shape));
        using NDArray turned = right.SwapAxes(-1, -2);
        using NDArray product = whole.MatMul(turned);
        return Fitted(product, left, node.Shape(0));
    }

    private static NDArray OfRight(OperationNode node, NDArray g)
    {
        Shape right = Right(node.Shape(1));
        using NDArray whole = Whole(g, node.First.Shape.Dimension == 1, right.Dimension > node.Shape(1).Dimension);
        using NDArray left = node.First.Reshape(Left(node.First.Shape));
        using NDArray turned = left.SwapAxes(-1, -2);
        using NDArray product = turned.MatMul(whole);
        return Fitted(product, right, node.Shape(1));
    }

    private static Shape Left(Shape shape) => shape.Dimension == 1 ? new Shape(1, shape[0]) : shape;

    private static Shape Right(Shape shape) => shape.Dimension == 1 ? new Shape(shape[0], 1) : shape;

    /// <summary>The gradient with the axes that the product has dropped.</summary>
    private static NDArray Whole(NDArray g, bool isRow, bool isColumn)
    {
        using NDArray withRow = isRow ? g.ExpandDims(isColumn ? -1 : -2) : g.Shared(g.Manager);
        return isColumn ? withRow.ExpandDims(-1) : withRow.Shared(g.Manager);
    }

    private static NDArray Fitted(NDArray product, Shape matrices, Shape shape)
    {
        NDArray fitted = GradientShapes.Fitted(product, matrices, product.DataType);
        try
        {
            return fitted.Reshape(shape);
        }
        finally
        {
            if (!ReferenceEquals(fitted, product))
            {
                fitted.Dispose();
            }
        }
    }
}
