// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The gradient of an array that the program has marked.</summary>
internal sealed class ArrayLeaf : GradientLeaf
{
    /// <summary>Tapes of several threads may add to one array.</summary>
    private readonly object gate = new();
    private readonly NDArray array;
    private NDArray? gradient;

    private ArrayLeaf(NDArray array)
    {
        this.array = array;
        gradient = NewGradient();
    }

    internal override bool RequiresGradient
    {
        get => gradient != null;
        set
        {
            if (!value)
            {
                gradient?.Dispose();
                gradient = null;
            }
            else
            {
                gradient ??= NewGradient();
            }
        }
    }

    internal override NDArray Gradient => gradient ?? throw NotRequired("the array");

    /// <summary>Marks an array.</summary>
    internal static ArrayLeaf Of(NDArray array)
    {
        if (array.DataType is not (DataType.Float32 or DataType.Float64))
        {
            throw new ArgumentException($"the array is of {array.DataType}, expected Float32 or Float64");
        }
        return array.Node is { } node && node.Tape.IsOpen
            ? throw new InvalidOperationException(
                $"the array is computed by {node.Operation} under a gradient tape: expected an array that is not, as "
                + "StopGradient() of it")
            : new ArrayLeaf(array);
    }

    /// <summary>The gradient of an array that is disposed is wanted by nobody.</summary>
    internal override void Check()
    {
        if (!array.IsReleased && (gradient is null or { IsReleased: true }))
        {
            throw NotRequired("an array that was tracked");
        }
    }

    internal override void Attach(NDManager manager) => gradient?.Attach(manager);

    internal override void Dispose() => gradient?.Dispose();

    internal override void Take(NDArray given)
    {
        using (given)
        {
            lock (gate)
            {
                if (!array.IsReleased)
                {
                    Gradient.Add(given, Gradient);
                }
            }
        }
    }

    private NDArray NewGradient() => array.Manager.NewArray(array.Shape, array.DataType);
}
