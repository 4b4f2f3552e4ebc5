// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <summary>The options of a <see cref="PositionalEncoding"/>, which copies them.</summary>
public sealed class PositionalEncodingOptions
{
    /// <summary>The size of a row, 1 or more; even for the kinds with halves. Must be set; in the options of an encoder
    /// or decoder 0 means the size of its rows.</summary>
    public long NumHiddens { get; set; }

    /// <summary>How many positions there are, 1 or more: each position is below it. Must be set.</summary>
    public long MaxLen { get; set; }

    /// <summary>The row of position 0 in a learned table: 0 by default, 2 for OPT, BART and RoBERTa.</summary>
    public long FirstRow { get; set; }

    /// <summary>The probability, from 0 to below 1, that an element of the sum is dropped when training; 0 by
    /// default.</summary>
    public float Dropout { get; set; }

    /// <summary>What is added; sines and cosines in turn by default.</summary>
    public PositionKind Kind { get; set; }

    internal PositionalEncodingOptions Copy() => (PositionalEncodingOptions)MemberwiseClone();

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"PositionalEncoding(numHiddens={NumHiddens}, maxLen={MaxLen}, kind={Kind}, "
        + $"dropout={Dropout})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedPositionalEncodingCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativePositionalEncodingOptions ToNative(NativeStructs structs)
    {
        NativePositionalEncodingOptions members = structs.Add(new NativePositionalEncodingOptions());
        members.Size = NumHiddens;
        members.MaxPositions = MaxLen;
        members.FirstRow = FirstRow;
        members.Dropout = Dropout;
        members.Kind = (int)Kind;
        return members;
    }
}
