// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.AttentionOutputs;
import io.heed.CacheLayout;
import io.heed.KvCache;
import io.heed.NDManager;
import io.heed.NativeBlock;
import io.heed.Shape;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Searches translations with a decoder, which adds one token after the other, and keeps the keys and values of its own
 * tokens in a cache; those of the encoder's output are in another. Greedy search has one sequence in the decoder's cache,
 * beam search four, which share pages.
 */
final class BeamSearch {
    private static final int NUM_BEAMS = 4;
    private static final int PAGE_SIZE = 16;

    private final NDManager manager;
    private final NativeBlock decoder;
    private final long start;
    private final long end;
    private final int maxTokens;
    private final int numTokens;
    /** Keys and values of the encoder's output, of one sentence. */
    private final KvCache memory;
    /** Keys and values of the decoder's own tokens, a sequence for each beam. */
    private final KvCache own;

    /** A translation, or its beginning. */
    static final class Beam {
        /** The end among them. */
        final long[] tokens;
        /** Of the logarithms of their probabilities. */
        final double sum;
        /** Its index among the beams of the step before. */
        private final int source;

        private Beam(long[] tokens, double sum, int source) {
            this.tokens = tokens;
            this.sum = sum;
            this.source = source;
        }

        /** The mean of the logarithms, by which translations of different lengths are compared, as Hugging Face's are. */
        double score() {
            return sum / tokens.length;
        }

        private long last(long start) {
            return tokens.length == 0 ? start : tokens[tokens.length - 1];
        }

        private Beam extended(long token, double logProbability, int index) {
            long[] more = Arrays.copyOf(tokens, tokens.length + 1);
            more[tokens.length] = token;
            return new Beam(more, sum + logProbability, index);
        }
    }

    /**
     * Makes a search.
     *
     * @param manager the owner of the caches
     * @param decoder a decoder with an embedding and an output, or a whole model with one
     * @param start the token before the first one
     * @param end the token behind the last one
     * @param numTokens the size of the vocabulary
     * @param maxTokens where a search stops that finds no end; the decoder has a position more. A multiple of 16, less one
     */
    BeamSearch(NDManager manager, NativeBlock decoder, long start, long end, int numTokens, int maxTokens) {
        this.manager = manager;
        this.decoder = decoder;
        this.start = start;
        this.end = end;
        this.numTokens = numTokens;
        this.maxTokens = maxTokens;
        memory = newCache(1);
        own = newCache(NUM_BEAMS);
    }

    private KvCache newCache(int numSequences) {
        return KvCache.builder()
                .setBlock(decoder) // its layers, heads and their sizes
                .optMaxSequences(numSequences)
                .setCapacity(maxTokens + 1)
                .optLayout(CacheLayout.PAGED)
                .optPageSize(PAGE_SIZE)
                .optNumPages((long) numSequences * (maxTokens + 1) / PAGE_SIZE)
                .build(manager);
    }

    /** The cache for a sentence's keys and values, empty: fillCache of the decoder fills it. The searches are for it. */
    KvCache newSentence() {
        memory.rewind(0, 0);
        return memory;
    }

    /** Appends the last tokens of the beams to the sequences 0, 1, ..., and returns the logits of those that may follow. */
    private float[][] append(List<Beam> beams) {
        long[] tokens = beams.stream().mapToLong(beam -> beam.last(start)).toArray();
        float[] logits;
        try (NDManager sub = manager.newSubManager()) {
            AttentionInputs inputs = new AttentionInputs()
                    .setQueries(sub.create(tokens, new Shape(tokens.length, 1)))
                    .setCache(own)
                    .setMemoryCache(memory)
                    .setMemorySequences(new long[tokens.length]); // All read its sequence 0.
            AttentionOutputs outputs = decoder.createOutputs(inputs);
            decoder.forward(inputs, outputs, null);
            logits = outputs.getOutput().toFloatArray();
        }
        int size = logits.length / tokens.length;
        if (size != numTokens) {
            throw new IllegalArgumentException("the vocabulary has " + numTokens + " tokens, the model " + size);
        }
        float[][] rows = new float[tokens.length][];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = Arrays.copyOfRange(logits, i * size, (i + 1) * size);
        }
        return rows;
    }

    /**
     * Takes the most probable token, again and again.
     *
     * @param logits gets the logits of each step
     */
    Beam greedily(List<float[]> logits) {
        own.rewind(0, 0);
        Beam beam = new Beam(new long[0], 0, 0);
        do {
            float[] row = append(List.of(beam))[0];
            logits.add(row);
            int best = 0;
            for (int id = 1; id < row.length; id++) {
                best = row[id] > row[best] ? id : best;
            }
            beam = beam.extended(best, row[best] - logOfSum(row), 0);
        } while (beam.last(start) != end && beam.tokens.length < maxTokens);
        return beam;
    }

    /**
     * Goes on with the best four beginnings in each step. A beam that takes the end is a translation. The search ends when
     * it has four translations, and none of the beams has a better score than the worst of them.
     */
    Beam withBeams() {
        own.rewind(0, 0);
        List<Beam> running = List.of(new Beam(new long[0], 0, 0));
        List<Beam> finished = new ArrayList<>();
        do {
            // Of these at least four go on, since each beam has one end.
            List<Beam> candidates = best(extensions(running), 2 * NUM_BEAMS, Comparator.comparingDouble(b -> b.sum));
            List<Beam> next = new ArrayList<>();
            for (int i = 0; i < candidates.size() && next.size() < NUM_BEAMS; i++) {
                Beam candidate = candidates.get(i);
                if (candidate.last(start) != end) {
                    next.add(candidate);
                } else if (i < NUM_BEAMS) {
                    finished.add(candidate);
                }
            }
            finished = best(finished, NUM_BEAMS, Comparator.comparingDouble(Beam::score));
            // Each sequence of the cache becomes a copy of that of the beam which it extends. No row is copied.
            own.reorder(next.stream().mapToLong(beam -> beam.source).toArray());
            running = next;
            if (finished.size() == NUM_BEAMS
                    && !(running.get(0).score() > finished.get(NUM_BEAMS - 1).score())) {
                break;
            }
        } while (running.get(0).tokens.length < maxTokens);
        return finished.isEmpty() ? running.get(0) : finished.get(0);
    }

    /** Each beam with each token. */
    private List<Beam> extensions(List<Beam> beams) {
        float[][] logits = append(beams);
        List<Beam> extensions = new ArrayList<>();
        for (int i = 0; i < logits.length; i++) {
            double logOfSum = logOfSum(logits[i]);
            for (int id = 0; id < logits[i].length; id++) {
                extensions.add(beams.get(i).extended(id, logits[i][id] - logOfSum, i));
            }
        }
        return extensions;
    }

    /** The largest ones, the best one first. */
    private static List<Beam> best(List<Beam> beams, int count, Comparator<Beam> order) {
        beams.sort(order.reversed());
        return new ArrayList<>(beams.subList(0, Math.min(count, beams.size())));
    }

    /** What to subtract from a logit to get the logarithm of its probability. */
    private static double logOfSum(float[] logits) {
        double largest = Double.NEGATIVE_INFINITY;
        for (float logit : logits) {
            largest = Math.max(largest, logit);
        }
        double sum = 0;
        for (float logit : logits) {
            sum += Math.exp(logit - largest);
        }
        return largest + Math.log(sum);
    }
}
