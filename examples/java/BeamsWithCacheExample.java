// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.AttentionOutputs;
import io.heed.CacheLayout;
import io.heed.Causal;
import io.heed.DataType;
import io.heed.KvCache;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDManager;
import io.heed.Rope;
import io.heed.RopeLayout;
import io.heed.Shape;

import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A decoder's attention with a cache of pages. The prompt is read once; then each step computes one row for each of two
 * beams, which share the pages of the prompt. One beam is dropped. The other is saved to a file, loaded into a cache
 * with pages of another size, and goes on in both with the same bits.
 *
 * <pre>
 * run beams_with_cache
 * </pre>
 */
public class BeamsWithCacheExample {
    private static final int NUM_HIDDENS = 64;
    private static final int NUM_HEADS = 4;
    private static final int NUM_KV_HEADS = 2;
    private static final int PROMPT_ROWS = 8;
    private static final int NUM_STEPS = 5;

    public static void main(String[] args) throws IOException {
        System.exit(run() ? 0 : 1);
    }

    /** Returns whether all results are the same that must be. */
    private static boolean run() throws IOException {
        MultiHeadAttention.Builder options = MultiHeadAttention.builder()
                .setNumHiddens(NUM_HIDDENS)
                .setNumHeads(NUM_HEADS)
                .optNumKvHeads(NUM_KV_HEADS)
                .optCausal(Causal.BOTTOM_RIGHT)
                .optRope(Rope.builder().setLayout(RopeLayout.HALF).build());
        try (NDManager manager = NDManager.newBaseManager();
                MultiHeadAttention attention = options.build()) {
            Shape shape = new Shape(1, PROMPT_ROWS, NUM_HIDDENS);
            attention.setSeed(42);
            attention.initialize(manager, DataType.FLOAT32, shape, shape, shape); // A program's weights: load.
            manager.setSeed(7);
            NDArray prompt = manager.randomNormal(shape); // A program's embeddings.

            KvCache cache = newCache(manager, 16);
            float[] ofPrompt = append(attention, cache, prompt);
            System.out.println("prompt: " + cache.length(0) + " rows, " + cache.getFreePages() + " pages free");

            // The beams begin with different rows. A program takes the embeddings of the two best tokens.
            cache.fork(0, PROMPT_ROWS, 1);
            System.out.println(
                    "two beams: " + cache.length(1) + " rows each, " + cache.getFreePages() + " pages free");
            Decoder beams = new Decoder(attention, cache, 0, 1);
            float[] next = normalized(ofPrompt, (PROMPT_ROWS - 1) * NUM_HIDDENS);
            beams.setRow(0, next);
            beams.setRow(1, negative(next));
            float[] rows = Arrays.copyOf(prompt.toFloatArray(), (PROMPT_ROWS + NUM_STEPS) * NUM_HIDDENS);
            float[] results = new float[NUM_STEPS * NUM_HIDDENS];
            for (int step = 0; step < NUM_STEPS; step++) {
                System.arraycopy(beams.row(1), 0, rows, (PROMPT_ROWS + step) * NUM_HIDDENS, NUM_HIDDENS);
                System.arraycopy(beams.step(), NUM_HIDDENS, results, step * NUM_HIDDENS, NUM_HIDDENS);
            }
            System.out.println(NUM_STEPS + " steps: " + cache.length(1) + " rows each, " + cache.getFreePages()
                    + " pages free");

            // Beam 1 in one call: a row has the same bits with any number of rows in the call.
            NDArray all = manager.create(rows, new Shape(1, PROMPT_ROWS + NUM_STEPS, NUM_HIDDENS));
            float[] inOneCall = append(attention, newCache(manager, 32), all);
            boolean isSame = Arrays.equals(
                    results, Arrays.copyOfRange(inOneCall, PROMPT_ROWS * NUM_HIDDENS, inOneCall.length));
            System.out.println("beam 1 in one call: " + describe(isSame));

            // Beam 1 becomes beam 0.
            float[] last = beams.row(1);
            cache.reorder(1);
            cache.rewind(1, 0);
            System.out.println("beam 0 dropped: " + cache.getFreePages() + " pages free");

            KvCache other = newCache(manager, 32);
            saveAndLoad(cache, other);
            isSame &= Arrays.equals(goOn(attention, cache, last), goOn(attention, other, last));
            System.out.println("saved and resumed: " + other.length(0) + " rows, " + describe(isSame));
            return isSame;
        }
    }

