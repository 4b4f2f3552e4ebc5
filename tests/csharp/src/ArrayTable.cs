// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;

namespace Heed.Tests;

/// <summary>The cases of tests/golden/data/arrays.txt; tests/golden/array_table.py says what their text means.</summary>
internal static class ArrayTable
{
    internal static List<ArrayCase> Read()
    {
        var cases = new List<ArrayCase>();
        int number = 0;
        foreach (string line in File.ReadLines(TestFiles.Data("arrays.txt")))
        {
            number++;
            if (line[0] == '<' || line[0] == '>')
            {
                ArrayEntry? entry = line.EndsWith(" -", StringComparison.Ordinal) ? null : new ArrayEntry(line.Substring(2));
                (line[0] == '<' ? cases[^1].Inputs : cases[^1].Results).Add(entry);
            }
            else if (line[0] != '#')
            {
                cases.Add(new ArrayCase($"line {number}: {line}", line));
            }
        }
        return cases;
    }

    internal static string[] Words(string text, string separator) => text.Split(separator, StringSplitOptions.RemoveEmptyEntries);
}

/// <summary>A call.</summary>
internal sealed class ArrayCase
{
    internal ArrayCase(string where, string line)
    {
        Where = where;
        string[] words = ArrayTable.Words(line, " ");
        Function = words[0];
        Parameters = words.Skip(1).Select(word => word.Split('=')).ToDictionary(pair => pair[0], pair => pair[1]);
    }

    internal string Where { get; }

    internal string Function { get; }

    internal Dictionary<string, string> Parameters { get; }

    /// <summary>Null where an input is.</summary>
    internal List<ArrayEntry?> Inputs { get; } = new();

    /// <summary>Null where a result is.</summary>
    internal List<ArrayEntry?> Results { get; } = new();

    internal bool IsRefused => Results.All(result => result is null || result.Kind == "refused");

    internal int Integer(string parameter) => int.Parse(Parameters[parameter], CultureInfo.InvariantCulture);
}

/// <summary>An input or a result of a case.</summary>
internal sealed class ArrayEntry
{
    private readonly string[] words;
    private readonly double units;

    internal ArrayEntry(string text)
    {
        int open = text.IndexOf('(');
        int close = text.IndexOf(')');
        int colon = text.Contains(':') ? text.IndexOf(':') : text.Length;
        Type = TypeOf(text.Substring(0, open - 1));
        string sizes = text.Substring(open + 1, close - open - 1);
        Shape = new Shape(ArrayTable.Words(sizes, ", ").Select(size => long.Parse(size, CultureInfo.InvariantCulture)).ToArray());
        string[] head = ArrayTable.Words(text.Substring(close + 1, colon - close - 1), " ");
        Kind = head.Length == 0 ? string.Empty : head[0];
        units = Kind == "units" ? Number(head[1]) : 0;
        words = ArrayTable.Words(text.Substring(Math.Min(colon + 1, text.Length)), " ");
    }

    internal DataType Type { get; }

    internal Shape Shape { get; }

    /// <summary>The layout of an input; of a result how its numbers are given: "", "units", "within" or "refused".</summary>
    internal string Kind { get; }

    private bool IsNarrow => Type is DataType.Float16 or DataType.BFloat16;

    /// <summary>The elements in the layouts "transposed" and "sliced", otherwise in row-major order.</summary>
    internal NDArray Create(NDManager manager)
    {
        int rank = Shape.Dimension;
        IEnumerable<int> order = Enumerable.Range(0, words.Length);
        if (Kind == "transposed")
        {
            int[] axes = Enumerable.Range(0, rank).Reverse().ToArray();
            long[] sizes = axes.Select(axis => Shape[axis]).ToArray();
            return Filled(manager, order.Select(i => PlaceOf(i, sizes)), new Shape(sizes)).Transpose(axes);
        }
        if (Kind == "sliced" && rank > 0)
        {
            // The array twice, along the first axis.
            long[] sizes = Shape.ToArray();
            sizes[0] *= 2;
            return Filled(manager, order.Concat(order), new Shape(sizes)).Slice(0, sizes[0] / 2, sizes[0] / 2);
        }
        return Filled(manager, order, Shape);
    }

