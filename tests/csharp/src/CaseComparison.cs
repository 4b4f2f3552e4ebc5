// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace Heed.Tests;

/// <summary>Compares what a case found with what it expects.</summary>
internal static class CaseComparison
{
    internal static bool IsList(object? value) => value is Array or IList || value?.GetType().GetInterfaces().Any(
        type => type.IsGenericType && type.GetGenericTypeDefinition() == typeof(IReadOnlyList<>)) == true;

    /// <summary>The elements of an array or a list.</summary>
    internal static List<object?> List(object? value) => ((IEnumerable)value!).Cast<object?>().ToList();

    /// <summary>How they differ, null if they are equal: floating-point numbers by their bits, arrays by types, shapes and
    /// elements.</summary>
    internal static string? Difference(object? expected, object? found)
    {
        if (IsList(expected) && IsList(found))
        {
            List<object?> left = List(expected);
            List<object?> right = List(found);
            return left.Count != right.Count ? $"{right.Count} elements, expected {left.Count}"
                : left.Zip(right, Difference).Select((difference, i) => difference is null ? null : $"element {i}: {difference}")
                    .FirstOrDefault(difference => difference != null);
        }
        return AreEqual(expected, found) ? null : $"{found ?? "null"}, expected {expected ?? "null"}";
    }

    /// <summary>The bound is one for all numbers, or a list of one for each.</summary>
    internal static void Near(object? expected, object? found, object? bound)
    {
        if (expected is NDArray left && found is NDArray right)
        {
            CaseReader.Require(left.Shape.Equals(right.Shape), $"shape {right.Shape}, expected {left.Shape}");
            Near(Elements(left), Elements(right), bound);
        }
        else if (IsList(expected))
        {
            List<object?> wanted = List(expected);
            List<object?> given = List(found);
            CaseReader.Require(wanted.Count == given.Count, $"{given.Count} elements");
            List<object?> bounds = IsList(bound) ? List(bound) : Enumerable.Repeat(bound, wanted.Count).ToList();
            for (int i = 0; i < wanted.Count; i++)
            {
                Near(wanted[i], given[i], bounds[i]);
            }
        }
        else
        {
            double a = Convert.ToDouble(expected);
            double b = Convert.ToDouble(found);
            CaseReader.Require(a == b || Math.Abs(a - b) <= Convert.ToDouble(bound), $"{found}, expected {expected} within {bound}");
        }
    }

    private static Array Elements(NDArray array) =>
        array.DataType == DataType.Float64 ? array.ToDoubleArray() : array.ToFloatArray();

    private static bool AreEqual(object? expected, object? found) => (expected, found) switch
    {
        (CaseSymbol symbol, _) => symbol.Names(found),
        (NDArray left, NDArray right) => left.ContentEquals(right),
        _ when !IsNumber(expected) || !IsNumber(found) => Equals(expected, found),
        _ when expected is float || found is float =>
            BitConverter.SingleToInt32Bits(Convert.ToSingle(expected)) == BitConverter.SingleToInt32Bits(Convert.ToSingle(found)),
        _ when expected is double || found is double =>
            BitConverter.DoubleToInt64Bits(Convert.ToDouble(expected)) == BitConverter.DoubleToInt64Bits(Convert.ToDouble(found)),
        _ => Convert.ToInt64(expected) == Convert.ToInt64(found),
    };

    private static bool IsNumber(object? value) => value is float or double or int or long or byte or sbyte;
}
