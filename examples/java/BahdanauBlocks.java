// SPDX-License-Identifier: Apache-2.0
import io.heed.AbstractBlock;
import io.heed.AdditiveAttention;
import io.heed.DataType;
import io.heed.Embedding;
import io.heed.Linear;
import io.heed.NDArray;
import io.heed.NDArrays;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.PairList;
import io.heed.ParameterStore;
import io.heed.Shape;

/**
 * The parts of Bahdanau's encoder and decoder, both of which are recurrent: their cell is put together of two linear layers
 * and arithmetic. Embeddings have half the size H of a state.
 */
final class BahdanauBlocks {
    private static final float DROPOUT = 0.1f; // Off at inference.

    private BahdanauBlocks() {}

    /** A gated recurrent unit (Cho et al., 2014): of an input (B, E) and a state (B, H) the next state. */
    static class GruCell extends AbstractBlock {
        private final Linear ofInput;
        private final Linear ofState;

        GruCell(int numHiddens) {
            ofInput = addChildBlock("input", Linear.builder().setUnits(3 * numHiddens).build());
            ofState = addChildBlock("state", Linear.builder().setUnits(3 * numHiddens).build());
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray state = inputs.get(1);
            NDList x = ofInput.forward(ps, new NDList(inputs.get(0)), training).head().split(3, -1);
            NDList h = ofState.forward(ps, new NDList(state), training).head().split(3, -1);
            NDArray reset = x.get(0).add(h.get(0)).sigmoid();
            NDArray update = x.get(1).add(h.get(1)).sigmoid();
            NDArray candidate = x.get(2).add(reset.mul(h.get(2))).tanh();
            // update * state + (1 - update) * candidate
            return new NDList(candidate.add(update.mul(state.sub(candidate))));
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            ofInput.initialize(manager, dataType, inputShapes[0]);
            ofState.initialize(manager, dataType, inputShapes[1]);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[1]};
        }
    }

    /** Of ids (B, S): the states of all steps (B, S, H). What else the list has is not read. */
    static class Encoder extends AbstractBlock {
        private final int numHiddens;
        private final Embedding embedding;
        private final GruCell cell;

        Encoder(int numTokens, int numHiddens) {
            this.numHiddens = numHiddens;
            embedding = addChildBlock("embedding", embedding(numTokens, numHiddens));
            cell = addChildBlock("cell", new GruCell(numHiddens));
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray x = embedding.forward(ps, new NDList(inputs.get(0)), training).head();
            NDArray state = x.getManager().zeros(new Shape(x.size(0), numHiddens));
            NDList states = new NDList();
            for (int step = 0; step < x.size(1); step++) {
                state = cell.forward(ps, new NDList(x.get(":, {}", step), state), training).head();
                states.add(state);
            }
            return new NDList(NDArrays.stack(states, 1));
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            long batch = inputShapes[0].get(0);
            embedding.initialize(manager, dataType, inputShapes[0]);
            cell.initialize(manager, dataType, new Shape(batch, numHiddens / 2), new Shape(batch, numHiddens));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(numHiddens)};
        }
    }

    /**
     * Of ids (B, T), the encoder's states (B, S, H), their valid lengths (B) and a state (B, H), without which the last of
     * the encoder's begins: the logits of the next tokens (B, T, tokens), the state after the last step, and what each step
     * attended to (B, T, S).
     */
    static class AttentionDecoder extends AbstractBlock {
        final AdditiveAttention attention;
        private final int numTokens;
        private final int numHiddens;
        private final Embedding embedding;
        private final GruCell cell;
        private final Linear dense;

        AttentionDecoder(int numTokens, int numHiddens) {
            this.numTokens = numTokens;
            this.numHiddens = numHiddens;
            embedding = addChildBlock("embedding", embedding(numTokens, numHiddens));
            attention = addChildBlock("attention", new AdditiveAttention(numHiddens, DROPOUT));
            cell = addChildBlock("cell", new GruCell(numHiddens));
            dense = addChildBlock("dense", Linear.builder().setUnits(numTokens).build());
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray memory = inputs.get(1);
            NDArray validLens = inputs.get(2);
            NDArray state = inputs.size() > 3 ? inputs.get(3) : memory.get(":, -1");
            NDArray x = embedding.forward(ps, new NDList(inputs.get(0)), training).head();
            NDList states = new NDList();
            NDList weights = new NDList();
            for (int step = 0; step < x.size(1); step++) {
                NDList query = new NDList(state.expandDims(1), memory, memory, validLens);
                NDArray context = attention.forward(ps, query, training).head().squeeze(1);
                // A copy, since the next step frees them. Nothing is learned through them.
                weights.add(attention.attentionWeights.stopGradient().duplicate());
                NDArray input = context.concat(x.get(":, {}", step), -1);
                state = cell.forward(ps, new NDList(input, state), training).head();
                states.add(state);
            }
            NDArray logits = dense.forward(ps, new NDList(NDArrays.stack(states, 1)), training).head();
            return new NDList(logits, state, NDArrays.concat(weights, 1));
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            Shape memory = inputShapes[1];
            long batch = inputShapes[0].get(0);
            Shape state = new Shape(batch, numHiddens);
            embedding.initialize(manager, dataType, inputShapes[0]);
            attention.initialize(manager, dataType, new Shape(batch, 1, numHiddens), memory, memory);
            cell.initialize(manager, dataType, new Shape(batch, numHiddens + numHiddens / 2), state);
            dense.initialize(manager, dataType, state);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            Shape ids = inputShapes[0];
            Shape state = new Shape(ids.get(0), numHiddens);
            return new Shape[] {ids.add(numTokens), state, ids.add(inputShapes[1].get(1))};
        }
    }

    private static Embedding embedding(int numTokens, int numHiddens) {
        return Embedding.builder()
                .setNumEmbeddings(numTokens)
                .setEmbeddingSize(numHiddens / 2)
                .build();
    }
}
