// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A norm over the last axis of its input: a layer norm or, with <see cref="NormKind.Rms"/>, a root mean
/// square norm; <see cref="NormKind"/> has the formulas. Forward takes a list of one array (..., E) of Float32, Float16
/// or BFloat16 with one to eight axes, and gives one array of the same shape and type.</summary>
/// <remarks>Its parameters are "weight" (E), initially 1, and for a layer norm with
/// <see cref="LayerNormOptions.Center"/> "bias" (E), initially 0. The variance is computed in two passes, so that a row
/// of numbers that are nearly equal is exact.</remarks>
public sealed class LayerNorm : NativeBlock
{
    private readonly LayerNormOptions options;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied; null: the defaults.</param>
    /// <exception cref="System.ArgumentException">An option is out of range.</exception>
    public LayerNorm(LayerNormOptions? options = null)
        : this(options?.Copy() ?? new LayerNormOptions(), null)
    {
    }

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal LayerNorm(LayerNormOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path, isNorm: true)
    {
        this.options = options;
    }

    internal override string Kind => nameof(LayerNorm);

    private protected override ListInputs ListInputs => ListInputs.Single;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();
}
