// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A linear layer, y = x W^T + b, over the last axis of its input. Forward takes a list of one array (..., E)
/// of Float32, Float16 or BFloat16 with one to eight axes, and gives one array (..., units).</summary>
/// <remarks>Its parameters are "weight" (units, E) and, with a bias, "bias" (units). Load also takes the names of
/// PyTorch's nn.Linear, Keras' Dense and DJL's Linear.</remarks>
public sealed class Linear : NativeBlock
{
    private readonly long units;
    private readonly bool bias;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="units">The size of the output, 1 or more.</param>
    /// <param name="bias">Whether a bias is added.</param>
    /// <exception cref="ArgumentException">units is below 1.</exception>
    public Linear(long units, bool bias = true)
        : base(context => NewLayer(context, Checked(units), bias))
    {
        this.units = units;
        this.bias = bias;
    }

    /// <summary>Makes a child of another block.</summary>
    internal Linear(long units, bool bias, ChildPath path)
        : base(context => NewLayer(context, units, bias), childPath: path)
    {
        this.units = units;
        this.bias = bias;
    }

    internal override string Kind => nameof(Linear);

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => $"Linear(units={units}, bias={bias})";

    private static NativeLayer NewLayer(NativeContext context, long units, bool bias)
    {
        using var members = new NativeLinearOptions();
        members.OutputSize = units;
        members.NoBias = bias ? 0 : 1;
        return HeedNative.HeedLinearCreate(context, members);
    }

    /// <summary>Checks the size of the output here, because C's own sentence would name output_size, which is an option
    /// of MultiHeadAttention.</summary>
    private static long Checked(long units) => units >= 1
        ? units
        : throw new ArgumentException($"units is {units}, expected at least 1", nameof(units));
}
