// SPDX-License-Identifier: Apache-2.0
using Heed;

/// <summary>The parts of Bahdanau's encoder and decoder, both of which are recurrent: their cell is put together of two
/// linear layers and arithmetic. Embeddings have half the size H of a state.</summary>
internal static class BahdanauBlocks
{
    private const float DropoutRate = 0.1f; // Off at inference.

    private static Embedding NewEmbedding(int numTokens, int numHiddens) =>
        new(new EmbeddingOptions { NumEmbeddings = numTokens, EmbeddingSize = numHiddens / 2 });

    /// <summary>A gated recurrent unit (Cho et al., 2014): of an input (B, E) and a state (B, H) the next
    /// state.</summary>
    internal sealed class GruCell : AbstractBlock
    {
        private readonly Linear ofInput;
        private readonly Linear ofState;

        public GruCell(int numHiddens)
        {
            ofInput = AddChildBlock("input", new Linear(3 * numHiddens));
            ofState = AddChildBlock("state", new Linear(3 * numHiddens));
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

    /// <summary>Of ids (B, S): the states of all steps (B, S, H). What else the list has is not read.</summary>
    internal sealed class Encoder : AbstractBlock
    {
        private readonly int numHiddens;
        private readonly Embedding embedding;
        private readonly GruCell cell;

        public Encoder(int numTokens, int numHiddens)
        {
            this.numHiddens = numHiddens;
            embedding = AddChildBlock("embedding", NewEmbedding(numTokens, numHiddens));
            cell = AddChildBlock("cell", new GruCell(numHiddens));
        }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray x = embedding.Forward(ps, new NDList(inputs[0]), training).Head;
            NDArray state = x.Manager.Zeros(new Shape(x.GetSize(0), numHiddens));
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
            cell.Initialize(manager, dataType, new Shape(batch, numHiddens / 2), new Shape(batch, numHiddens));
        }
    }

    /// <summary>Of ids (B, T), the encoder's states (B, S, H), their valid lengths (B) and a state (B, H), without which the
    /// last of the encoder's begins: the logits of the next tokens (B, T, tokens), the state after the last step, and what
    /// each step attended to (B, T, S).</summary>
    internal sealed class AttentionDecoder : AbstractBlock
    {
        private readonly int numHiddens;
        private readonly Embedding embedding;
        private readonly AdditiveAttention attention;
        private readonly GruCell cell;
        private readonly Linear dense;

        public AttentionDecoder(int numTokens, int numHiddens)
        {
            this.numHiddens = numHiddens;
            embedding = AddChildBlock("embedding", NewEmbedding(numTokens, numHiddens));
            attention = AddChildBlock("attention", new AdditiveAttention(numHiddens, DropoutRate));
            cell = AddChildBlock("cell", new GruCell(numHiddens));
            dense = AddChildBlock("dense", new Linear(numTokens));
        }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray memory = inputs[1];
            NDArray validLens = inputs[2];
            NDArray state = inputs.Count > 3 ? inputs[3] : memory[.., ^1];
            NDArray x = embedding.Forward(ps, new NDList(inputs[0]), training).Head;
            var states = new NDList();
            var weights = new NDList();
            for (int step = 0; step < x.GetSize(1); step++)
            {
                var query = new NDList(state.ExpandDims(1), memory, memory, validLens);
                NDArray context = attention.Forward(ps, query, training).Head.Squeeze(1);

                // A copy, since the next step frees them. Nothing is learned through them.
                weights.Add(attention.AttentionWeights!.StopGradient().Duplicate());
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
            long batch = inputShapes[0]![0];
            var state = new Shape(batch, numHiddens);
            embedding.Initialize(manager, dataType, inputShapes[0]);
            attention.Initialize(manager, dataType, new Shape(batch, 1, numHiddens), memory, memory);
            cell.Initialize(manager, dataType, new Shape(batch, numHiddens + (numHiddens / 2)), state);
            dense.Initialize(manager, dataType, state);
        }
    }
}
