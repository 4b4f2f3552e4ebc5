// SPDX-License-Identifier: Apache-2.0
// The Transformer of "Dive into Deep Learning", a chapter that d2l-java does not have, put together of heed's parts and
// arithmetic: an encoder, and a decoder that continues two sentences greedily, step by step. Beside them compute heed's
// own encoder and decoder, with the same parameters.
//
//   run transformer
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Heed;

internal static class TransformerExample
{
    private const int NumTokens = 24;
    private const int NumHiddens = 32;
    private const int HiddenSize = 64;
    private const int NumHeads = 4;
    private const int NumBlocks = 2;
    private const int MaxLen = 100;
    private const int NumSteps = 6;
    private const float DropoutRate = 0.1f; // Off at inference.
    private const long Begin = 1; // The token before the first one.

    private static readonly MultiHeadAttentionOptions AttentionOptions =
        new() { NumHiddens = NumHiddens, NumHeads = NumHeads, Dropout = DropoutRate };

    private static readonly EmbeddingOptions EmbeddingOptions =
        new() { NumEmbeddings = NumTokens, EmbeddingSize = NumHiddens };

    internal static int Main()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var encoder = new Encoder(manager);
        using var decoder = new Decoder(manager);
        NDArray sources = manager.Create(new long[] { 5, 11, 2, 9, 17, 3, 8, 4, 20, 6, 0, 0 }, new Shape(2, 6));
        NDArray validLens = manager.Create(new[] { 6, 4 });
        NDArray begins = manager.Full(new Shape(2, 1), Begin, DataType.Int64);
        encoder.SetSeed(59); // A program's weights: Load.
        encoder.Initialize(manager, DataType.Float32, sources.Shape, validLens.Shape);
        decoder.SetSeed(59);
        decoder.Initialize(manager, DataType.Float32, begins.Shape, new Shape(2, 6, NumHiddens), validLens.Shape);

        NDArray memory = encoder.Forward(sources, validLens).Head;
        using TransformerEncoder heedsEncoder = MakeHeedsEncoder(encoder);
        float ofEncoder = LargestDifference(memory, heedsEncoder.Forward(sources, validLens).Head);
        Print($"encoder: {memory.Shape}, largest difference to heed's encoder {ofEncoder:0.0e+00}");

        var logits = new NDList();
        NDArray tokens = DecodeGreedily(decoder, memory, validLens, begins, logits);
        for (int i = 0; i < 2; i++)
        {
            Print($"sentence {i}: tokens [{string.Join(", ", tokens[i].ToLongArray())}]");
        }

