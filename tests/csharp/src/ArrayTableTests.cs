// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>
/// The arithmetic of arrays compared with NumPy, by the table that the tests of C read too. Each case is computed as a new array and
/// written into one that is given.
/// </summary>
public class ArrayTableTests
{
    private static readonly Dictionary<string, Func<NDArray, NDArray, NDArray?, NDArray>> OfTwo = new()
    {
        ["add"] = (a, b, result) => a.Add(b, result),
        ["subtract"] = (a, b, result) => a.Subtract(b, result),
        ["multiply"] = (a, b, result) => a.Multiply(b, result),
        ["divide"] = (a, b, result) => a.Divide(b, result),
        ["power"] = (a, b, result) => a.Pow(b, result),
        ["remainder"] = (a, b, result) => a.Remainder(b, result),
        ["maximum"] = (a, b, result) => a.Maximum(b, result),
        ["minimum"] = (a, b, result) => a.Minimum(b, result),
        ["logical_and"] = (a, b, result) => a.LogicalAnd(b, result),
        ["logical_or"] = (a, b, result) => a.LogicalOr(b, result),
        ["logical_xor"] = (a, b, result) => a.LogicalXor(b, result),
        ["equal"] = (a, b, result) => a.Eq(b, result),
        ["not_equal"] = (a, b, result) => a.Neq(b, result),
        ["less"] = (a, b, result) => a.Lt(b, result),
        ["less_equal"] = (a, b, result) => a.Lte(b, result),
        ["greater"] = (a, b, result) => a.Gt(b, result),
        ["greater_equal"] = (a, b, result) => a.Gte(b, result),
    };

    private static readonly Dictionary<string, Func<NDArray, NDArray?, NDArray>> OfOne = new()
    {
        ["logical_not"] = (a, result) => a.LogicalNot(result),
        ["negative"] = (a, result) => a.Negate(result),
        ["absolute"] = (a, result) => a.Abs(result),
        ["sign"] = (a, result) => a.Sign(result),
        ["square"] = (a, result) => a.Square(result),
        ["round"] = (a, result) => a.Round(result),
        ["floor"] = (a, result) => a.Floor(result),
        ["ceil"] = (a, result) => a.Ceiling(result),
        ["truncate"] = (a, result) => a.Truncate(result),
        ["sqrt"] = (a, result) => a.Sqrt(result),
        ["exp"] = (a, result) => a.Exp(result),
        ["log"] = (a, result) => a.Log(result),
        ["sin"] = (a, result) => a.Sin(result),
        ["cos"] = (a, result) => a.Cos(result),
        ["tanh"] = (a, result) => a.Tanh(result),
        ["sigmoid"] = (a, result) => a.Sigmoid(result),
        ["erf"] = (a, result) => a.Erf(result),
        ["is_nan"] = (a, result) => a.IsNaN(result),
        ["is_infinite"] = (a, result) => a.IsInfinite(result),
    };

    private static readonly Dictionary<string, Func<NDArray, int[]?, bool, NDArray?, NDArray>> OfAxes = new()
    {
        ["reduce.sum"] = (array, axes, keeps, result) => array.Sum(axes, keeps, result),
        ["reduce.mean"] = (array, axes, keeps, result) => array.Mean(axes, keeps, result),
        ["reduce.max"] = (array, axes, keeps, result) => array.Max(axes, keeps, result),
        ["reduce.min"] = (array, axes, keeps, result) => array.Min(axes, keeps, result),
        ["reduce.prod"] = (array, axes, keeps, result) => array.Prod(axes, keeps, result),
        ["reduce.norm"] = (array, axes, keeps, result) => array.Norm(axes, keeps, result),
        ["reduce.argmax"] = (array, axes, _, result) => axes is null ? array.ArgMax(result) : array.ArgMax(axes[0], result),
        ["reduce.argmin"] = (array, axes, _, result) => axes is null ? array.ArgMin(result) : array.ArgMin(axes[0], result),
    };