    /** A cache of 128 rows, which two sequences share. It is closed with the manager. */
    private static KvCache newCache(NDManager manager, int pageSize) {
        return KvCache.builder()
                .optMaxSequences(2)
                .setNumKvHeads(NUM_KV_HEADS)
                .setHeadSize(NUM_HIDDENS / NUM_HEADS)
                .setCapacity(64)
                .optLayout(CacheLayout.PAGED)
                .optPageSize(pageSize)
                .optNumPages(128 / pageSize)
                .build(manager);
    }

    /** Appends rows to sequence 0, and returns their outputs. */
    private static float[] append(MultiHeadAttention attention, KvCache cache, NDArray rows) {
        AttentionInputs inputs = new AttentionInputs().setQueries(rows).setCache(cache);
        try (AttentionOutputs outputs = attention.createOutputs(inputs)) {
            attention.forward(inputs, outputs, null);
            return outputs.getOutput().toFloatArray();
        }
    }

    private static void saveAndLoad(KvCache from, KvCache to) throws IOException {
        Path file = Files.createTempFile("beam", ".safetensors");
        try {
            from.save(0, file);
            to.load(0, file);
        } finally {
            Files.delete(file);
        }
    }

    /** The outputs of further steps of sequence 0. */
    private static float[] goOn(MultiHeadAttention attention, KvCache cache, float[] row) {
        Decoder decoder = new Decoder(attention, cache, 0);
        decoder.setRow(0, row);
        float[] results = new float[NUM_STEPS * NUM_HIDDENS];
        for (int step = 0; step < NUM_STEPS; step++) {
            System.arraycopy(decoder.step(), 0, results, step * NUM_HIDDENS, NUM_HIDDENS);
        }
        return results;
    }

    /** The row that begins there, scaled so that the mean of its squares is 1. */
    private static float[] normalized(float[] rows, int first) {
        float[] row = Arrays.copyOfRange(rows, first, first + NUM_HIDDENS);
        float sum = 0;
        for (float number : row) {
            sum += number * number;
        }
        float scale = 1 / (float) Math.sqrt(sum / NUM_HIDDENS + 1e-6f);
        for (int i = 0; i < NUM_HIDDENS; i++) {
            row[i] *= scale;
        }
        return row;
    }

    private static float[] negative(float[] row) {
        float[] result = new float[row.length];
        for (int i = 0; i < row.length; i++) {
            result[i] = -row[i];
        }
        return result;
    }

    private static String describe(boolean isSame) {
        return isSame ? "the same bits" : "DIFFERENT bits";
    }

    /** Steps of some sequences. Inputs and outputs are made once. */
    private static final class Decoder {
        private final MultiHeadAttention attention;
        /** The next row of each sequence. */
        private final FloatBuffer rows;
        private final AttentionInputs inputs;
        private final AttentionOutputs outputs;
        private final float[] results;

        Decoder(MultiHeadAttention attention, KvCache cache, long... sequences) {
            this.attention = attention;
            NDArray queries = cache.getManager().zeros(new Shape(sequences.length, 1, NUM_HIDDENS));
            rows = queries.toFloatBuffer();
            inputs = new AttentionInputs().setQueries(queries).setCache(cache).setSequences(sequences);
            outputs = attention.createOutputs(inputs);
            results = new float[sequences.length * NUM_HIDDENS];
        }

        /** The row of a sequence that the next step appends. */
        float[] row(int index) {
            float[] row = new float[NUM_HIDDENS];
            rows.position(index * NUM_HIDDENS);
            rows.get(row);
            return row;
        }

        void setRow(int index, float[] row) {
            rows.position(index * NUM_HIDDENS);
            rows.put(row);
        }

        /** Appends the rows, sets those of the next step to the outputs, and returns the outputs, valid until then. */
        float[] step() {
            attention.forward(inputs, outputs, null);
            outputs.getOutput().toFloatBuffer().get(results);
            for (int first = 0; first < results.length; first += NUM_HIDDENS) {
                setRow(first / NUM_HIDDENS, normalized(results, first));
            }
            return results;
        }
    }
}
