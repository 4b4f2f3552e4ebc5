// SPDX-License-Identifier: Apache-2.0
// Bahdanau's attention of "Dive into Deep Learning", a chapter that d2l-java does not have: a decoder whose state, at
// each step, asks an additive attention which of the encoder's outputs it needs. Encoder and decoder are recurrent; their
// cell is put together of two linear layers and arithmetic.
//
//   run bahdanau
using System;
using System.Globalization;
using System.Linq;
using Heed;

internal static class BahdanauExample
{
    private const int NumTokens = 20;
    private const int EmbeddingSize = 8;
    private const int NumHiddens = 16;

    /// <summary>Returns 0 if two calls, of which the second one carries on the state, give what one call
    /// gives.</summary>
    internal static int Main()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var encoder = new Encoder();
        using var decoder = new AttentionDecoder();
        NDArray sources = manager.Create(new long[] { 5, 11, 2, 9, 17, 3, 8, 4, 19, 6, 0, 0 }, new Shape(2, 6));
        NDArray validLens = manager.Create(new[] { 6, 4 });
        NDArray targets = manager.Create(new long[] { 1, 7, 12, 4, 1, 15, 3, 3 }, new Shape(2, 4));
        encoder.SetSeed(42); // A program's weights: Load.
        encoder.Initialize(manager, DataType.Float32, sources.Shape);
        NDArray memory = encoder.Forward(sources).Head;
        NDArray state = memory[.., ^1];
        decoder.SetSeed(43);
        decoder.Initialize(manager, DataType.Float32, targets.Shape, memory.Shape, validLens.Shape, state.Shape);

        NDList all = decoder.Forward(targets, memory, validLens, state);
        Console.WriteLine($"logits {all[0].Shape}, state {all[1].Shape}");
        for (int i = 0; i < 2; i++)
        {
            Console.WriteLine($"sentence {i}: what each step attends to");
            foreach (NDArray step in all[2][i])
            {
                var weights = step.ToFloatArray().Select(weight => weight.ToString("F3", CultureInfo.InvariantCulture));
                Console.WriteLine($"  {string.Join(" ", weights)}");
            }
        }

        NDList first = decoder.Forward(targets[.., ..1], memory, validLens, state);
        NDList rest = decoder.Forward(targets[.., 1..], memory, validLens, first[1]);
        bool isSame = rest[1].ContentEquals(all[1]) && first[0].Concat(rest[0], 1).ContentEquals(all[0]);
        Console.WriteLine($"in two calls with the state carried on: {(isSame ? "the same bits" : "OTHER bits")}");
        return isSame ? 0 : 1;
    }

    private static Embedding NewEmbedding() =>
        new(new EmbeddingOptions { NumEmbeddings = NumTokens, EmbeddingSize = EmbeddingSize });

    /// <summary>A gated recurrent unit (Cho et al., 2014): of an input (B, E) and a state (B, H) the next
    /// state.</summary>
    private sealed class GruCell : AbstractBlock
    {
        private readonly Linear ofInput;
        private readonly Linear ofState;

        public GruCell()
        {
            ofInput = AddChildBlock("input", new Linear(3 * NumHiddens));
            ofState = AddChildBlock("state", new Linear(3 * NumHiddens));
        }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray state = inputs[1];
            NDList x = ofInput.Forward(ps, new NDList(inputs[0]), training).Head.Split(3, -1);
            NDList h = ofState.Forward(ps, new NDList(state), training).Head.Split(3, -1);
            NDArray reset = (x[0] + h[0]).Sigmoid();
            NDArray update = (x[1] + h[1]).Sigmoid();
            NDArray candidate = (x[2] + (reset * h[2])).Tanh();
            return new NDList((update * state) + ((1 - update) * candidate));
        }

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            ofInput.Initialize(manager, dataType, inputShapes[0]);
            ofState.Initialize(manager, dataType, inputShapes[1]);
        }
    }

    /// <summary>Of ids (B, S): the states of all steps (B, S, H).</summary>
    private sealed class Encoder : AbstractBlock
    {
        private readonly Embedding embedding;
        private readonly GruCell cell;

        public Encoder()
        {
            embedding = AddChildBlock("embedding", NewEmbedding());
            cell = AddChildBlock("cell", new GruCell());
        }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray x = embedding.Forward(ps, inputs, training).Head;
            NDArray state = x.Manager.Zeros(new Shape(x.GetSize(0), NumHiddens));
            var states = new NDList();
            for (int step = 0; step < x.GetSize(1); step++)
            {
                state = cell.Forward(ps, new NDList(x[.., step], state), training).Head;
                states.Add(state);
            }
            return new NDList(NDArrays.Stack(states, 1));
        }

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            long batch = inputShapes[0]![0];
            embedding.Initialize(manager, dataType, inputShapes[0]);
            cell.Initialize(manager, dataType, new Shape(batch, EmbeddingSize), new Shape(batch, NumHiddens));
        }
    }

    /// <summary>Of ids (B, T), the encoder's states (B, S, H), their valid lengths (B) and a state (B, H): the logits
    /// of the next tokens (B, T, tokens), the state after the last step, and what each step attended to (B, T,
    /// S).</summary>
    private sealed class AttentionDecoder : AbstractBlock
    {
        private readonly Embedding embedding;
        private readonly AdditiveAttention attention;
        private readonly GruCell cell;
        private readonly Linear dense;

        public AttentionDecoder()
        {
            embedding = AddChildBlock("embedding", NewEmbedding());
            attention = AddChildBlock("attention", new AdditiveAttention(NumHiddens, 0.1f)); // No dropout at inference.
            cell = AddChildBlock("cell", new GruCell());
            dense = AddChildBlock("dense", new Linear(NumTokens));
        }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray memory = inputs[1];
            NDArray validLens = inputs[2];
            NDArray state = inputs[3];
            NDArray x = embedding.Forward(ps, new NDList(inputs[0]), training).Head;
            var states = new NDList();
            var weights = new NDList();
            for (int step = 0; step < x.GetSize(1); step++)
            {
                var query = new NDList(state.ExpandDims(1), memory, memory, validLens);
                NDArray context = attention.Forward(ps, query, training).Head.Squeeze(1);
                weights.Add(attention.AttentionWeights!.Duplicate()); // The next step frees them.
                NDArray input = context.Concat(x[.., step], -1);
                state = cell.Forward(ps, new NDList(input, state), training).Head;
                states.Add(state);
            }
            NDArray logits = dense.Forward(ps, new NDList(NDArrays.Stack(states, 1)), training).Head;
            return new NDList(logits, state, NDArrays.Concat(weights, 1));
        }

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            Shape? memory = inputShapes[1];
            Shape? state = inputShapes[3];
            long batch = state![0];
            embedding.Initialize(manager, dataType, inputShapes[0]);
            attention.Initialize(manager, dataType, new Shape(batch, 1, NumHiddens), memory, memory);
            cell.Initialize(manager, dataType, new Shape(batch, NumHiddens + EmbeddingSize), state);
            dense.Initialize(manager, dataType, state);
        }
    }
}
