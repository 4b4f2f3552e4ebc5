// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.AttentionOutputs;
import io.heed.DataType;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDManager;
import io.heed.Rope;
import io.heed.RopeLayout;
import io.heed.Shape;

/**
 * Self-attention of an encoder, with rotary positions, over sentences of different lengths: padded to the longest, and
 * packed one after another without padding. Both give the same bits; packed, no padding is computed.
 *
 * <pre>
 * run packed_encoder
 * </pre>
 */
public class PackedEncoderExample {
    private static final int NUM_HIDDENS = 64;
    private static final int LONGEST = 9;
    private static final int NUM_WORDS = 18;
    private static final int[] LENGTHS = {5, 1, 9, 3};
    /** Where each sentence begins in the packed words, and where the last one ends. */
    private static final int[] OFFSETS = {0, 5, 6, 15, 18};

    public static void main(String[] args) {
        System.exit(run() ? 0 : 1);
    }

    /** Returns whether both forms give the same. */
    private static boolean run() {
        MultiHeadAttention.Builder options = MultiHeadAttention.builder()
                .setNumHiddens(NUM_HIDDENS)
                .setNumHeads(4)
                .optRope(Rope.builder().setLayout(RopeLayout.HALF).build());
        try (NDManager manager = NDManager.newBaseManager();
                MultiHeadAttention attention = options.build()) {
            Shape shape = new Shape(LENGTHS.length, LONGEST, NUM_HIDDENS);
            attention.initialize(manager, DataType.FLOAT32, shape, shape, shape); // A program's weights: load.
            NDArray words = manager.randomNormal(new Shape(NUM_WORDS, NUM_HIDDENS)); // A program's embeddings.

            // Keys and values are those of the queries.
            NDArray ofPadded = forward(attention, new AttentionInputs()
                    .setQueries(padded(words))
                    .setValidLens(manager.create(LENGTHS)));
            int numRows = LENGTHS.length * LONGEST;
            System.out.println("padded: " + numRows + " rows, " + (numRows - NUM_WORDS) + " of them padding");

            NDArray ofPacked = forward(attention, new AttentionInputs()
                    .setQueries(words)
                    .setQueryOffsets(manager.create(OFFSETS)));
            System.out.println("packed: " + NUM_WORDS + " rows");

            boolean isSame = true;
            for (int b = 0; b < LENGTHS.length; b++) {
                NDArray sentence = ofPacked.slice(0, OFFSETS[b], LENGTHS[b]);
                isSame &= ofPadded.get(b).slice(0, 0, LENGTHS[b]).contentEquals(sentence);
            }
            System.out.println("the rows of words have " + (isSame ? "the same" : "DIFFERENT") + " bits");
            return isSame;
        }
    }

    /** The words of each sentence at the beginning of its rows; zeros behind them. */
    private static NDArray padded(NDArray words) {
        NDArray rows = words.getManager().zeros(new Shape(LENGTHS.length, LONGEST, NUM_HIDDENS));
        for (int b = 0; b < LENGTHS.length; b++) {
            words.slice(0, OFFSETS[b], LENGTHS[b]).copyTo(rows.get(b).slice(0, 0, LENGTHS[b]));
        }
        return rows;
    }

    private static NDArray forward(MultiHeadAttention attention, AttentionInputs inputs) {
        AttentionOutputs outputs = attention.createOutputs(inputs);
        attention.forward(inputs, outputs, null);
        return outputs.getOutput();
    }
}
