// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Makes blocks of layers inside others, which say what they are.</summary>
internal static class ChildBlocks
{
    internal static NativeBlock Make(NativeBlock.ChildPath at)
    {
        var said = new SaidOptions(at.Part.Options);
        return at.Part.Kind switch
        {
            "linear" => new Linear(said.Number("output_size", 0L), !said.Is("no_bias"), at),
            "dropout" => new Dropout(said.Number("dropout", 0f), at),
            "layer_norm" => new LayerNorm(new LayerNormOptions().Read(said), at),
            "feed_forward" => new FeedForward(new FeedForwardOptions().Read(said), at),
            "embedding" => new Embedding(new EmbeddingOptions().Read(said), at),
            "patch_embedding" => new PatchEmbedding(new PatchEmbeddingOptions().Read(said), at),
            "audio_embedding" => new AudioEmbedding(new AudioEmbeddingOptions().Read(said), at),
            "positional_encoding" => new PositionalEncoding(new PositionalEncodingOptions().Read(said), at),
            "multi_head_attention" => new MultiHeadAttention(new MultiHeadAttentionOptions().Read(said), at),
            "encoder_layer" => new TransformerEncoderBlock(new TransformerEncoderBlockOptions().Read(said), at),
            "decoder_layer" => new TransformerDecoderBlock(new TransformerDecoderBlockOptions().Read(said), at),
            "encoder" => new TransformerEncoder(new TransformerEncoderOptions().Read(said), at),
            "decoder" => new TransformerDecoder(new TransformerDecoderOptions().Read(said), at),
            var kind => throw new InvalidOperationException(kind),
        };
    }
}
