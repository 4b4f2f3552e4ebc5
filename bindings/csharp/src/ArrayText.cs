// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using System.Linq;
using System.Text;

namespace Heed;

/// <summary>The text of an array, for people to read.</summary>
internal static class ArrayText
{
    private const int MaxElements = 1000;

    /// <summary>How many elements of an axis are printed at each of its ends, if the array has more than MaxElements
    /// elements.</summary>
    private const int Edge = 3;

    /// <summary>Returns a line with shape and type, then the elements as NumPy prints them.</summary>
    internal static string Of(NDArray array)
    {
        try
        {
            if (!array.IsReleased)
            {
                string device = array.Device.IsCpu ? string.Empty : $" on {array.Device}";
                return $"NDArray {array.Shape} {NameOf(array.DataType)}{device}\n{Elements(array)}";
            }
        }
        catch (ObjectDisposedException)
        {
            // Another thread may have disposed the array meanwhile.
        }
        return "NDArray " + array.Description;
    }

    internal static string DebugString(NDArray array)
    {
        string type = NameOf(array.DataType);
        var text = new StringBuilder($"ND: {array.Shape} {array.Device} {type}\n");
        if (array.Size > MaxElements)
        {
            return text.Append($"[ more than {MaxElements} elements ]\n").ToString();
        }
        if (array.Size == 0)
        {
            return text.Append("[]\n").ToString();
        }
        int next = 0;
        Append(text, array.Shape, 0, ElementsOf(array), ref next);
        return text.Append('\n').ToString();
    }

    private static string NameOf(DataType type) => type.ToString().ToLowerInvariant();

    private static string Elements(NDArray array)
    {
        Shape shape = array.Shape;
        if (shape.Size == 0)
        {
            return "[]";
        }
        Shape shown = shape.Size > MaxElements
            ? new Shape(shape.Select(size => Math.Min(size, 2 * Edge)).ToArray())
            : shape;
        return PrintedRows.TextOf(shape, shown, ShownTexts(array, shown));
    }

    private static string[] ShownTexts(NDArray array, Shape shown)
    {
        DataType type = array.DataType;
        bool isFloating = type.IsFloating();
        DataType read = isFloating ? DataType.Float64 : DataType.Int64;
        using NativeTensor elements = array.Manager.NewHostTensor(shown, read);
        CopyEdges(elements, array.Tensor, 0);
        if (!isFloating)
        {
            var integers = new long[shown.Size];
            NDArray.Read<long>(elements, integers);
            return type.IsBoolean() ? Booleans(integers, shown) : Aligned(integers);
        }
        var numbers = new double[shown.Size];
        NDArray.Read<double>(elements, numbers);
        return shown.IsScalar ? new[] { FloatTexts.Single(numbers[0], type) } : FloatTexts.Aligned(numbers, type);
    }

    /// <summary>Copies the elements that are printed: of an axis that is longer in the source, both ends.</summary>
    private static void CopyEdges(NativeTensor target, NativeTensor source, int axis)
    {
        if (axis == target.Rank())
        {
            target.Copy(source);
            return;
        }
        if (target.Dim(axis) == source.Dim(axis))
        {
            CopyEdges(target, source, axis + 1);
            return;
        }
        foreach (int start in new[] { 0, -Edge })
        {
            using NativeTensor to = target.Slice(axis, start, Edge);
            using NativeTensor from = source.Slice(axis, start, Edge);
            CopyEdges(to, from, axis + 1);
        }
    }

    private static string[] Aligned(long[] numbers)
    {
        string[] texts = numbers.Select(Text).ToArray();
        int width = texts.Max(text => text.Length);
        return texts.Select(text => text.PadLeft(width)).ToArray();
    }

    private static string[] Booleans(long[] numbers, Shape shown)
    {
        string yes = shown.IsScalar ? "True" : " True";
        return numbers.Select(number => number == 0 ? "False" : yes).ToArray();
    }

    private static string[] ElementsOf(NDArray array)
    {
        if (array.DataType == DataType.Boolean)
        {
            return array.ToBooleanArray().Select(element => element ? "true" : "false").ToArray();
        }
        bool isInteger = array.DataType.IsInteger();
        DataType type = isInteger ? DataType.Int64
            : array.DataType == DataType.Float64 ? DataType.Float64
            : DataType.Float32;
        using NDArray widened = array.ToType(type, copy: true);
        return isInteger ? widened.ToLongArray().Select(Text).ToArray()
            : type == DataType.Float64 ? widened.ToDoubleArray().Select(Text).ToArray()
            : widened.ToFloatArray().Select(Text).ToArray();
    }

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);

    private static string Text(double number) => number.ToString("R", CultureInfo.InvariantCulture);

    private static string Text(float number) => number.ToString("R", CultureInfo.InvariantCulture);

    private static void Append(StringBuilder text, Shape shape, int axis, string[] elements, ref int next)
    {
        if (axis == shape.Dimension)
        {
            text.Append(elements[next++]);
            return;
        }
        text.Append('[');
        for (long i = 0; i < shape[axis]; i++)
        {
            if (i > 0)
            {
                text.Append(axis == shape.Dimension - 1 ? ", " : ",\n" + new string(' ', axis + 1));
            }
            Append(text, shape, axis + 1, elements, ref next);
        }
        text.Append(']');
    }
}
