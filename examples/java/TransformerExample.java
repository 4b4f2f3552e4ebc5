// SPDX-License-Identifier: Apache-2.0
import io.heed.AbstractBlock;
import io.heed.Activation;
import io.heed.Block;
import io.heed.Causal;
import io.heed.DataType;
import io.heed.Dropout;
import io.heed.Embedding;
import io.heed.FeedForward;
import io.heed.LayerNorm;
import io.heed.Linear;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDArrays;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.OutputOptions;
import io.heed.Pair;
import io.heed.PairList;
import io.heed.Parameter;
import io.heed.ParameterStore;
import io.heed.PositionalEncoding;
import io.heed.Shape;
import io.heed.TransformerDecoderBlock;
import io.heed.TransformerEncoderBlock;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The Transformer of "Dive into Deep Learning", a chapter that d2l-java does not have, put together of heed's parts and
 * arithmetic: an encoder, and a decoder that continues two sentences greedily, step by step. Beside them compute heed's
 * own encoder and decoder, with the same parameters.
 *
 * <pre>
 * run transformer
 * </pre>
 */
public class TransformerExample {
    private static final int NUM_TOKENS = 24;
    private static final int NUM_HIDDENS = 32;
    private static final int HIDDEN_SIZE = 64;
    private static final int NUM_HEADS = 4;
    private static final int NUM_BLOCKS = 2;
    private static final int MAX_LEN = 100;
    private static final int NUM_STEPS = 6;
    private static final float DROPOUT = 0.1f; // Off at inference.
    private static final int BEGIN = 1; // The token before the first one.

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
    static class TransformerEncoder extends AbstractBlock {
        final Embedding embedding = addChildBlock("embedding", embedding().build());
        final List<EncoderBlock> blocks = new ArrayList<>();
        private final PositionalEncoding positions;

