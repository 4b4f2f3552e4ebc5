// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What a <see cref="MultiHeadAttention"/> is made with. The block copies them.</summary>
public sealed class MultiHeadAttentionOptions
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

    /// <summary>The factor on a score; 0, the default: 1 / sqrt(HeadSize), whatever the scoring. Any other finite
    /// number; additive scoring usually wants 1, and d2l-java's own class divides by sqrt(2).</summary>
    public float Scale { get; set; }

    /// <summary>A score s becomes SoftCap * tanh(s / SoftCap); 0, the default: it stays.</summary>
    public float SoftCap { get; set; }

    /// <summary>The probability, from 0 to below 1, that a weight is dropped when training; 0 by default.</summary>
    public float Dropout { get; set; }

    /// <summary>Causal masking; none by default.</summary>
    public Causal Causal { get; set; }

    /// <summary>A sliding window; none by default.</summary>
    public Window Window { get; set; }

    /// <summary>How many keys before its own position a query sees; negative: all. Only with a window.</summary>
    public long WindowLeft { get; set; }

    /// <summary>How many keys after its own position a query sees; negative: all. Only with a window.</summary>
    public long WindowRight { get; set; }

    /// <summary>What a query gets that sees no key; zeros by default.</summary>
    public EmptyRows EmptyRows { get; set; }

    internal MultiHeadAttentionOptions Copy() => (MultiHeadAttentionOptions)MemberwiseClone();
}
