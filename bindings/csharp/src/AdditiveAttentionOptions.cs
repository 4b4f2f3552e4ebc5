// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What an <see cref="AdditiveAttention"/> is made with. The block copies them.</summary>
public sealed class AdditiveAttentionOptions
{
    /// <summary>The size in which queries and keys are added, 1 or more. Has to be set.</summary>
    public long NumHiddens { get; set; }

    /// <summary>The factor on a score; 0, the default: 1. Any other finite number.</summary>
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

    internal AdditiveAttentionOptions Copy() => (AdditiveAttentionOptions)MemberwiseClone();
}
