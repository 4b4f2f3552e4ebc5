// SPDX-License-Identifier: Apache-2.0
import io.heed.Block;
import io.heed.DataType;
import io.heed.NDArray;
import io.heed.NDArrays;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.Shape;

import java.util.Arrays;
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
    private static final int NUM_STEPS = 6;
    private static final int BEGIN = 1; // The token before the first one.

    public static void main(String[] args) {
        System.exit(run() ? 0 : 1);
    }

    /** Returns whether both give the same but for roundings. */
    private static boolean run() {
        try (NDManager manager = NDManager.newBaseManager();
                ComposedTransformer.Encoder encoder = new ComposedTransformer.Encoder(manager, NUM_TOKENS);
                ComposedTransformer.Decoder decoder = new ComposedTransformer.Decoder(manager, NUM_TOKENS)) {
            NDArray sources = manager.create(new int[][] {{5, 11, 2, 9, 17, 3}, {8, 4, 20, 6, 0, 0}});
            NDArray validLens = manager.create(new int[] {6, 4});
            NDArray begins = manager.full(new Shape(2, 1), BEGIN, DataType.INT64);
            encoder.setSeed(59); // A program's weights: load.
            encoder.initialize(manager, DataType.FLOAT32, sources.getShape(), validLens.getShape());
            decoder.setSeed(59);
            Shape memoryShape = new Shape(2, 6, ComposedTransformer.NUM_HIDDENS);
            decoder.initialize(
                    manager, DataType.FLOAT32, begins.getShape(), memoryShape, validLens.getShape());

            NDArray memory = encoder.forward(sources, validLens).head();
            float ofEncoder;
            try (Block heeds = HeedsTransformer.encoder(encoder)) {
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
            try (Block heeds = HeedsTransformer.decoder(decoder)) {
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
            ComposedTransformer.Decoder decoder, NDArray memory, NDArray validLens, NDArray begins, NDList logits) {
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
