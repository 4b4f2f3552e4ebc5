// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The outputs of a block for the Forward that allocates nothing; <see cref="NativeBlock.CreateOutputs"/>
/// makes them. One object may be changed and used for many calls, by one thread at a time.</summary>
/// <remarks>An output that is null is not computed; at least one must be set. An output may not share memory with
/// another or with an input.</remarks>
public sealed partial class AttentionOutputs : IDisposable
{
    /// <summary>The members of C's struct, in the order of the bits of <see cref="Wanted"/>.</summary>
    internal static readonly TensorMember<NativeLayerOutputs>[] Members =
    {
        new(nameof(Output), (outputs, tensor) => outputs.Output = tensor),
        new(nameof(Weights), (outputs, tensor) => outputs.Weights = tensor),
        new(nameof(LogSumExp), (outputs, tensor) => outputs.LogSumExp = tensor),
    };

    private readonly NDArray?[] arrays = new NDArray?[Members.Length];

    /// <summary>Makes outputs.</summary>
    /// <param name="output">See <see cref="Output"/>.</param>
    /// <param name="weights">See <see cref="Weights"/>.</param>
    /// <param name="logSumExp">See <see cref="LogSumExp"/>.</param>
    public AttentionOutputs(NDArray? output = null, NDArray? weights = null, NDArray? logSumExp = null)
    {
        Output = output;
        Weights = weights;
        LogSumExp = logSumExp;
    }

    /// <summary>Where the weights and log-sum-exps of attentions inside the block are written to: taps with arrays,
    /// which <see cref="NativeBlock.CreateTaps"/> makes; null: none are computed.</summary>
    public Taps? Taps { get; set; }

    internal NDArray? this[Wanted wanted]
    {
        get => arrays[IndexOf(wanted)];
        set => arrays[IndexOf(wanted)] = value;
    }

    /// <summary>Disposes the arrays, but not those of taps. They stay set.</summary>
    public void Dispose()
    {
        foreach (NDArray? array in arrays)
        {
            array?.Dispose();
        }
    }

    /// <summary>The index of an output's member.</summary>
    internal static int IndexOf(Wanted wanted)
    {
        int index = 0;
        while ((int)wanted >> index > 1)
        {
            index++;
        }
        return index;
    }

    /// <summary>Counts a write of each array, also of taps.</summary>
    internal void CountWrites()
    {
        foreach (NDArray? array in arrays)
        {
            array?.CountWrite();
        }
        Taps?.CountWrites();
    }

    /// <summary>Sets all members of C's struct for a call.</summary>
    /// <exception cref="ObjectDisposedException">An array is disposed.</exception>
    internal void Fill(TensorMembers members) => members.SetAll(arrays);
}
