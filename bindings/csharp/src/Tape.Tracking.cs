// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <content>What operations ask of their arrays.</content>
internal sealed partial class Tape
{
    /// <summary>The tape that an operation is recorded on, since one of its arrays is tracked; null: none is.</summary>
    /// <exception cref="InvalidOperationException">An array is tracked by another thread's tape.</exception>
    /// <exception cref="NotSupportedException">An array is an output without a gradient, such as attention
    /// weights.</exception>
    internal static Tape? For(string operation, NDArray? a, NDArray? b = null, NDArray? c = null)
    {
        if (!AnyOpen)
        {
            return null;
        }
        Tape? here = OfThread();
        return Tracks(here, operation, a) | Tracks(here, operation, b) | Tracks(here, operation, c) ? here : null;
    }

    /// <summary>The tape that an operation of a new result is recorded on; null: none is.</summary>
    /// <param name="operation">What is recorded.</param>
    /// <param name="result">The array that the program gives for the result, if any.</param>
    /// <param name="a">An array that the operation reads.</param>
    /// <param name="b">Another one.</param>
    /// <param name="c">Another one.</param>
    /// <exception cref="NotSupportedException">An array is tracked, and a result is given.</exception>
    internal static Tape? ForNew(
        ArrayOperation operation, NDArray? result, NDArray? a, NDArray? b = null, NDArray? c = null)
    {
        Tape? tape = For(operation.Name, a, b, c);
        return tape != null && result is not null ? throw IntoExisting(operation.Name) : tape;
    }

    /// <summary>The same of a function that has no gradient if the operation is null.</summary>
    internal static Tape? ForNew(
        ArrayOperation? operation, Enum function, NDArray? result, NDArray? a, NDArray? b = null)
    {
        if (operation != null)
        {
            return ForNew(operation, result, a, b);
        }
        Refuse(function.ToString(), a, b, result);
        return null;
    }

    /// <summary>The same for the arrays of a list, of which some may be null.</summary>
    internal static Tape? For(string operation, IEnumerable<NDArray?> arrays)
    {
        if (!AnyOpen)
        {
            return null;
        }
        Tape? here = OfThread();
        bool isTracked = false;
        foreach (NDArray? array in arrays)
        {
            isTracked |= Tracks(here, operation, array);
        }
        return isTracked ? here : null;
    }

    /// <summary>Throws if one of the arrays of an operation without a gradient is tracked.</summary>
    /// <exception cref="NotSupportedException">One is.</exception>
    internal static void Refuse(
        string operation, NDArray? a, NDArray? b = null, NDArray? c = null, NDArray? d = null, NDArray? e = null)
    {
        if (AnyOpen && AnyTracked(operation, a, b, c, d, e))
        {
            throw WithoutGradient(operation);
        }
    }

    /// <summary>Throws if one of the arrays of an operation that writes into an array is tracked.</summary>
    /// <exception cref="NotSupportedException">One is.</exception>
    internal static void RefuseInto(
        string operation, NDArray? a, NDArray? b = null, NDArray? c = null, NDArray? d = null, NDArray? e = null)
    {
        if (AnyOpen && AnyTracked(operation, a, b, c, d, e))
        {
            throw IntoExisting(operation);
        }
    }

    internal static NotSupportedException WithoutGradient(string operation) => new NotSupportedException(
        $"{operation} has no gradient, and its array is computed under a gradient tape: expected an operation that "
        + "docs/training.md lists, or StopGradient() of the array");

    internal static NotSupportedException IntoExisting(string operation) => new NotSupportedException(
        $"{operation} writes into an array that exists, which a gradient tape does not follow: expected the form that "
        + "makes a new array");

    /// <summary>Where the gradient of an array is given to; null: it is not tracked by the tape of this
    /// thread.</summary>
    internal static GradientTarget? TargetOf(NDArray? array)
    {
        if (array?.Node is { } node && node.Tape.IsOpen)
        {
            return node;
        }
        return array?.Leaf is { RequiresGradient: true } leaf ? leaf : null;
    }

    private static bool AnyTracked(string operation, NDArray? a, NDArray? b, NDArray? c, NDArray? d, NDArray? e)
    {
        Tape? here = OfThread();
        return Tracks(here, operation, a) || Tracks(here, operation, b) || Tracks(here, operation, c)
            || Tracks(here, operation, d) || Tracks(here, operation, e);
    }

    private static bool Tracks(Tape? here, string operation, NDArray? array)
    {
        if (array?.Node is { } node && node.Tape.IsOpen)
        {
            node.Tape.CheckThread();
            node.CheckUse(operation);
            return true;
        }
        return here != null && array?.Leaf is { RequiresGradient: true };
    }
}