    private static readonly Dictionary<string, Func<ArrayCase, NDArray[], NDArray?, NDArray>> Others = new()
    {
        ["select"] = (_, inputs, result) => inputs[1].Where(inputs[0], inputs[2], result),
        ["clip"] = (_, inputs, result) => inputs[0].Clip(Limit(inputs[1]), Limit(inputs[2]), result),
        ["cumulative_sum"] = (one, inputs, result) => inputs[0].CumSum(one.Integer("axis"), result),
        ["gather"] = (one, inputs, result) => inputs[0].Gather(inputs[1], one.Integer("axis"), result),
        ["take"] = (one, inputs, result) => inputs[0].Take(inputs[1], one.Integer("axis"), result),
        ["softmax"] = (one, inputs, result) => inputs[0].Softmax(one.Integer("axis"), result),
        ["log_softmax"] = (one, inputs, result) => inputs[0].LogSoftmax(one.Integer("axis"), result),
        ["matmul"] = (_, inputs, result) => inputs[0].MatMul(inputs[1], result),
        ["rotary_embedding"] = (one, inputs, result) => inputs[3] is null
            ? inputs[0].RotaryEmbedding(inputs[1], inputs[2], (RopeLayout)one.Integer("layout"), result)
            : inputs[0].RotaryEmbedding(inputs[1], inputs[2], inputs[3], (RopeLayout)one.Integer("layout"), result),
        ["concatenate"] = (one, inputs, _) => NDArrays.Concat(new NDList(inputs), one.Integer("axis")),
    };

    [Fact]
    public void GivesWhatNumPyGives()
    {
        List<ArrayCase> cases = ArrayTable.Read().Where(HasAMember).ToList();
        Assert.Empty(cases.SelectMany(one => one.IsRefused ? Refused(one) : Computed(one)));
        Assert.InRange(cases.Count(one => !one.IsRefused), 1200, int.MaxValue);
        Assert.InRange(cases.Count(one => one.IsRefused), 200, int.MaxValue);
    }

