// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <summary>Dropout: in training, each element becomes 0 with the rate's probability, and is otherwise multiplied by 1
/// / (1 - rate); without training the output is the input. Forward takes a list of one array of Float32, Float16 or
/// BFloat16 with one to eight axes, and gives one array of the same shape.</summary>
/// <remarks>It has no parameters and need not be initialized.</remarks>
public sealed class Dropout : NativeBlock
{
    private readonly float rate;

    /// <summary>Makes a block.</summary>
    /// <param name="rate">The probability, from 0 to below 1, that an element is dropped when training; the default is
    /// DJL's.</param>
    /// <exception cref="System.ArgumentException">The rate is out of range.</exception>
    public Dropout(float rate = 0.5f)
        : base(context => NewLayer(context, rate))
    {
        this.rate = rate;
    }

    /// <summary>Makes a child of another block.</summary>
    internal Dropout(float rate, ChildPath path)
        : base(context => NewLayer(context, rate), childPath: path)
    {
        this.rate = rate;
    }

    internal override string Kind => nameof(Dropout);

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => $"Dropout(rate={rate})";

    private static NativeLayer NewLayer(NativeContext context, float rate)
    {
        using var members = new NativeDropoutOptions();
        members.Dropout = rate;
        return HeedNative.HeedDropoutCreate(context, members);
    }
}
