// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <summary>The options of the last projection of an encoder, decoder or <see cref="Transformer"/>, for example to
/// logits: cap(Scale * (W x + b)), where cap(z) = SoftCap * tanh(z / SoftCap), or z without SoftCap. The projection is
/// the child "output".</summary>
public sealed class OutputOptions
{
    /// <summary>The size of the output's last axis, 1 or more. Must be set, except with Tied, where it is 0 or the
    /// number of embeddings.</summary>
    public long Size { get; set; }

    /// <summary>Whether W is the table of the embedding, which is not copied (Press and Wolf, "Using the Output
    /// Embedding to Improve Language Models", 2017); then there is no parameter "output.weight". False, the default: W
    /// is the parameter "output.weight" (Size, E).</summary>
    public bool Tied { get; set; }

    /// <summary>Whether b, the parameter "output.bias" (Size), is added; false by default.</summary>
    public bool Bias { get; set; }

    /// <summary>The factor, any finite number; 0, the default, means 1. Granite has 1 / logits_scaling, T5 with tied
    /// embeddings 1 / sqrt(E).</summary>
    public float Scale { get; set; }

    /// <summary>The largest magnitude of the output, as Gemma 2's final_logit_softcapping; 0, the default, means
    /// none.</summary>
    public float SoftCap { get; set; }

    internal OutputOptions Copy() => (OutputOptions)MemberwiseClone();

    /// <summary>The text in the descriptions of blocks.</summary>
    internal string Describe() =>
        $"Output(size={Size}, tied={Tied}, bias={Bias}, scale={Scale}, "
        + $"softCap={SoftCap})";

    /// <summary>Makes the child.</summary>
    internal Linear MakeChild(EmbeddingOptions? embedding, NativeBlock.ChildPlace place) =>
        new Linear(Tied && embedding != null ? embedding.NumEmbeddings : Size, Bias, place);

    /// <summary>The options as C's struct.</summary>
    internal NativeOutputOptions ToNative(NativeStructs structs)
    {
        NativeOutputOptions members = structs.Add(new NativeOutputOptions());
        members.Size = Size;
        members.Tied = Tied ? 1 : 0;
        members.Bias = Bias ? 1 : 0;
        members.Scale = Scale;
        members.SoftCap = SoftCap;
        return members;
    }
}
