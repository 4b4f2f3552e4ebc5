// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.NDArray;
import io.heed.NDManager;
import io.heed.Shape;

import java.util.Arrays;

/**
 * What a program learns that copies or reverses: random sequences of symbols, and what shall become of them. Each ends
 * before its rows do, as sentences do. The sequences are those of examples/c/sequences.c.
 */
final class Sequences {
    /** Tokens: two marks and ten symbols. */
    static final int END = 0;

    static final int BEGIN = 1;
    static final int FIRST_SYMBOL = 2;
    static final int NUM_TOKENS = 12;

    static final int MIN_SYMBOLS = 3;
    static final int MAX_SYMBOLS = 8;
    /** Of a target, with a mark. */
    static final int MAX_ROWS = MAX_SYMBOLS + 1;

    /** What is to be learned. */
    enum Task {
        COPY,
        REVERSE
    }

    final int numSequences;
    /** (sequences, MAX_SYMBOLS): the symbols that are read. */
    final NDArray source;
    /** (sequences): how many of them count. */
    final NDArray sourceLens;
    /** (sequences, MAX_ROWS): BEGIN, then the symbols to write. */
    final NDArray target;
    /** (sequences, MAX_ROWS): what follows each row of the target: the symbols, then END. */
    final NDArray labels;
    /** (sequences): how many rows of target and labels count. */
    final NDArray targetLens;
    /** How many tokens are read and written. */
    final long numTokens;

    /** Draws the sequences of a step. The same numbers give the same sequences everywhere. */
    Sequences(NDManager manager, Task task, int step, int numSequences) {
        long[] sources = new long[numSequences * MAX_SYMBOLS];
        long[] sourceLengths = new long[numSequences];
        long[] targets = new long[numSequences * MAX_ROWS];
        long[] followers = new long[numSequences * MAX_ROWS];
        long[] targetLengths = new long[numSequences];
        for (int n = 0; n < numSequences; n++) {
            SplitMix64 random = new SplitMix64(((long) step << 32) + n);
            int length = MIN_SYMBOLS + random.below(MAX_SYMBOLS - MIN_SYMBOLS + 1);
            for (int i = 0; i < MAX_SYMBOLS; i++) {
                sources[n * MAX_SYMBOLS + i] =
                        i < length ? FIRST_SYMBOL + random.below(NUM_TOKENS - FIRST_SYMBOL) : END;
            }
            targets[n * MAX_ROWS] = BEGIN;
            for (int i = 0; i < MAX_ROWS; i++) {
                int from = task == Task.COPY ? i : length - 1 - i;
                long label = i < length ? sources[n * MAX_SYMBOLS + from] : END;
                followers[n * MAX_ROWS + i] = label;
                if (i + 1 < MAX_ROWS) {
                    targets[n * MAX_ROWS + i + 1] = label;
                }
            }
            sourceLengths[n] = length;
            targetLengths[n] = length + 1;
        }
        this.numSequences = numSequences;
        source = manager.create(sources, new Shape(numSequences, MAX_SYMBOLS));
        sourceLens = manager.create(sourceLengths, new Shape(numSequences));
        target = manager.create(targets, new Shape(numSequences, MAX_ROWS));
        labels = manager.create(followers, new Shape(numSequences, MAX_ROWS));
        targetLens = manager.create(targetLengths, new Shape(numSequences));
        numTokens = Arrays.stream(sourceLengths).sum() + Arrays.stream(targetLengths).sum();
    }

    /** What a Transformer reads: source and target. Rows of the target behind its length are not computed. */
    AttentionInputs inputs() {
        return new AttentionInputs()
                .setQueries(target)
                .setKeys(source)
                .setValidLens(sourceLens)
                .setQueryLens(targetLens);
    }

    /**
     * A generator with 64 bits of state (SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
     * Generators", 2014).
     */
    private static final class SplitMix64 {
        private long state;

        SplitMix64(long seed) {
            state = seed;
        }

        /** The next number from 0 to below the bound. */
        int below(int bound) {
            state += 0x9e3779b97f4a7c15L;
            long z = state;
            z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
            z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
            return (int) Long.remainderUnsigned(z ^ (z >>> 31), bound);
        }
    }
}