        TransformerEncoder(NDManager manager) {
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
    static class TransformerDecoder extends AbstractBlock {
        final Embedding embedding = addChildBlock("embedding", embedding().build());
        final List<DecoderBlock> blocks = new ArrayList<>();
        final Linear dense;
        private final PositionalEncoding positions;

        TransformerDecoder(NDManager manager) {
            for (int i = 0; i < NUM_BLOCKS; i++) {
                blocks.add(addChildBlock("block", new DecoderBlock()));
            }
            dense = addChildBlock("dense", Linear.builder().setUnits(NUM_TOKENS).build());
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
            return new Shape[] {inputShapes[0].add(NUM_TOKENS)};
        }
    }

    private static MultiHeadAttention.Builder attention() {
        return MultiHeadAttention.builder().setNumHiddens(NUM_HIDDENS).setNumHeads(NUM_HEADS).optDropout(DROPOUT);
    }

    private static Embedding.Builder embedding() {
        return Embedding.builder().setNumEmbeddings(NUM_TOKENS).setEmbeddingSize(NUM_HIDDENS);
    }

    /** heed's encoder with the same options, and the parameters of ours. */
    private static Block heedsEncoder(TransformerEncoder ours) {
        Block encoder = io.heed.TransformerEncoder.builder()
                .setLayer(TransformerEncoderBlock.builder()
                        .setAttention(attention())
                        .setFeedForward(FeedForward.builder().setHiddenSize(HIDDEN_SIZE)))
                .setNumLayers(NUM_BLOCKS)
                .optEmbedding(embedding().optScale((float) Math.sqrt(NUM_HIDDENS)))
                .optPositions(PositionalEncoding.builder().setMaxLen(MAX_LEN))
                .build();
        give(ours.embedding, encoder, "embedding.");
        for (int i = 0; i < NUM_BLOCKS; i++) {
            EncoderBlock block = ours.blocks.get(i);
            String layer = "layers." + i + ".";
            give(block.attention, encoder, layer + "self_attention.");
            give(block.addNorm1.norm, encoder, layer + "norm_1.");
            give(block.ffn.dense1, encoder, layer + "feed_forward.W_1.");
            give(block.ffn.dense2, encoder, layer + "feed_forward.W_2.");
            give(block.addNorm2.norm, encoder, layer + "norm_2.");
        }
        return encoder;
    }

    private static Block heedsDecoder(TransformerDecoder ours) {
        Block decoder = io.heed.TransformerDecoder.builder()
                .setLayer(TransformerDecoderBlock.builder()
                        .setSelfAttention(attention().optCausal(Causal.BOTTOM_RIGHT))
                        .optCrossAttention(attention())
                        .setFeedForward(FeedForward.builder().setHiddenSize(HIDDEN_SIZE)))
                .setNumLayers(NUM_BLOCKS)
                .optEmbedding(embedding().optScale((float) Math.sqrt(NUM_HIDDENS)))
                .optPositions(PositionalEncoding.builder().setMaxLen(MAX_LEN))
                .optOutput(OutputOptions.builder().setSize(NUM_TOKENS).optBias(true).build())
                .build();
        give(ours.embedding, decoder, "embedding.");
        give(ours.dense, decoder, "output.");
        for (int i = 0; i < NUM_BLOCKS; i++) {
            DecoderBlock block = ours.blocks.get(i);
            String layer = "layers." + i + ".";
            give(block.attention1, decoder, layer + "self_attention.");
            give(block.addNorm1.norm, decoder, layer + "norm_1.");
            give(block.attention2, decoder, layer + "cross_attention.");
            give(block.addNorm2.norm, decoder, layer + "norm_2.");
            give(block.ffn.dense1, decoder, layer + "feed_forward.W_1.");
            give(block.ffn.dense2, decoder, layer + "feed_forward.W_2.");
            give(block.addNorm3.norm, decoder, layer + "norm_3.");
        }
        return decoder;
    }

    /** Sets the parameters of a whole whose names begin with the prefix to those of a part. */
    private static void give(Block part, Block whole, String prefix) {
        for (Pair<String, Parameter> parameter : part.getParameters()) {
            whole.getParameters()
                    .get(prefix + parameter.getKey())
                    .setArray(parameter.getValue().getArray());
        }
    }

    public static void main(String[] args) {
        System.exit(run() ? 0 : 1);
    }

    /** Returns whether both give the same but for roundings. */
    private static boolean run() {
        try (NDManager manager = NDManager.newBaseManager();
                TransformerEncoder encoder = new TransformerEncoder(manager);
                TransformerDecoder decoder = new TransformerDecoder(manager)) {
            NDArray sources = manager.create(new int[][] {{5, 11, 2, 9, 17, 3}, {8, 4, 20, 6, 0, 0}});
            NDArray validLens = manager.create(new int[] {6, 4});
            NDArray begins = manager.full(new Shape(2, 1), BEGIN, DataType.INT64);
            encoder.setSeed(59); // A program's weights: load.
            encoder.initialize(manager, DataType.FLOAT32, sources.getShape(), validLens.getShape());
            decoder.setSeed(59);
            Shape memoryShape = new Shape(2, 6, NUM_HIDDENS);
            decoder.initialize(
                    manager, DataType.FLOAT32, begins.getShape(), memoryShape, validLens.getShape());

            NDArray memory = encoder.forward(sources, validLens).head();
            float ofEncoder;
            try (Block heeds = heedsEncoder(encoder)) {
                ofEncoder = largestDifference(memory, heeds.forward(sources, validLens).head());
            }
            System.out.printf(
                    Locale.ROOT, "encoder: %s, largest difference to heed's encoder %.1e%n",
                    memory.getShape(), ofEncoder);

            NDList logits = new NDList();
            NDArray tokens = decodeGreedily(decoder, memory, validLens, begins, logits);
            for (int i = 0; i < 2; i++) {
                System.out.println("sentence " + i + ": tokens " + Arrays.toString(tokens.get(i).toLongArray()));
            }

            // heed's decoder reads the tokens of all steps in one call.
            NDArray read = begins.concat(tokens.get(":, :-1"), 1);
            NDArray ofSteps = NDArrays.concat(logits, 1);
            float ofDecoder;
            boolean sameTokens;
            try (Block heeds = heedsDecoder(decoder)) {
                NDArray ofCall = heeds.forward(read, memory, validLens).head();
                ofDecoder = largestDifference(ofSteps, ofCall);
                sameTokens = ofCall.argMax(-1).contentEquals(tokens);
            }
            System.out.printf(
                    Locale.ROOT, "decoder: %s, largest difference to heed's decoder %.1e; %s tokens%n",
                    ofSteps.getShape(), ofDecoder, sameTokens ? "the same" : "OTHER");
            return ofEncoder < 1e-5 && ofDecoder < 1e-5 && sameTokens; // False for NaN.
        }
    }

    /** Appends the token with the largest logit, again and again. Returns the tokens (2, steps). */
    private static NDArray decodeGreedily(
            TransformerDecoder decoder, NDArray memory, NDArray validLens, NDArray begins, NDList logits) {
        NDArray last = begins;
        NDList tokens = new NDList();
        NDList rows = new NDList();
        for (int step = 0; step < NUM_STEPS; step++) {
            NDList inputs = new NDList(last, memory, validLens).addAll(rows);
            NDList results = decoder.forward(inputs.toArray(new NDArray[0]));
            rows = results.subNDList(1);
            logits.add(results.head());
            last = results.head().argMax(-1);
            tokens.add(last);
        }
        return NDArrays.concat(tokens, 1);
    }

    private static float largestDifference(NDArray a, NDArray b) {
        return a.sub(b).abs().max().getFloat();
    }
}
