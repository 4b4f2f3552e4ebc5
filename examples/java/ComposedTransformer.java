// SPDX-License-Identifier: Apache-2.0
import io.heed.AbstractBlock;
import io.heed.Activation;
import io.heed.Block;
import io.heed.DataType;
import io.heed.Dropout;
import io.heed.Embedding;
import io.heed.LayerNorm;
import io.heed.Linear;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.PairList;
import io.heed.ParameterStore;
import io.heed.PositionalEncoding;
import io.heed.Shape;

import java.util.ArrayList;
import java.util.List;

/** The Transformer of "Dive into Deep Learning" put together of heed's parts and arithmetic: its encoder and decoder. */
final class ComposedTransformer {
    static final int NUM_HIDDENS = 32;
    static final int HIDDEN_SIZE = 64;
    private static final int NUM_HEADS = 4;
    static final int NUM_BLOCKS = 2;
    static final int MAX_LEN = 100;
    private static final float DROPOUT = 0.1f; // Off at inference.

    private ComposedTransformer() {}

    /** A block whose output has the shape of its first input. */
    abstract static class Part extends AbstractBlock {
        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0]};
        }

        static NDArray call(Block block, ParameterStore ps, boolean training, NDArray... inputs) {
            return block.forward(ps, new NDList(inputs), training).head();
        }
    }

    /** The norm of x + dropout(y). */
    static class AddNorm extends Part {
        final LayerNorm norm = addChildBlock("norm", LayerNorm.builder().build());
        private final Dropout dropout =
                addChildBlock("dropout", Dropout.builder().optRate(DROPOUT).build());

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray y = call(dropout, ps, training, inputs.get(1));
            return norm.forward(ps, new NDList(inputs.get(0).add(y)), training, params);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            norm.initialize(manager, dataType, inputShapes[0]);
            dropout.initialize(manager, dataType, inputShapes[0]);
        }
    }

    /** Two linear layers with a ReLU between them, applied to each position alike. */
    static class PositionWiseFFN extends Part {
        final Linear dense1 =
                addChildBlock("dense1", Linear.builder().setUnits(HIDDEN_SIZE).build());
        final Linear dense2 =
                addChildBlock("dense2", Linear.builder().setUnits(NUM_HIDDENS).build());

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray hidden = Activation.relu(call(dense1, ps, training, inputs.head()));
            return dense2.forward(ps, new NDList(hidden), training, params);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            dense1.initialize(manager, dataType, inputShapes[0]);
            dense2.initialize(manager, dataType, dense1.getOutputShapes(new Shape[] {inputShapes[0]}));
        }
    }

    /** Of rows and the valid lengths: self-attention and a feed-forward network, each with a residual and a norm. */
    static class EncoderBlock extends Part {
        final MultiHeadAttention attention = addChildBlock("attention", attention().build());
        final AddNorm addNorm1 = addChildBlock("addnorm1", new AddNorm());
        final PositionWiseFFN ffn = addChildBlock("ffn", new PositionWiseFFN());
        final AddNorm addNorm2 = addChildBlock("addnorm2", new AddNorm());

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray x = inputs.get(0);
            NDArray y = call(addNorm1, ps, training, x, call(attention, ps, training, x, x, x, inputs.get(1)));
            return addNorm2.forward(ps, new NDList(y, call(ffn, ps, training, y)), training, params);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            Shape rows = inputShapes[0];
            attention.initialize(manager, dataType, rows, rows, rows);
            for (Block block : List.of(addNorm1, ffn, addNorm2)) {
                block.initialize(manager, dataType, rows);
            }
        }
    }

    /** Of ids and the valid lengths: the rows of words at their positions, through the encoder's blocks. */
    static class Encoder extends AbstractBlock {
        final Embedding embedding;
        final List<EncoderBlock> blocks = new ArrayList<>();
        private final PositionalEncoding positions;
        final int numTokens;

        Encoder(NDManager manager, int numTokens) {
            this.numTokens = numTokens;
            embedding = addChildBlock("embedding", embedding(numTokens).build());
            positions = addChildBlock("positions", new PositionalEncoding(NUM_HIDDENS, DROPOUT, MAX_LEN, manager));
            for (int i = 0; i < NUM_BLOCKS; i++) {
                blocks.add(addChildBlock("block", new EncoderBlock()));
            }
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray x = Part.call(embedding, ps, training, inputs.get(0)).mul(Math.sqrt(NUM_HIDDENS));
            x = Part.call(positions, ps, training, x);
            for (EncoderBlock block : blocks) {
                x = Part.call(block, ps, training, x, inputs.get(1));
            }
            return new NDList(x);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            embedding.initialize(manager, dataType, inputShapes[0]);
            for (EncoderBlock block : blocks) {
                block.initialize(manager, dataType, getOutputShapes(inputShapes));
            }
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(NUM_HIDDENS)};
        }
    }

    /**
     * Of rows, the encoder's output, its valid lengths and, but for the first step, the rows of the steps before: the
     * output, and the rows of all steps.
     */
    static class DecoderBlock extends Part {
        final MultiHeadAttention attention1 = addChildBlock("attention1", attention().build());
        final AddNorm addNorm1 = addChildBlock("addnorm1", new AddNorm());
        final MultiHeadAttention attention2 = addChildBlock("attention2", attention().build());
        final AddNorm addNorm2 = addChildBlock("addnorm2", new AddNorm());
        final PositionWiseFFN ffn = addChildBlock("ffn", new PositionWiseFFN());
        final AddNorm addNorm3 = addChildBlock("addnorm3", new AddNorm());

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray x = inputs.get(0);
            NDArray memory = inputs.get(1);
            NDArray rows = inputs.size() > 3 ? inputs.get(3).concat(x, 1) : x;
            // A row sees those of the steps before, and those of x up to itself.
            int numBefore = (int) (rows.size(1) - x.size(1));
            NDArray visible = x.getManager()
                    .arange(numBefore + 1, (int) rows.size(1) + 1)
                    .broadcast(x.size(0), x.size(1));
            NDArray y = call(addNorm1, ps, training, x, call(attention1, ps, training, x, rows, rows, visible));
            NDArray attended = call(attention2, ps, training, y, memory, memory, inputs.get(2));
            NDArray z = call(addNorm2, ps, training, y, attended);
            return new NDList(call(addNorm3, ps, training, z, call(ffn, ps, training, z)), rows);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            Shape rows = inputShapes[0];
            Shape memory = inputShapes[1];
            attention1.initialize(manager, dataType, rows, rows, rows);
            attention2.initialize(manager, dataType, rows, memory, memory);
            for (Block block : List.of(addNorm1, addNorm2, ffn, addNorm3)) {
                block.initialize(manager, dataType, rows);
            }
        }
    }

    /**
     * Of ids, the encoder's output, its valid lengths and, but for the first step, each block's rows of the steps
     * before: the logits of the next token, and each block's rows.
     */
    static class Decoder extends AbstractBlock {
        final Embedding embedding;
        final List<DecoderBlock> blocks = new ArrayList<>();
        final Linear dense;
        private final PositionalEncoding positions;
        final int numTokens;

        Decoder(NDManager manager, int numTokens) {
            this.numTokens = numTokens;
            embedding = addChildBlock("embedding", embedding(numTokens).build());
            for (int i = 0; i < NUM_BLOCKS; i++) {
                blocks.add(addChildBlock("block", new DecoderBlock()));
            }
            dense = addChildBlock("dense", Linear.builder().setUnits(numTokens).build());
            positions = addChildBlock("positions", new PositionalEncoding(NUM_HIDDENS, DROPOUT, MAX_LEN, manager));
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDList before = inputs.subNDList(3);
            NDArray x = Part.call(embedding, ps, training, inputs.get(0)).mul(Math.sqrt(NUM_HIDDENS));
            long numBefore = before.isEmpty() ? 0 : before.head().size(1);
            x = x.add(positions.P.get(":, {}:{}, :", numBefore, numBefore + x.size(1)));
            NDList results = new NDList();
            for (int i = 0; i < blocks.size(); i++) {
                NDList ofBlock = new NDList(x, inputs.get(1), inputs.get(2));
                if (!before.isEmpty()) {
                    ofBlock.add(before.get(i));
                }
                NDList result = blocks.get(i).forward(ps, ofBlock, training, params);
                x = result.get(0);
                results.add(result.get(1));
            }
            results.add(0, Part.call(dense, ps, training, x));
            return results;
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            Shape rows = inputShapes[0].add(NUM_HIDDENS);
            embedding.initialize(manager, dataType, inputShapes[0]);
            for (DecoderBlock block : blocks) {
                block.initialize(manager, dataType, rows, inputShapes[1], inputShapes[2]);
            }
            dense.initialize(manager, dataType, rows);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(numTokens)};
        }
    }

    static MultiHeadAttention.Builder attention() {
        return MultiHeadAttention.builder().setNumHiddens(NUM_HIDDENS).setNumHeads(NUM_HEADS).optDropout(DROPOUT);
    }

    static Embedding.Builder embedding(int numTokens) {
        return Embedding.builder().setNumEmbeddings(numTokens).setEmbeddingSize(NUM_HIDDENS);
    }
}
