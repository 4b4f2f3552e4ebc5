// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A block of <see cref="Activation"/>.</summary>
internal sealed class ActivationBlock : AbstractBlock
{
    private readonly ActivationKind activation;

    internal ActivationBlock(ActivationKind activation) => this.activation = activation;

    /// <inheritdoc/>
    public override Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null) => Array.ConvertAll(
        inputShapes ?? throw new ArgumentNullException(nameof(inputShapes)),
        shape => shape ?? throw new ArgumentException("inputShapes has null", nameof(inputShapes)));

    /// <inheritdoc/>
    public override string ToString() => $"Activation({activation})";

    /// <inheritdoc/>
    protected override NDList ForwardInternal(
        ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) =>
        new NDList(inputs.SingletonOrThrow().Activated(activation, null));
}
