// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Heed;

/// <summary>The Transformer of "Dive into Deep Learning" put together of heed's parts and arithmetic: its encoder and
/// decoder.</summary>
internal static class ComposedTransformer
{
    internal const int NumHiddens = 32;
    internal const int HiddenSize = 64;
    internal const int NumBlocks = 2;
    internal const int MaxLen = 100;

    internal static readonly MultiHeadAttentionOptions AttentionOptions =
        new() { NumHiddens = NumHiddens, NumHeads = 4, Dropout = DropoutRate };

    private const float DropoutRate = 0.1f; // Off at inference.

    internal static EmbeddingOptions EmbeddingOf(int numTokens) =>
        new() { NumEmbeddings = numTokens, EmbeddingSize = NumHiddens };

    /// <summary>A block of blocks.</summary>
    internal abstract class Part : AbstractBlock
    {
        protected static NDArray Call(Block block, ParameterStore ps, bool training, params NDArray[] inputs) =>
            block.Forward(ps, new NDList(inputs), training).Head;
    }

    /// <summary>The norm of x + dropout(y).</summary>
    internal sealed class AddNorm : Part
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
    internal sealed class PositionWiseFfn : Part
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
    internal sealed class EncoderBlock : Part
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
    internal sealed class Encoder : Part
    {
        private readonly PositionalEncoding positions;

        public Encoder(NDManager manager, int numTokens)
        {
            NumTokens = numTokens;
            Embedding = AddChildBlock("embedding", new Embedding(EmbeddingOf(numTokens)));
            positions = AddChildBlock("positions", new PositionalEncoding(NumHiddens, DropoutRate, MaxLen, manager));
            Blocks = Enumerable.Range(0, NumBlocks).Select(_ => AddChildBlock("block", new EncoderBlock())).ToArray();
        }

        public int NumTokens { get; }

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
    internal sealed class DecoderBlock : Part
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
    internal sealed class Decoder : Part
    {
        private readonly PositionalEncoding positions;

        public Decoder(NDManager manager, int numTokens)
        {
            NumTokens = numTokens;
            Embedding = AddChildBlock("embedding", new Embedding(EmbeddingOf(numTokens)));
            Blocks = Enumerable.Range(0, NumBlocks).Select(_ => AddChildBlock("block", new DecoderBlock())).ToArray();
            Dense = AddChildBlock("dense", new Linear(numTokens));
            positions = AddChildBlock("positions", new PositionalEncoding(NumHiddens, DropoutRate, MaxLen, manager));
        }

        public int NumTokens { get; }

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
