// SPDX-License-Identifier: Apache-2.0
using System;
using Heed;

/// <summary>heed's own encoder and decoder with the options of <see cref="ComposedTransformer"/>, and copies of its
/// parameters.</summary>
internal static class HeedsTransformer
{
    /// <summary>heed's encoder with the same options, and the parameters of ours.</summary>
    internal static TransformerEncoder NewEncoder(ComposedTransformer.Encoder ours)
    {
        var encoder = new TransformerEncoder(new TransformerEncoderOptions
        {
            Layer = new TransformerEncoderBlockOptions
            {
                Attention = ComposedTransformer.AttentionOptions,
                FeedForward = new FeedForwardOptions { HiddenSize = ComposedTransformer.HiddenSize },
            },
            NumLayers = ComposedTransformer.NumBlocks,
            Embedding = EmbeddingWithScale(ours.NumTokens),
            Positions = new PositionalEncodingOptions { MaxLen = ComposedTransformer.MaxLen },
        });
        Give(ours.Embedding, encoder, "embedding.");
        for (int i = 0; i < ComposedTransformer.NumBlocks; i++)
        {
            ComposedTransformer.EncoderBlock block = ours.Blocks[i];
            string layer = $"layers.{i}.";
            Give(block.Attention, encoder, layer + "self_attention.");
            Give(block.AddNorm1.Norm, encoder, layer + "norm_1.");
            Give(block.Ffn.Dense1, encoder, layer + "feed_forward.W_1.");
            Give(block.Ffn.Dense2, encoder, layer + "feed_forward.W_2.");
            Give(block.AddNorm2.Norm, encoder, layer + "norm_2.");
        }
        return encoder;
    }

    internal static TransformerDecoder NewDecoder(ComposedTransformer.Decoder ours)
    {
        var decoder = new TransformerDecoder(new TransformerDecoderOptions
        {
            Layer = new TransformerDecoderBlockOptions
            {
                SelfAttention = new MultiHeadAttentionOptions
                {
                    NumHiddens = ComposedTransformer.NumHiddens,
                    NumHeads = ComposedTransformer.AttentionOptions.NumHeads,
                    Causal = Causal.BottomRight,
                },
                CrossAttention = ComposedTransformer.AttentionOptions,
                FeedForward = new FeedForwardOptions { HiddenSize = ComposedTransformer.HiddenSize },
            },
            NumLayers = ComposedTransformer.NumBlocks,
            Embedding = EmbeddingWithScale(ours.NumTokens),
            Positions = new PositionalEncodingOptions { MaxLen = ComposedTransformer.MaxLen },
            Output = new OutputOptions { Size = ours.NumTokens, Bias = true },
        });
        Give(ours.Embedding, decoder, "embedding.");
        Give(ours.Dense, decoder, "output.");
        for (int i = 0; i < ComposedTransformer.NumBlocks; i++)
        {
            ComposedTransformer.DecoderBlock block = ours.Blocks[i];
            string layer = $"layers.{i}.";
            Give(block.Attention1, decoder, layer + "self_attention.");
            Give(block.AddNorm1.Norm, decoder, layer + "norm_1.");
            Give(block.Attention2, decoder, layer + "cross_attention.");
            Give(block.AddNorm2.Norm, decoder, layer + "norm_2.");
            Give(block.Ffn.Dense1, decoder, layer + "feed_forward.W_1.");
            Give(block.Ffn.Dense2, decoder, layer + "feed_forward.W_2.");
            Give(block.AddNorm3.Norm, decoder, layer + "norm_3.");
        }
        return decoder;
    }

    private static EmbeddingOptions EmbeddingWithScale(int numTokens) => new()
    {
        NumEmbeddings = numTokens,
        EmbeddingSize = ComposedTransformer.NumHiddens,
        Scale = (float)Math.Sqrt(ComposedTransformer.NumHiddens),
    };

    /// <summary>Sets the parameters of a whole whose names begin with the prefix to those of a part.</summary>
    private static void Give(Block part, Block whole, string prefix)
    {
        foreach (Pair<string, Parameter> parameter in part.Parameters)
        {
            whole.Parameters[prefix + parameter.Key].SetArray(parameter.Value.Array);
        }
    }
}
