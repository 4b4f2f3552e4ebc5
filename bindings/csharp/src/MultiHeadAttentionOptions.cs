// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="MultiHeadAttention"/>, which copies them.</summary>
public sealed class MultiHeadAttentionOptions : AttentionOptions
{
    /// <summary>The hidden size E, which is split among the heads. May be 0 only if HeadSize is set, and OutputSize is
    /// set or OutputProjection is false.</summary>
    public long NumHiddens { get; set; }

    /// <summary>The number of heads H, 1 or more. Must be set.</summary>
    public long NumHeads { get; set; }

    /// <summary>The number of heads of keys and values, a divisor of NumHeads; 0, the default, means NumHeads. Query
    /// head h uses key head h / (NumHeads / NumKvHeads).</summary>
    public long NumKvHeads { get; set; }

    /// <summary>The size of a head's queries and keys; 0, the default, means NumHiddens / NumHeads, which must be a
    /// whole number.</summary>
    public long HeadSize { get; set; }

    /// <summary>The size of a head's values; 0, the default, means HeadSize.</summary>
    public long ValueHeadSize { get; set; }

    /// <summary>The size of the output's last axis; 0, the default, means NumHiddens.</summary>
    public long OutputSize { get; set; }

    /// <summary>Whether W_o projects the heads to the output; true by default. If false, the output is
    /// (B, Q, NumHeads * ValueHeadSize), and neither OutputSize nor Bias.O may be set.</summary>
    public bool OutputProjection { get; set; } = true;

    /// <summary>The projections that add a bias; none by default.</summary>
    public Bias Biases { get; set; }

    /// <summary>How the score of a query and a key is computed; by their dot product by default.</summary>
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
