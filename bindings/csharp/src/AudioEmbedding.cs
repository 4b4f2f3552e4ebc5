// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The convolutions in front of Whisper's encoder (Radford et al., "Robust Speech Recognition via Large-Scale
/// Weak Supervision", arXiv 2212.04356, section 2.2): two of three frames each with GELU behind them, the second one in
/// steps of two frames. Forward takes a list of features (B, NumMels, T) of Float32, Float16 or BFloat16, such as a
/// log-Mel spectrogram, and gives one array (B, T / 2 rounded up, NumHiddens) of that type.</summary>
/// <remarks>Its parameters are "conv_1.weight" (NumHiddens, 3 * NumMels), "conv_1.bias" (NumHiddens), "conv_2.weight"
/// (NumHiddens, 3 * NumHiddens) and "conv_2.bias" (NumHiddens). A weight is that of PyTorch's Conv1d, (out, in, 3),
/// with its last two axes exchanged, as a matrix (out, 3 * in).</remarks>
public sealed class AudioEmbedding : NativeBlock
{
    private readonly AudioEmbeddingOptions options;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">A size is missing or out of range.</exception>
    public AudioEmbedding(AudioEmbeddingOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal AudioEmbedding(AudioEmbeddingOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    internal override string Kind => nameof(AudioEmbedding);

    private protected override ListInputs ListInputs => ListInputs.Single;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();
}
