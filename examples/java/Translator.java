// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.AttentionOutputs;
import io.heed.CacheLayout;
import io.heed.KvCache;
import io.heed.Model;
import io.heed.ModelBlock;
import io.heed.NDManager;
import io.heed.Shape;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * A whole Transformer that translates: its encoder reads a sentence once, and the keys and values of its output are kept
 * in one cache; its decoder adds one token after the other, and keeps those of its own tokens in another. Greedy search
 * has one sequence there, beam search four, which share pages.
 */
final class Translator implements AutoCloseable {
    /** The decoder has positions for 64 tokens, the first of which is the start: a search stops after 63. */
    static final int MAX_TOKENS = 63;

    private static final int NUM_BEAMS = 4;
    private static final int PAGE_SIZE = 16;

    /** Lines of vocabulary.txt; a token's id is its line, from 0. */
    private final List<String> vocabulary;

    private final long start;
    private final long end;
    private final NDManager manager = NDManager.newBaseManager();
    private final Model model = Model.newInstance("translator");
    private final ModelBlock block;
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

    /** The folder has config.json, model.safetensors and vocabulary.txt. */
    Translator(Path folder) throws IOException {
        vocabulary = Files.readAllLines(folder.resolve("vocabulary.txt"), StandardCharsets.UTF_8);
        end = idOf("</s>");
        start = idOf("<pad>"); // Marian's decoder starts with the id that pads.
        if (end < 0 || start < 0) {
            throw new IllegalArgumentException("vocabulary.txt lacks </s> or <pad>, expected both");
        }
        model.load(folder);
        block = model.getBlock();
        memory = newCache(1);
        own = newCache(NUM_BEAMS);
    }

    private KvCache newCache(int numSequences) {
        return KvCache.builder()
                .setBlock(block) // its layers, heads and their sizes
                .optMaxSequences(numSequences)
                .setCapacity(MAX_TOKENS + 1)
                .optLayout(CacheLayout.PAGED)
                .optPageSize(PAGE_SIZE)
                .optNumPages((long) numSequences * (MAX_TOKENS + 1) / PAGE_SIZE)
                .build(manager);
    }

    /** The id of a token, or -1 if the vocabulary lacks it. */
    long idOf(String token) {
        return vocabulary.indexOf(token);
    }

    long getStart() {
        return start;
    }

    long getEnd() {
        return end;
    }

    int getNumTokens() {
        return vocabulary.size();
    }

    NDManager getManager() {
        return manager;
    }

    /** The tokens up to the end, with a space between words, but not behind "l'" and the like. */
    String textOf(long[] tokens) {
        StringBuilder text = new StringBuilder();
        String separator = "";
        for (int i = 0; i < tokens.length && tokens[i] != end; i++) {
            String token = vocabulary.get((int) tokens[i]);
            text.append(separator).append(token);
            separator = token.endsWith("'") ? "" : " ";
        }
        return text.toString();
    }

    /**
     * Runs the encoder, and projects its output to the keys and values of all the decoder's layers. The searches below are
     * for this sentence.
     *
     * @param ids with the end
     */
    void readSentence(long[] ids) {
        memory.rewind(0, 0); // Drops the sentence before.
        try (NDManager sub = manager.newSubManager()) {
            block.fillCache(
                    new AttentionInputs().setKeys(sub.create(ids, new Shape(1, ids.length))).setCache(memory), null);
        }
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
            AttentionOutputs outputs = block.createOutputs(inputs);
            block.forward(inputs, outputs, null);
            logits = outputs.getOutput().toFloatArray();
        }
        int size = logits.length / tokens.length;
        if (size != vocabulary.size()) {
            throw new IllegalArgumentException(
                    "vocabulary.txt has " + vocabulary.size() + " tokens, the model " + size);
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
    Beam searchGreedily(List<float[]> logits) {
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
        } while (beam.last(start) != end && beam.tokens.length < MAX_TOKENS);
        return beam;
    }

    /**
     * Goes on with the best four beginnings in each step. A beam that takes the end is a translation. The search ends when
     * it has four translations, and none of the beams has a better score than the worst of them.
     */
    Beam searchWithBeams() {
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
        } while (running.get(0).tokens.length < MAX_TOKENS);
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

    @Override
    public void close() {
        model.close();
        manager.close();
    }
}
