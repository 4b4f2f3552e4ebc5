// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.Causal;
import io.heed.DataType;
import io.heed.Embedding;
import io.heed.FeedForward;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDManager;
import io.heed.OutputOptions;
import io.heed.Pair;
import io.heed.Parameter;
import io.heed.PositionalEncoding;
import io.heed.Shape;
import io.heed.Transformer;
import io.heed.TransformerDecoder;
import io.heed.TransformerDecoderBlock;
import io.heed.TransformerEncoder;
import io.heed.TransformerEncoderBlock;

import java.util.Arrays;

/** A small Transformer that learns sequences, and what it writes on its own. */
final class SequenceLearner {
    private static final int NUM_HIDDENS = 32;
    private static final int NUM_HEADS = 4;
    private static final int HIDDEN_SIZE = 64;

    private SequenceLearner() {}

    /** One encoder layer and one decoder layer of size 32, with four heads and random parameters. */
    static Transformer newTransformer(NDManager manager) {
        PositionalEncoding.Builder positions = PositionalEncoding.builder().setMaxLen(Sequences.MAX_ROWS);
        Transformer transformer = Transformer.builder()
                .setEncoder(TransformerEncoder.builder()
                        .setLayer(TransformerEncoderBlock.builder()
                                .setAttention(attention(Causal.NONE))
                                .setFeedForward(feedForward()))
                        .setNumLayers(1)
                        .optPositions(positions))
                .setDecoder(TransformerDecoder.builder()
                        .setLayer(TransformerDecoderBlock.builder()
                                .setSelfAttention(attention(Causal.BOTTOM_RIGHT))
                                .optCrossAttention(attention(Causal.NONE))
                                .setFeedForward(feedForward()))
                        .setNumLayers(1)
                        .optPositions(positions))
                // Of both, which read the same tokens.
                .optEmbedding(Embedding.builder()
                        .setNumEmbeddings(Sequences.NUM_TOKENS)
                        .setEmbeddingSize(NUM_HIDDENS)
                        .optScale((float) Math.sqrt(NUM_HIDDENS)))
                .optOutput(OutputOptions.builder()
                        .setSize(Sequences.NUM_TOKENS)
                        .optBias(true)
                        .build())
                .build();
        initialize(manager, transformer);
        return transformer;
    }

    private static MultiHeadAttention.Builder attention(Causal causal) {
        return MultiHeadAttention.builder()
                .setNumHiddens(NUM_HIDDENS)
                .setNumHeads(NUM_HEADS)
                .optCausal(causal);
    }

    private static FeedForward.Builder feedForward() {
        return FeedForward.builder().setHiddenSize(HIDDEN_SIZE);
    }

    /**
     * New parameters: biases of 0, weights of norms of 1, and random matrices. A matrix of c columns is drawn uniformly
     * from -1 / sqrt(c) to 1 / sqrt(c), as PyTorch's linear layers begin. Such numbers are smaller than those of
     * initialize, with which the first attention would see hardly more than one key.
     */
    private static void initialize(NDManager manager, Transformer transformer) {
        transformer.initialize(
                manager,
                DataType.FLOAT32,
                new Shape(1, Sequences.MAX_ROWS),
                new Shape(1, Sequences.MAX_SYMBOLS),
                new Shape(1));
        int seed = 0;
        for (Pair<String, Parameter> pair : transformer.getParameters()) {
            Parameter parameter = pair.getValue();
            Shape shape = parameter.getShape();
            seed++;
            if (shape.dimension() == 2) {
                float bound = (float) (1 / Math.sqrt(shape.get(1)));
                manager.setSeed(seed);
                parameter.setArray(manager.randomUniform(-bound, bound, shape));
            }
        }
    }

    /**
     * The share of sequences that the Transformer writes without a mistake, the end included. It writes each greedily: the
     * most probable token is what it reads next.
     */
    static double shareWrittenRight(Transformer transformer, Sequences batch) {
        long[] written = writeGreedily(transformer, batch);
        long[] labels = batch.labels.toLongArray();
        long[] lengths = batch.targetLens.toLongArray();
        int numRight = 0;
        for (int n = 0; n < batch.numSequences; n++) {
            int begin = n * Sequences.MAX_ROWS;
            int end = begin + (int) lengths[n];
            numRight += Arrays.equals(written, begin, end, labels, begin, end) ? 1 : 0;
        }
        return (double) numRight / batch.numSequences;
    }

    /**
     * The tokens that the Transformer writes, (sequences, MAX_ROWS). The target's rows up to one decide the token that
     * follows it; rows behind it are computed in vain. A decoder with a cache computes each row once: see Translator.
     */
    private static long[] writeGreedily(Transformer transformer, Sequences batch) {
        NDArray memory =
                transformer.forward(new AttentionInputs().setKeys(batch.source).setValidLens(batch.sourceLens));
        long[] target = new long[batch.numSequences * Sequences.MAX_ROWS];
        long[] written = {};
        for (int n = 0; n < batch.numSequences; n++) {
            target[n * Sequences.MAX_ROWS] = Sequences.BEGIN;
        }
        for (int row = 0; row < Sequences.MAX_ROWS; row++) {
            try (NDManager sub = memory.getManager().newSubManager()) {
                AttentionInputs inputs = new AttentionInputs()
                        .setQueries(sub.create(target, batch.target.getShape()))
                        .setMemory(memory)
                        .setValidLens(batch.sourceLens);
                written = transformer.forward(inputs).argMax(2).toLongArray();
            }
            for (int n = 0; n < batch.numSequences && row + 1 < Sequences.MAX_ROWS; n++) {
                target[n * Sequences.MAX_ROWS + row + 1] = written[n * Sequences.MAX_ROWS + row];
            }
        }
        return written;
    }
}
