// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed.Tests;

/// <summary>Small encoders and decoders of size 8, and calls of blocks.</summary>
internal sealed class TransformerScene : IDisposable
{
    internal const int Size = 8;

    internal NDManager Manager { get; } = NDManager.NewBaseManager();

    internal ParameterStore Store { get; } = new ParameterStore();

    public void Dispose() => Manager.Dispose();

    internal static TransformerEncoderBlockOptions EncoderLayer() => new()
    {
        Attention = new MultiHeadAttentionOptions { NumHiddens = Size, NumHeads = 2, Biases = Bias.All },
        FeedForward = new FeedForwardOptions { HiddenSize = 16, Activation = ActivationKind.Gelu },
    };

    internal static TransformerDecoderBlockOptions DecoderLayer(bool crosses = true) => new()
    {
        SelfAttention = new MultiHeadAttentionOptions
        {
            NumHiddens = Size, NumHeads = 2, Causal = Causal.BottomRight,
            Rope = new RopeOptions
            {
                Layout = RopeLayout.Half, Scaling = RopeScaling.Factors, Factors = new[] { 1f, 2 }, AttentionFactor = 1,
            },
        },
        CrossAttention = crosses ? new MultiHeadAttentionOptions { NumHiddens = Size, NumHeads = 4 } : null,
        FeedForward = new FeedForwardOptions { HiddenSize = 12, Activation = ActivationKind.Silu, Gated = true },
        Norm = new LayerNormOptions { Kind = NormKind.Rms, Epsilon = 1e-6f },
    };

    internal NDArray Random(params long[] dims) => Manager.RandomNormal(new Shape(dims));

    /// <summary>A block with parameters for these inputs, those of norms and biases not at their first
    /// values.</summary>
    internal T Ready<T>(T block, params NDArray?[] inputs)
        where T : NativeBlock
    {
        var drawn = new NormalInitializer(0.5f);
        block.SetInitializer(drawn, parameter => parameter.Type is not ParameterType.Weight);
        block.Initialize(Manager, DataType.Float32, inputs.Select(input => input?.Shape).ToArray());
        return block;
    }

    internal NDArray Run(Block block, params NDArray?[] inputs)
    {
        var list = new NDList();
        list.AddRange(inputs!);
        return block.Forward(Store, list)[0];
    }

    /// <summary>The output for inputs by name.</summary>
    internal float[] Run(NativeBlock block, AttentionInputs inputs)
    {
        using AttentionOutputs outputs = block.CreateOutputs(inputs);
        using Workspace workspace = Manager.NewWorkspace(block.WorkspaceSize(inputs, outputs));
        block.Forward(inputs, outputs, workspace);
        return outputs.Output!.ToFloatArray();
    }
}
