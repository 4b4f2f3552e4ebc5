// SPDX-License-Identifier: Apache-2.0
import io.heed.DataType;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
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
    private static final int NUM_HIDDENS = 16;

    public static void main(String[] args) {
        System.exit(run() ? 0 : 1);
    }

    /** Returns whether two calls, of which the second one carries on the state, give what one call gives. */
    private static boolean run() {
        try (NDManager manager = NDManager.newBaseManager();
                BahdanauBlocks.Encoder encoder = new BahdanauBlocks.Encoder(NUM_TOKENS, NUM_HIDDENS);
                BahdanauBlocks.AttentionDecoder decoder =
                        new BahdanauBlocks.AttentionDecoder(NUM_TOKENS, NUM_HIDDENS)) {
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
