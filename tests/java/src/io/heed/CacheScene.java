// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.function.Consumer;

/**
 * An attention of four heads that share the keys of two, with rotary positions and a causal mask, and caches for it.
 */
final class CacheScene implements AutoCloseable {
    static final int SIZE = 16;
    static final int NUM_KV_HEADS = 2;
    static final int HEAD_SIZE = 4;

    final NDManager manager = TestDevice.newManager();
    final MultiHeadAttention attention;

    CacheScene() {
        this(builder -> {});
    }

    CacheScene(Consumer<MultiHeadAttention.Builder> options) {
        attention = newAttention(options);
    }

    @Override
    public void close() {
        attention.close();
        manager.close();
    }

    /** Makes another attention, with parameters of its own. */
    MultiHeadAttention newAttention(Consumer<MultiHeadAttention.Builder> options) {
        MultiHeadAttention.Builder builder = MultiHeadAttention.builder()
                .setNumHiddens(SIZE)
                .setNumHeads(4)
                .optNumKvHeads(NUM_KV_HEADS)
                .optCausal(Causal.BOTTOM_RIGHT)
                .optRope(Rope.builder().setLayout(RopeLayout.HALF).build());
        options.accept(builder);
        MultiHeadAttention made = builder.build();
        Shape shape = new Shape(1, 1, SIZE);
        made.initialize(manager, DataType.FLOAT32, shape, shape, shape);
        return made;
    }

    /** Makes a cache of three contiguous sequences of up to 64 rows. */
    KvCache newCache() {
        return newCache(CacheLayout.CONTIGUOUS, builder -> {});
    }

    /** Makes a cache of three sequences of up to 64 rows; with pages twelve of 16 rows. */
    KvCache newCache(CacheLayout layout) {
        return newCache(layout, builder -> {});
    }

    KvCache newCache(CacheLayout layout, Consumer<KvCache.Builder> options) {
        KvCache.Builder builder = KvCache.builder()
                .optMaxSequences(3)
                .setNumKvHeads(NUM_KV_HEADS)
                .setHeadSize(HEAD_SIZE)
                .setCapacity(64)
                .optLayout(layout);
        if (layout == CacheLayout.PAGED) {
            builder.optPageSize(16).optNumPages(12);
        }
        options.accept(builder);
        return builder.build(manager);
    }

    /** Random rows, (1, count, SIZE). */
    NDArray newRows(int count) {
        return manager.randomNormal(new Shape(1, count, SIZE));
    }

    /** Appends rows, (B, Q, SIZE), and returns their outputs. */
    float[] append(KvCache cache, NDArray rows, long... sequences) {
        return output(new AttentionInputs().setQueries(rows).setCache(cache).setSequences(sequences));
    }

    float[] output(AttentionInputs inputs) {
        return output(attention, inputs);
    }

    static float[] output(NativeBlock block, AttentionInputs inputs) {
        try (AttentionOutputs outputs = block.createOutputs(inputs)) {
            block.forward(inputs, outputs, null);
            return outputs.getOutput().toFloatArray();
        }
    }

    static float[] joined(float[]... parts) {
        float[] all = new float[0];
        for (float[] part : parts) {
            int end = all.length;
            all = Arrays.copyOf(all, end + part.length);
            System.arraycopy(part, 0, all, end, part.length);
        }
        return all;
    }
}