    /// <summary>What is wrong with a result; empty if nothing is.</summary>
    internal string Difference(NDArray found)
    {
        if (found.DataType != Type || found.Shape != Shape)
        {
            return $"is {found.DataType} {found.Shape}, expected {Type} {Shape}";
        }
        if (!Type.IsFloating())
        {
            long[] integers = found.ToType(DataType.Int64).ToLongArray();
            int wrong = Enumerable.Range(0, integers.Length).FirstOrDefault(i => integers[i] != Whole(words[i]), -1);
            return wrong < 0 ? string.Empty : $"element {wrong} is {integers[wrong]}, expected {words[wrong]}";
        }
        double[] elements = found.ToType(DataType.Float64).ToDoubleArray();
        double[]? exact = Kind.Length == 0 ? Create(found.Manager).ToType(DataType.Float64).ToDoubleArray() : null;
        for (int i = 0; i < elements.Length; i++)
        {
            double expected = exact is null ? NumberAt(i) : exact[i];
            double bound = exact is null ? Bound(i) : 0;
            bool isRight = bound == 0 || !double.IsFinite(expected)
                ? IsSame(elements[i], expected)
                : Math.Abs(elements[i] - expected) <= bound;
            if (!isRight)
            {
                return FormattableString.Invariant($"element {i} is {elements[i]}, expected {expected} within {bound}");
            }
        }
        return string.Empty;
    }

    private static bool IsSame(double a, double b) =>
        double.IsNaN(b) ? double.IsNaN(a) : a.Equals(b) && double.IsNegative(a) == double.IsNegative(b);

    /// <summary>Where element i of an array with these sizes is in the transposed array.</summary>
    private static int PlaceOf(int i, long[] sizes)
    {
        int place = 0;
        int rest = i;
        int[] index = new int[sizes.Length];
        for (int axis = sizes.Length - 1; axis >= 0; axis--)
        {
            index[axis] = rest % (int)sizes[axis];
            rest /= (int)sizes[axis];
        }
        for (int axis = sizes.Length - 1; axis >= 0; axis--)
        {
            place = (place * (int)sizes[axis]) + index[axis];
        }
        return place;
    }

    private static double Unit(DataType type, double number)
    {
        (int precision, int smallest) = type switch
        {
            DataType.Float64 => (53, -1022),
            DataType.Float16 => (11, -14),
            DataType.BFloat16 => (8, -126),
            _ => (24, -126),
        };
        int exponent = number == 0 ? smallest : Math.Max(Math.ILogB(number), smallest);
        return Math.ScaleB(1, exponent - precision + 1);
    }

    private static DataType TypeOf(string name) => name switch
    {
        "BOOL" => DataType.Boolean,
        "U8" => DataType.UInt8,
        "BF16" => DataType.BFloat16,
        _ => Enum.Parse<DataType>((name[0] == 'F' ? "Float" : "Int") + name.Substring(1)),
    };

    private static double Number(string word) => word switch
    {
        "nan" => double.NaN,
        "inf" => double.PositiveInfinity,
        "-inf" => double.NegativeInfinity,
        _ => double.Parse(word, CultureInfo.InvariantCulture),
    };

    // Once rounded to float.
    private static float Single(string word) =>
        word is "nan" or "inf" or "-inf" ? (float)Number(word) : float.Parse(word, CultureInfo.InvariantCulture);

    private static long Whole(string word) => long.Parse(word, CultureInfo.InvariantCulture);

    private double NumberAt(int i) => Number(words[Kind == "within" ? 2 * i : i]);

    private double Bound(int i)
    {
        double number = NumberAt(i);
        double stated = Kind == "units" ? units * Unit(IsNarrow ? DataType.Float32 : Type, number) : Number(words[(2 * i) + 1]);
        if (number == 0 && (Kind == "units" || stated == 0))
        {
            return 0;
        }
        // Numbers of the table are rounded to double.
        double rounding = Type == DataType.Float64 ? Unit(Type, number) / 2 : 0;
        return stated + rounding + (IsNarrow ? Unit(Type, Math.Abs(number) + stated) / 2 : 0);
    }

    private NDArray Filled(NDManager manager, IEnumerable<int> order, Shape sizes)
    {
        if (Type == DataType.Float64)
        {
            return manager.Create(order.Select(i => Number(words[i])).ToArray(), sizes);
        }
        return Type.IsFloating()
            ? manager.Create(order.Select(i => Single(words[i])).ToArray(), sizes).ToType(Type)
            : manager.Create(order.Select(i => Whole(words[i])).ToArray(), sizes).ToType(Type);
    }
}
