// SPDX-License-Identifier: Apache-2.0
using System;
using Heed;

/// <summary>A small Transformer that learns sequences, and what it writes on its own.</summary>
internal static class SequenceLearner
{
    private const int NumHiddens = 32;
    private const int NumHeads = 4;
    private const int HiddenSize = 64;

    /// <summary>One encoder layer and one decoder layer of size 32, with four heads and random parameters.</summary>
    internal static Transformer NewTransformer(NDManager manager)
    {
        var feedForward = new FeedForwardOptions { HiddenSize = HiddenSize };
        var positions = new PositionalEncodingOptions { MaxLen = Sequences.MaxRows };
        var transformer = new Transformer(new TransformerOptions
        {
            Encoder = new TransformerEncoderOptions
            {
                Layer = new TransformerEncoderBlockOptions
                {
                    Attention = AttentionOf(Causal.None),
                    FeedForward = feedForward,
                },
                NumLayers = 1,
                Positions = positions,
            },
            Decoder = new TransformerDecoderOptions
            {
                Layer = new TransformerDecoderBlockOptions
                {
                    SelfAttention = AttentionOf(Causal.BottomRight),
                    CrossAttention = AttentionOf(Causal.None),
                    FeedForward = feedForward,
                },
                NumLayers = 1,
                Positions = positions,
            },

            // Of both, which read the same tokens.
            Embedding = new EmbeddingOptions
            {
                NumEmbeddings = Sequences.NumTokensOfAll,
                EmbeddingSize = NumHiddens,
                Scale = (float)Math.Sqrt(NumHiddens),
            },
            Output = new OutputOptions { Size = Sequences.NumTokensOfAll, Bias = true },
        });
        Initialize(manager, transformer);
        return transformer;
    }

    /// <summary>The share of sequences that the Transformer writes without a mistake, the end included. It writes each
    /// greedily: the most probable token is what it reads next.</summary>
    internal static double ShareWrittenRight(Transformer transformer, Sequences batch)
    {
        long[] written = WriteGreedily(transformer, batch);
        long[] labels = batch.Labels.ToLongArray();
        long[] lengths = batch.TargetLens.ToLongArray();
        int numRight = 0;
        for (int n = 0; n < batch.NumSequences; n++)
        {
            int begin = n * Sequences.MaxRows;
            int length = (int)lengths[n];
            bool isRight = written.AsSpan(begin, length).SequenceEqual(labels.AsSpan(begin, length));
            numRight += isRight ? 1 : 0;
        }
        return (double)numRight / batch.NumSequences;
    }

    private static MultiHeadAttentionOptions AttentionOf(Causal causal) =>
        new() { NumHiddens = NumHiddens, NumHeads = NumHeads, Causal = causal };

    /// <summary>New parameters: biases of 0, weights of norms of 1, and random matrices. A matrix of c columns is drawn
    /// uniformly from -1 / sqrt(c) to 1 / sqrt(c), as PyTorch's linear layers begin. Such numbers are smaller than those of
    /// Block.Initialize, with which the first attention would see hardly more than one key.</summary>
    private static void Initialize(NDManager manager, Transformer transformer)
    {
        transformer.Initialize(
            manager, DataType.Float32, new Shape(1, Sequences.MaxRows), new Shape(1, Sequences.MaxSymbols), new Shape(1));
        int seed = 0;
        foreach (Pair<string, Parameter> parameter in transformer.Parameters)
        {
            Shape shape = parameter.Value.Shape!;
            seed++;
            if (shape.Dimension == 2)
            {
                float bound = (float)(1 / Math.Sqrt(shape[1]));
                manager.SetSeed(seed);
                using NDArray matrix = manager.RandomUniform(-bound, bound, shape);
                parameter.Value.SetArray(matrix);
            }
        }
    }

    /// <summary>The tokens that the Transformer writes, (sequences, MaxRows). The target's rows up to one decide the token
    /// that follows it; rows behind it are computed in vain. A decoder with a cache computes each row once: see
    /// Translator.</summary>
    private static long[] WriteGreedily(Transformer transformer, Sequences batch)
    {
        NDArray memory =
            transformer.Forward(new AttentionInputs { Keys = batch.Source, ValidLens = batch.SourceLens });
        var target = new long[batch.NumSequences * Sequences.MaxRows];
        long[] written = [];
        for (int n = 0; n < batch.NumSequences; n++)
        {
            target[n * Sequences.MaxRows] = Sequences.Begin;
        }
        for (int row = 0; row < Sequences.MaxRows; row++)
        {
            using NDManager sub = memory.Manager.NewSubManager();
            NDArray logits = transformer.Forward(new AttentionInputs
            {
                Queries = sub.Create(target, batch.Target.Shape),
                Memory = memory,
                ValidLens = batch.SourceLens,
            });
            written = logits.ArgMax(2).ToLongArray();
            for (int n = 0; n < batch.NumSequences && row + 1 < Sequences.MaxRows; n++)
            {
                target[(n * Sequences.MaxRows) + row + 1] = written[(n * Sequences.MaxRows) + row];
            }
        }
        return written;
    }
}