    private static List<string> Computed(ArrayCase one)
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray[] inputs = one.Inputs.Select(input => input?.Create(manager)!).ToArray();
        ArrayEntry expected = one.Results.First(result => result is not null)!;
        var wrong = new List<string>();
        try
        {
            NDArray[] made = Compute(one, inputs, null);
            // An array that is given may be of Float32 where a new one is of 16 bits, and keep the axis of an index.
            bool keepsIndexAxis = IsIndex(one) && expected.Shape.Dimension == inputs[0].Shape.Dimension;
            if (made[0].DataType == expected.Type && !keepsIndexAxis)
            {
                wrong.AddRange(Differences(one, made));
            }
            if (one.Function is not ("sort" or "top_k" or "concatenate"))
            {
                NDArray result = manager.Zeros(expected.Shape, expected.Type);
                wrong.AddRange(Differences(one, Compute(one, inputs, result)));
            }
        }
        catch (ArgumentException error)
        {
            wrong.Add($"{one.Where}: {error.Message}");
        }
        return wrong;
    }

    private static IEnumerable<string> Differences(ArrayCase one, NDArray[] found) => found
        .Select((array, i) => one.Results[one.Results.Count - found.Length + i]!.Difference(array))
        .Where(difference => difference.Length > 0)
        .Select(difference => $"{one.Where}: {difference}");

    private static List<string> Refused(ArrayCase one)
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray[] inputs = one.Inputs.Select(input => input?.Create(manager)!).ToArray();
        ArrayEntry entry = one.Results[0]!;
        NDArray result = manager.Zeros(entry.Shape, entry.Type);
        try
        {
            Compute(one, inputs, result);
        }
        catch (ArgumentException)
        {
            bool isUnchanged = result.ContentEquals(manager.Zeros(entry.Shape, entry.Type));
            return isUnchanged ? new List<string>() : new List<string> { $"{one.Where}: changed the result" };
        }
        return new List<string> { $"{one.Where}: was not refused" };
    }

    private static bool IsIndex(ArrayCase one) => one.Function is "reduce.argmax" or "reduce.argmin";

    /// <summary>Whether C# has a member for the call.</summary>
    private static bool HasAMember(ArrayCase one)
    {
        if (one.Inputs.Contains(null) && one.Function != "rotary_embedding")
        {
            return false;
        }
        if (OfTwo.ContainsKey(one.Function) || OfOne.ContainsKey(one.Function))
        {
            return one.Inputs.Count == (OfTwo.ContainsKey(one.Function) ? 2 : 1);
        }
        ArrayEntry first = one.Inputs.FirstOrDefault()!;
        if (OfAxes.ContainsKey(one.Function))
        {
            // Without axes all are reduced; an axis is never ignored.
            bool hasAxis = one.Parameters.ContainsKey("axis");
            bool isOfAll = one.Results[0]!.Shape.Dimension == 0;
            bool isIndex = IsIndex(one);
            return !(hasAxis && isOfAll && first.Shape.Dimension != 1) && (!isIndex || hasAxis || (one.Parameters.Count == 0 && isOfAll));
        }
        return one.Function switch
        {
            "clip" => !one.IsRefused && one.Inputs.Skip(1).All(limit => limit!.Shape.Size == 1 && limit.Shape.Dimension < 2),
            // The arrays of TopK and the order are new ones.
            "sort" or "top_k" => !one.IsRefused && !one.Results.Contains(null),
            "concatenate" => !one.IsRefused,
            _ => Others.ContainsKey(one.Function),
        };
    }

    private static NDArray[] Compute(ArrayCase one, NDArray[] inputs, NDArray? result)
    {
        if (one.Function == "sort")
        {
            bool isAscending = one.Integer("descending") == 0;
            NDArray order = inputs[0].ArgSort(one.Integer("axis"), isAscending);
            return isAscending ? new[] { inputs[0].Sort(one.Integer("axis")), order } : new[] { order };
        }
        if (one.Function == "top_k")
        {
            int axis = one.Integer("axis");
            Shape shape = one.Results[0]!.Shape;
            int k = (int)shape[axis < 0 ? axis + shape.Dimension : axis];
            (NDArray values, NDArray indices) = inputs[0].TopK(k, axis, one.Integer("largest") == 1);
            return new[] { values, indices };
        }
        if (OfTwo.TryGetValue(one.Function, out Func<NDArray, NDArray, NDArray?, NDArray>? ofTwo))
        {
            return new[] { ofTwo(inputs[0], inputs[1], result) };
        }
        if (OfOne.TryGetValue(one.Function, out Func<NDArray, NDArray?, NDArray>? ofOne))
        {
            return new[] { ofOne(inputs[0], result) };
        }
        if (Others.TryGetValue(one.Function, out Func<ArrayCase, NDArray[], NDArray?, NDArray>? other))
        {
            return new[] { other(one, inputs, result) };
        }
        bool keeps = one.Results[0]!.Shape.Dimension == inputs[0].Shape.Dimension;
        return new[] { OfAxes[one.Function](inputs[0], AxesOf(one), keeps, result) };
    }

    private static int[]? AxesOf(ArrayCase one)
    {
        if (one.Parameters.ContainsKey("axis"))
        {
            return new[] { one.Integer("axis") };
        }
        if (!one.Parameters.TryGetValue("axes", out string? text))
        {
            return null;
        }
        return text == "none"
            ? Array.Empty<int>()
            : text.Split(',').Select(axis => int.Parse(axis, CultureInfo.InvariantCulture)).ToArray();
    }

    private static Scalar Limit(NDArray number) => number.DataType.IsFloating()
        ? (Scalar)number.ToType(DataType.Float64).ToDoubleArray()[0]
        : number.ToType(DataType.Int64).ToLongArray()[0];
}
