// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Where a block writes in the form of Forward that allocates nothing; <see
/// cref="NativeBlock.CreateOutputs"/> makes one. May be changed and used again; belongs to one thread at a
/// time.</summary>
/// <remarks>What is null is not wanted; at least one is. None may share memory with another or with an
/// input.</remarks>
public sealed class AttentionOutputs : IDisposable
{
    /// <summary>Makes outputs.</summary>
    /// <param name="output">See <see cref="Output"/>.</param>
    /// <param name="weights">See <see cref="Weights"/>.</param>
    /// <param name="logSumExp">See <see cref="LogSumExp"/>.</param>
    public AttentionOutputs(NDArray? output = null, NDArray? weights = null, NDArray? logSumExp = null)
    {
        Output = output;
        Weights = weights;
        LogSumExp = logSumExp;
    }

    /// <summary>What the block computes, of the inputs' type or Float32: (B, Q, output size) of multi-head attention,
    /// (B, Q, Ev) of additive and (B, Q, Dv) or (B, H, Q, Dv) of dot-product attention, (..., units) of Linear, the
    /// input's shape of Dropout.</summary>
    public NDArray? Output { get; set; }

    /// <summary>The attention weights before dropout, of the inputs' type or Float32: (B, H, Q, K), or (B, Q, K)
    /// where there are no heads. Linear and Dropout have none.</summary>
    public NDArray? Weights { get; set; }

    /// <summary>The natural logarithm of the sum of the exponentials of the scores, Float32: (B, H, Q), or (B, Q)
    /// where there are no heads; minus infinity for a query that sees no key. Linear and Dropout have none.</summary>
    public NDArray? LogSumExp { get; set; }

    internal LayerOutputs Native => new LayerOutputs(
        NDArray.TensorOf(Output, nameof(Output)),
        NDArray.TensorOf(Weights, nameof(Weights)),
        NDArray.TensorOf(LogSumExp, nameof(LogSumExp)));

    /// <summary>Disposes the arrays.</summary>
    public void Dispose()
    {
        Output?.Dispose();
        Weights?.Dispose();
        LogSumExp?.Dispose();
    }
}
