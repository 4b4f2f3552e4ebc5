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

import java.util.Locale;

/**
 * Bahdanau's attention of "Dive into Deep Learning", a chapter that d2l-java does not have: a decoder whose state, at
 * each step, asks an additive attention which of the encoder's outputs it needs. Encoder and decoder are recurrent; their
 * cell is put together of two linear layers and arithmetic.
 *
 * <pre>
 * run bahdanau
 * </pre>
 */
public class BahdanauExample {
    private static final int NUM_TOKENS = 20;
    private static final int EMBEDDING_SIZE = 8;
    private static final int NUM_HIDDENS = 16;

    /** A gated recurrent unit (Cho et al., 2014): of an input (B, E) and a state (B, H) the next state. */
    static class GruCell extends AbstractBlock {
        private final Linear ofInput =
                addChildBlock("input", Linear.builder().setUnits(3 * NUM_HIDDENS).build());
        private final Linear ofState =
                addChildBlock("state", Linear.builder().setUnits(3 * NUM_HIDDENS).build());

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

    /** Of ids (B, S): the states of all steps (B, S, H). */
    static class Encoder extends AbstractBlock {
        private final Embedding embedding = addChildBlock("embedding", embedding());
        private final GruCell cell = addChildBlock("cell", new GruCell());

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray x = embedding.forward(ps, inputs, training).head();
            NDArray state = x.getManager().zeros(new Shape(x.size(0), NUM_HIDDENS));
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
            cell.initialize(manager, dataType, new Shape(batch, EMBEDDING_SIZE), new Shape(batch, NUM_HIDDENS));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(NUM_HIDDENS)};
        }
    }

    /**
     * Of ids (B, T), the encoder's states (B, S, H), their valid lengths (B) and a state (B, H): the logits of the next
     * tokens (B, T, tokens), the state after the last step, and what each step attended to (B, T, S).
     */
    static class AttentionDecoder extends AbstractBlock {
        private final Embedding embedding = addChildBlock("embedding", embedding());
        private final AdditiveAttention attention =
                addChildBlock("attention", new AdditiveAttention(NUM_HIDDENS, 0.1f)); // No dropout at inference.
        private final GruCell cell = addChildBlock("cell", new GruCell());
        private final Linear dense =
                addChildBlock("dense", Linear.builder().setUnits(NUM_TOKENS).build());

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray memory = inputs.get(1);
            NDArray validLens = inputs.get(2);
            NDArray state = inputs.get(3);
            NDArray x = embedding.forward(ps, new NDList(inputs.get(0)), training).head();
            NDList states = new NDList();
            NDList weights = new NDList();
            for (int step = 0; step < x.size(1); step++) {
                NDList query = new NDList(state.expandDims(1), memory, memory, validLens);
                NDArray context = attention.forward(ps, query, training).head().squeeze(1);
                weights.add(attention.attentionWeights.duplicate()); // The next step frees them.
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
            Shape state = inputShapes[3];
            long batch = state.get(0);
            embedding.initialize(manager, dataType, inputShapes[0]);
            attention.initialize(manager, dataType, new Shape(batch, 1, NUM_HIDDENS), memory, memory);
            cell.initialize(manager, dataType, new Shape(batch, NUM_HIDDENS + EMBEDDING_SIZE), state);
            dense.initialize(manager, dataType, state);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            Shape ids = inputShapes[0];
            return new Shape[] {ids.add(NUM_TOKENS), inputShapes[3], ids.add(inputShapes[1].get(1))};
        }
    }

    private static Embedding embedding() {
        return Embedding.builder()
                .setNumEmbeddings(NUM_TOKENS)
                .setEmbeddingSize(EMBEDDING_SIZE)
                .build();
    }

    public static void main(String[] args) {
        System.exit(run() ? 0 : 1);
    }

    /** Returns whether two calls, of which the second one carries on the state, give what one call gives. */
    private static boolean run() {
        try (NDManager manager = NDManager.newBaseManager();
                Encoder encoder = new Encoder();
                AttentionDecoder decoder = new AttentionDecoder()) {
            NDArray sources = manager.create(new int[][] {{5, 11, 2, 9, 17, 3}, {8, 4, 19, 6, 0, 0}});
            NDArray validLens = manager.create(new int[] {6, 4});
            NDArray targets = manager.create(new int[][] {{1, 7, 12, 4}, {1, 15, 3, 3}});
            Shape stateShape = new Shape(2, NUM_HIDDENS);
            encoder.setSeed(42); // A program's weights: load.
            encoder.initialize(manager, DataType.FLOAT32, sources.getShape());
            NDArray memory = encoder.forward(sources).head();
            decoder.setSeed(43);
            decoder.initialize(
                    manager, DataType.FLOAT32, targets.getShape(), memory.getShape(), validLens.getShape(), stateShape);

            NDArray state = memory.get(":, -1");
            NDList all = decoder.forward(targets, memory, validLens, state);
            System.out.println("logits " + all.get(0).getShape() + ", state " + all.get(1).getShape());
            for (int i = 0; i < 2; i++) {
                System.out.println("sentence " + i + ": what each step attends to");
                for (int step = 0; step < targets.size(1); step++) {
                    StringBuilder line = new StringBuilder();
                    for (float weight : all.get(2).get(i, step).toFloatArray()) {
                        line.append(String.format(Locale.ROOT, " %.3f", weight));
                    }
                    System.out.println(" " + line);
                }
            }

            NDList first = decoder.forward(targets.get(":, :1"), memory, validLens, state);
            NDList rest = decoder.forward(targets.get(":, 1:"), memory, validLens, first.get(1));
            boolean isSame = rest.get(1).contentEquals(all.get(1))
                    && first.get(0).concat(rest.get(0), 1).contentEquals(all.get(0));
            System.out.println("in two calls with the state carried on: " + (isSame ? "the same bits" : "OTHER bits"));
            return isSame;
        }
    }
}
