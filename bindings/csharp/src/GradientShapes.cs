// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Gradients in the shapes of the arrays that they are of.</summary>
internal static class GradientShapes
{
    /// <summary>A gradient with respect to an array that was repeated to the gradient's shape and converted to its type: the
    /// sum over the axes along which it was repeated, in the array's shape and type. The same array if nothing is to
    /// do.</summary>
    internal static NDArray Fitted(NDArray gradient, Shape shape, DataType type)
    {
        if (gradient.Shape.Equals(shape))
        {
            return gradient.DataType == type ? gradient : gradient.ToType(type);
        }
        using NDArray sums = gradient.Sum(RepeatedAxes(gradient.Shape, shape));
        using NDArray fitted = sums.Reshape(shape);
        return fitted.ToType(type, copy: true);
    }

    /// <summary>The axes of a shape along which an array of another one is repeated.</summary>
    private static int[] RepeatedAxes(Shape shape, Shape before)
    {
        int added = shape.Dimension - before.Dimension;
        var axes = new int[shape.Dimension];
        int count = 0;
        for (int axis = 0; axis < axes.Length; axis++)
        {
            if (axis < added || before[axis - added] != shape[axis])
            {
                axes[count++] = axis;
            }
        }
        System.Array.Resize(ref axes, count);
        return axes;
    }
}