        // heed's decoder reads the tokens of all steps in one call.
        NDArray read = begins.Concat(tokens[.., ..^1], 1);
        NDArray ofSteps = NDArrays.Concat(logits, 1);
        using TransformerDecoder heedsDecoder = MakeHeedsDecoder(decoder);
        NDArray ofCall = heedsDecoder.Forward(read, memory, validLens).Head;
        float ofDecoder = LargestDifference(ofSteps, ofCall);
        bool hasSameTokens = ofCall.ArgMax(-1).ContentEquals(tokens);
        string which = hasSameTokens ? "the same" : "OTHER";
        Print($"decoder: {ofSteps.Shape}, largest difference to heed's decoder {ofDecoder:0.0e+00}; {which} tokens");
        return ofEncoder < 1e-5f && ofDecoder < 1e-5f && hasSameTokens ? 0 : 1; // 1 for NaN.
    }

    /// <summary>Appends the token with the largest logit, again and again. Returns the tokens (2, steps).</summary>
    private static NDArray DecodeGreedily(
        Decoder decoder, NDArray memory, NDArray validLens, NDArray begins, NDList logits)
    {
        NDArray last = begins;
        var tokens = new NDList();
        var rows = new NDList();
        for (int step = 0; step < NumSteps; step++)
        {
            NDList results = decoder.Forward([last, memory, validLens, .. rows]);
            rows = results.SubNDList(1);
            logits.Add(results.Head);
            last = results.Head.ArgMax(-1);
            tokens.Add(last);
        }
        return NDArrays.Concat(tokens, 1);
    }

    private static float LargestDifference(NDArray a, NDArray b) => (a - b).Abs().Max().Item<float>();

    private static void Print(FormattableString text) => Console.WriteLine(text.ToString(CultureInfo.InvariantCulture));

    /// <summary>heed's encoder with the same options, and the parameters of ours.</summary>
    private static TransformerEncoder MakeHeedsEncoder(Encoder ours)
    {
        var encoder = new TransformerEncoder(new TransformerEncoderOptions
        {
            Layer = new TransformerEncoderBlockOptions
            {
                Attention = AttentionOptions,
                FeedForward = new FeedForwardOptions { HiddenSize = HiddenSize },
            },
            NumLayers = NumBlocks,
            Embedding = EmbeddingWithScale(),
            Positions = new PositionalEncodingOptions { MaxLen = MaxLen },
        });
        Give(ours.Embedding, encoder, "embedding.");
        for (int i = 0; i < NumBlocks; i++)
        {
            EncoderBlock block = ours.Blocks[i];
            string layer = $"layers.{i}.";
            Give(block.Attention, encoder, layer + "self_attention.");
            Give(block.AddNorm1.Norm, encoder, layer + "norm_1.");
            Give(block.Ffn.Dense1, encoder, layer + "feed_forward.W_1.");
            Give(block.Ffn.Dense2, encoder, layer + "feed_forward.W_2.");
            Give(block.AddNorm2.Norm, encoder, layer + "norm_2.");
        }
        return encoder;
    }

    private static TransformerDecoder MakeHeedsDecoder(Decoder ours)
    {
        var decoder = new TransformerDecoder(new TransformerDecoderOptions
        {
            Layer = new TransformerDecoderBlockOptions
            {
                SelfAttention = new MultiHeadAttentionOptions
                {
                    NumHiddens = NumHiddens,
                    NumHeads = NumHeads,
                    Causal = Causal.BottomRight,
                },
                CrossAttention = AttentionOptions,
                FeedForward = new FeedForwardOptions { HiddenSize = HiddenSize },
            },
            NumLayers = NumBlocks,
            Embedding = EmbeddingWithScale(),
            Positions = new PositionalEncodingOptions { MaxLen = MaxLen },
            Output = new OutputOptions { Size = NumTokens, Bias = true },
        });
        Give(ours.Embedding, decoder, "embedding.");
        Give(ours.Dense, decoder, "output.");
        for (int i = 0; i < NumBlocks; i++)
        {
            DecoderBlock block = ours.Blocks[i];
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

    private static EmbeddingOptions EmbeddingWithScale() =>
        new() { NumEmbeddings = NumTokens, EmbeddingSize = NumHiddens, Scale = (float)Math.Sqrt(NumHiddens) };

    /// <summary>Sets the parameters of a whole whose names begin with the prefix to those of a part.</summary>
    private static void Give(Block part, Block whole, string prefix)
    {
        foreach (Pair<string, Parameter> parameter in part.Parameters)
        {
            whole.Parameters[prefix + parameter.Key].SetArray(parameter.Value.Array);
        }
    }

    /// <summary>A block of blocks.</summary>
    private abstract class Part : AbstractBlock
    {
        protected static NDArray Call(Block block, ParameterStore ps, bool training, params NDArray[] inputs) =>
            block.Forward(ps, new NDList(inputs), training).Head;
    }

    /// <summary>The norm of x + dropout(y).</summary>
    private sealed class AddNorm : Part
    {
        private readonly Dropout dropout;

        public AddNorm()
        {
            Norm = AddChildBlock("norm", new LayerNorm());
            dropout = AddChildBlock("dropout", new Dropout(DropoutRate));
        }

        public LayerNorm Norm { get; }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters) =>
            new NDList(Call(Norm, ps, training, inputs[0] + Call(dropout, ps, training, inputs[1])));

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            Norm.Initialize(manager, dataType, inputShapes[0]);
            dropout.Initialize(manager, dataType, inputShapes[0]);
        }
    }

    /// <summary>Two linear layers with a ReLU between them, applied to each position alike.</summary>
    private sealed class PositionWiseFfn : Part
    {
        public PositionWiseFfn()
        {
            Dense1 = AddChildBlock("dense1", new Linear(HiddenSize));
            Dense2 = AddChildBlock("dense2", new Linear(NumHiddens));
        }

        public Linear Dense1 { get; }

        public Linear Dense2 { get; }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters) =>
            new NDList(Call(Dense2, ps, training, Activation.Relu(Call(Dense1, ps, training, inputs.Head))));

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            Dense1.Initialize(manager, dataType, inputShapes[0]);
            Dense2.Initialize(manager, dataType, Dense1.GetOutputShapes(inputShapes));
        }
    }

    /// <summary>Of rows and the valid lengths: self-attention and a feed-forward network, each with a residual and a
    /// norm.</summary>
    private sealed class EncoderBlock : Part
    {
        public EncoderBlock()
        {
            Attention = AddChildBlock("attention", new MultiHeadAttention(AttentionOptions));
            AddNorm1 = AddChildBlock("addnorm1", new AddNorm());
            Ffn = AddChildBlock("ffn", new PositionWiseFfn());
            AddNorm2 = AddChildBlock("addnorm2", new AddNorm());
        }

        public MultiHeadAttention Attention { get; }

        public AddNorm AddNorm1 { get; }

        public PositionWiseFfn Ffn { get; }

        public AddNorm AddNorm2 { get; }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray x = inputs[0];
            NDArray y = Call(AddNorm1, ps, training, x, Call(Attention, ps, training, x, x, x, inputs[1]));
            return new NDList(Call(AddNorm2, ps, training, y, Call(Ffn, ps, training, y)));
        }

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            Shape? rows = inputShapes[0];
            Attention.Initialize(manager, dataType, rows, rows, rows);
            foreach (Block block in new Block[] { AddNorm1, Ffn, AddNorm2 })
            {
                block.Initialize(manager, dataType, rows);
            }
        }
    }

    /// <summary>Of ids and the valid lengths: the rows of words at their positions, through the encoder's
    /// blocks.</summary>
    private sealed class Encoder : Part
    {
        private readonly PositionalEncoding positions;

        public Encoder(NDManager manager)
        {
            Embedding = AddChildBlock("embedding", new Embedding(EmbeddingOptions));
            positions = AddChildBlock("positions", new PositionalEncoding(NumHiddens, DropoutRate, MaxLen, manager));
            Blocks = Enumerable.Range(0, NumBlocks).Select(_ => AddChildBlock("block", new EncoderBlock())).ToArray();
        }

        public Embedding Embedding { get; }

        public IReadOnlyList<EncoderBlock> Blocks { get; }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray x = Call(Embedding, ps, training, inputs[0]) * Math.Sqrt(NumHiddens);
            x = Call(positions, ps, training, x);
            foreach (EncoderBlock block in Blocks)
            {
                x = Call(block, ps, training, x, inputs[1]);
            }
            return new NDList(x);
        }

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            Embedding.Initialize(manager, dataType, inputShapes[0]);
            foreach (EncoderBlock block in Blocks)
            {
                block.Initialize(manager, dataType, inputShapes[0]!.Add(NumHiddens));
            }
        }
    }

    /// <summary>Of rows, the encoder's output, its valid lengths and, but for the first step, the rows of the steps
    /// before: the output, and the rows of all steps.</summary>
    private sealed class DecoderBlock : Part
    {
        public DecoderBlock()
        {
            Attention1 = AddChildBlock("attention1", new MultiHeadAttention(AttentionOptions));
            AddNorm1 = AddChildBlock("addnorm1", new AddNorm());
            Attention2 = AddChildBlock("attention2", new MultiHeadAttention(AttentionOptions));
            AddNorm2 = AddChildBlock("addnorm2", new AddNorm());
            Ffn = AddChildBlock("ffn", new PositionWiseFfn());
            AddNorm3 = AddChildBlock("addnorm3", new AddNorm());
        }

        public MultiHeadAttention Attention1 { get; }

        public AddNorm AddNorm1 { get; }

        public MultiHeadAttention Attention2 { get; }

        public AddNorm AddNorm2 { get; }

        public PositionWiseFfn Ffn { get; }

        public AddNorm AddNorm3 { get; }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray x = inputs[0];
            NDArray memory = inputs[1];
            NDArray rows = inputs.Count > 3 ? inputs[3].Concat(x, 1) : x;

            // A row sees those of the steps before, and those of x up to itself.
            int numRows = (int)rows.GetSize(1);
            int numBefore = numRows - (int)x.GetSize(1);
            NDArray visible = x.Manager.Arange(numBefore + 1, numRows + 1).Broadcast(x.GetSize(0), x.GetSize(1));
            NDArray y = Call(AddNorm1, ps, training, x, Call(Attention1, ps, training, x, rows, rows, visible));
            NDArray attended = Call(Attention2, ps, training, y, memory, memory, inputs[2]);
            NDArray z = Call(AddNorm2, ps, training, y, attended);
            return new NDList(Call(AddNorm3, ps, training, z, Call(Ffn, ps, training, z)), rows);
        }

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            Shape? rows = inputShapes[0];
            Attention1.Initialize(manager, dataType, rows, rows, rows);
            Attention2.Initialize(manager, dataType, rows, inputShapes[1], inputShapes[1]);
            foreach (Block block in new Block[] { AddNorm1, AddNorm2, Ffn, AddNorm3 })
            {
                block.Initialize(manager, dataType, rows);
            }
        }
    }

    /// <summary>Of ids, the encoder's output, its valid lengths and, but for the first step, each block's rows of the
    /// steps before: the logits of the next token, and each block's rows.</summary>
    private sealed class Decoder : Part
    {
        private readonly PositionalEncoding positions;

        public Decoder(NDManager manager)
        {
            Embedding = AddChildBlock("embedding", new Embedding(EmbeddingOptions));
            Blocks = Enumerable.Range(0, NumBlocks).Select(_ => AddChildBlock("block", new DecoderBlock())).ToArray();
            Dense = AddChildBlock("dense", new Linear(NumTokens));
            positions = AddChildBlock("positions", new PositionalEncoding(NumHiddens, DropoutRate, MaxLen, manager));
        }

        public Embedding Embedding { get; }

        public IReadOnlyList<DecoderBlock> Blocks { get; }

        public Linear Dense { get; }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDList before = inputs.SubNDList(3);
            int numBefore = before.Count > 0 ? (int)before.Head.GetSize(1) : 0;
            NDArray x = Call(Embedding, ps, training, inputs[0]) * Math.Sqrt(NumHiddens);
            x += positions.P![.., numBefore..(numBefore + (int)x.GetSize(1))];
            var results = new NDList();
            for (int i = 0; i < NumBlocks; i++)
            {
                var ofBlock = new NDList(x, inputs[1], inputs[2]);
                ofBlock.AddRange(before.Skip(i).Take(1));
                NDList result = Blocks[i].Forward(ps, ofBlock, training, parameters);
                x = result[0];
                results.Add(result[1]);
            }
            results.Insert(0, Call(Dense, ps, training, x));
            return results;
        }

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            Shape rows = inputShapes[0]!.Add(NumHiddens);
            Embedding.Initialize(manager, dataType, inputShapes[0]);
            foreach (DecoderBlock block in Blocks)
            {
                block.Initialize(manager, dataType, rows, inputShapes[1], inputShapes[2]);
            }
            Dense.Initialize(manager, dataType, rows);
        }
    }
}
