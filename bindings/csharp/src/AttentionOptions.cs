// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Options common to all attention blocks. A block copies its options when it is made.</summary>
public abstract class AttentionOptions
{
    private protected AttentionOptions()
    {
    }

    /// <summary>The members that all of C's structs of attention options have.</summary>
    internal interface IMembers
    {
        float Scale { set; }

        float SoftCap { set; }

        float Dropout { set; }

        int Causal { set; }

        int Window { set; }

        long WindowLeft { set; }

        long WindowRight { set; }

        int EmptyRows { set; }
    }

    /// <summary>The factor of the scores, any finite number. 0, the default, means 1 for
    /// <see cref="AdditiveAttention"/> and <see cref="GeneralAttention"/>, and 1 / sqrt(size of a query in its head) for
    /// the others, also with additive scoring; additive scoring in <see cref="MultiHeadAttention"/> usually needs 1. The
    /// DotProductAttention in d2l-java's utils/attention divides by sqrt(2).</summary>
    public float Scale { get; set; }

    /// <summary>The cap that scaled scores approach: a score s becomes SoftCap * tanh(s / SoftCap). 0, the default,
    /// means no cap.</summary>
    public float SoftCap { get; set; }

    /// <summary>The probability, from 0 to below 1, that an attention weight is dropped when training; 0 by
    /// default.</summary>
    public float Dropout { get; set; }

    /// <summary>The causal mask; none by default.</summary>
    public Causal Causal { get; set; }

    /// <summary>A sliding window; none by default.</summary>
    public Window Window { get; set; }

    /// <summary>How many keys before its own position a query attends to; negative: all. Only with a window.</summary>
    public long WindowLeft { get; set; }

    /// <summary>How many keys after its own position a query attends to; negative: all. Only with a window.</summary>
    public long WindowRight { get; set; }

    /// <summary>The output of a query that attends to no key; zeros by default.</summary>
    public EmptyRows EmptyRows { get; set; }

    internal void Fill(IMembers members)
    {
        members.Scale = Scale;
        members.SoftCap = SoftCap;
        members.Dropout = Dropout;
        members.Causal = (int)Causal;
        members.Window = (int)Window;
        members.WindowLeft = WindowLeft;
        members.WindowRight = WindowRight;
        members.EmptyRows = (int)EmptyRows;
    }
}
