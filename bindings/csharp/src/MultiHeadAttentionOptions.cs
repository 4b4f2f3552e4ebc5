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

    /// <summary>Rotary positions of queries and keys; null, the default: none.</summary>
    public RopeOptions? Rope { get; set; }

    /// <summary>The norm of queries and keys, head by head, before rotary positions, if <see cref="QkNormEpsilon"/> is
    /// above 0. It adds the parameters "q_norm.weight" and "k_norm.weight": (HeadSize) for Rms, (NumHeads, HeadSize)
    /// and (NumKvHeads, HeadSize) for Layer.</summary>
    public QkNorm QkNorm { get; set; }

    /// <summary>What is added to the mean of the squares in the norm of queries and keys, above 0; 0, the default,
    /// means no norm.</summary>
    public float QkNormEpsilon { get; set; }

    /// <summary>Whether each head has a score that takes part in the softmax without a value, the parameter "sinks"
    /// (NumHeads); the inputs' own sinks must then be null. False, the default: only those of
    /// <see cref="AttentionInputs.Sinks"/>.</summary>
    public bool Sinks { get; set; }

    /// <summary>A bias of each score by the distance from query to key, the parameter "relative_bias.weight"
    /// (RelativeBiasBuckets, NumHeads); none by default.</summary>
    public RelativeBias RelativeBias { get; set; }

    /// <summary>How many buckets the distances of the relative bias have, an even number for BothWays; 0, the default,
    /// means 32.</summary>
    public long RelativeBiasBuckets { get; set; }

    /// <summary>The distance from which on all distances share a bucket of the relative bias; 0, the default, means
    /// 128.</summary>
    public long RelativeBiasMaxDistance { get; set; }

    /// <summary>Whether scores are lowered by the distance from query to key, with the slopes of
    /// <see cref="AttentionInputs.CreateAlibiSlopes"/>; the inputs' own slopes must then be null. None by
    /// default.</summary>
    public Alibi Alibi { get; set; }

    /// <summary>Whether every query sees one more key, whatever hides the others, as with PyTorch's add_bias_kv. The key
    /// is the parameter "bias_k" (NumKvHeads * HeadSize), its value "bias_v" (NumKvHeads * ValueHeadSize). The attention
    /// weights have one column more. False by default; not with Scoring.Additive.</summary>
    public bool AddBiasKv { get; set; }

    /// <summary>Whether every query sees one more key that is 0, with the value 0, whatever hides the others, as with
    /// PyTorch's add_zero_attn. The attention weights have one column more, behind that of <see cref="AddBiasKv"/>.
    /// False by default; not with Scoring.Additive.</summary>
    public bool AddZeroAttn { get; set; }

    internal MultiHeadAttentionOptions Copy()
    {
        var copy = (MultiHeadAttentionOptions)MemberwiseClone();
        copy.Rope = Rope?.Copy();
        return copy;
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"MultiHeadAttention(numHiddens={NumHiddens}, numHeads={NumHeads}, useBias={Biases != Bias.None}, "
        + $"dropout={Dropout})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedMultiHeadAttentionCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeMultiHeadAttentionOptions ToNative(NativeStructs structs)
    {
        NativeMultiHeadAttentionOptions members = structs.Add(new NativeMultiHeadAttentionOptions());
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
        members.Rope = NativeStruct.PointerOf(Rope?.ToNative(structs));
        members.QkNorm = (int)QkNorm;
        members.QkNormEpsilon = QkNormEpsilon;
        members.Sinks = Sinks ? 1 : 0;
        members.RelativeBias = (int)RelativeBias;
        members.RelativeBiasBuckets = RelativeBiasBuckets;
        members.RelativeBiasMaxDistance = RelativeBiasMaxDistance;
        members.Alibi = (int)Alibi;
        members.AddBiasKv = AddBiasKv ? 1 : 0;
        members.AddZeroAttn = AddZeroAttn ? 1 : 0;
        return members;
    }
}
