// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="MultiHeadAttention"/>, which copies them.</summary>
public sealed class MultiHeadAttentionOptions : AttentionOptions
{
    /// <summary>The size E of the output, of which each head has its part. May be 0 only if HeadSize is given, and
    /// OutputSize is given or OutputProjection false.</summary>
    public long NumHiddens { get; set; }

    /// <summary>The number of heads H, 1 or more. Has to be set.</summary>
    public long NumHeads { get; set; }

    /// <summary>The number of heads of keys and values, a divisor of NumHeads; 0, the default: NumHeads. Query head h
    /// uses key head h / (NumHeads / NumKvHeads).</summary>
    public long NumKvHeads { get; set; }

    /// <summary>The size of a head of queries and keys; 0, the default: NumHiddens / NumHeads, which must come out
    /// even.</summary>
    public long HeadSize { get; set; }

    /// <summary>The size of a head of values; 0, the default: HeadSize.</summary>
    public long ValueHeadSize { get; set; }

    /// <summary>The last dim of the output; 0, the default: NumHiddens.</summary>
    public long OutputSize { get; set; }

    /// <summary>Whether W_o projects the heads to the output, as by default. Without it the output is (B, Q, NumHeads *
    /// ValueHeadSize), and there is neither an OutputSize nor a Bias.O.</summary>
    public bool OutputProjection { get; set; } = true;

    /// <summary>Which projections add a bias; none by default.</summary>
    public Bias Biases { get; set; }

    /// <summary>How a query and a key are scored; by their product by default.</summary>
    public Scoring Scoring { get; set; }

    internal MultiHeadAttentionOptions Copy() => (MultiHeadAttentionOptions)MemberwiseClone();

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var members = new NativeMultiHeadAttentionOptions();
        Fill(members);
        members.NumHiddens = NumHiddens;
        members.NumHeads = NumHeads;
        members.NumKvHeads = NumKvHeads;
        members.HeadSize = HeadSize;
        members.ValueHeadSize = ValueHeadSize;
        members.OutputSize = OutputSize;
        members.NoOutputProjection = OutputProjection ? 0 : 1;
        members.Biases = (int)Biases;
        members.Scoring = (int)Scoring;
        return HeedNative.HeedMultiHeadAttentionCreate(context, members);
    }
}
