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

    private static unsafe string Elements(NDArray array)
    {
        NativeTensor tensor = array.Tensor;
        return NativeText.Of((text, capacity) => tensor.ToText(text, capacity));
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
