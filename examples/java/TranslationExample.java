// SPDX-License-Identifier: Apache-2.0
import io.heed.NDArray;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Translates English sentences into French with a whole Transformer from its folder, by greedy search and by beam search
 * with caches: see Translator.
 *
 * <pre>
 * run translation examples/translation the cat sees a small green bird
 * run translation examples/translation
 * </pre>
 *
 * <p>Without words it translates sentences that the model was not trained with, and compares tokens, logits and scores
 * with those that PyTorch computed. examples/translation/README.md says which words the model knows.
 */
public class TranslationExample {
    public static void main(String[] args) throws IOException {
        if (args.length == 0) {
            System.err.println("usage: translation FOLDER [WORD...]");
            System.exit(2);
        }
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8)); // French, whatever the locale is.
        System.exit(run(Path.of(args[0]), Arrays.copyOfRange(args, 1, args.length)));
    }

    /** Returns the program's exit status. */
    private static int run(Path folder, String[] words) throws IOException {
        try (Translator translator = new Translator(folder)) {
            if (words.length == 0) {
                return new Expected(translator, folder.resolve("expected.safetensors")).compare() ? 0 : 1;
            }
            if (words.length > Translator.MAX_TOKENS) {
                System.err.printf(
                        "the sentence has %d words, expected up to %d%n", words.length, Translator.MAX_TOKENS);
                return 2;
            }
            long[] ids = new long[words.length + 1];
            for (int i = 0; i < words.length; i++) {
                ids[i] = translator.idOf(words[i]);
                if (ids[i] < 0) {
                    System.err.printf("the model does not know the word \"%s\": %s has a list of its words%n",
                            words[i], folder.resolve("README.md"));
                    return 2;
                }
            }
            ids[words.length] = translator.getEnd();
            translator.readSentence(ids);
            print(translator, "greedy search", translator.getSearch().greedily(new ArrayList<>()));
            print(translator, "four beams", translator.getSearch().withBeams());
            return 0;
        }
    }

    private static void print(Translator translator, String search, BeamSearch.Beam beam) {
        System.out.printf(Locale.ROOT, "  %s: %s (%.4f)%n", search, translator.textOf(beam.tokens), beam.score());
    }

    /** Sentences, and what PyTorch made of them. */
    private static final class Expected {
        private final Translator translator;
        private final long[][] sourceIds;
        private final long[][] greedyIds;
        private final long[][] beamIds;
        /** Of the first steps of each sentence, one after another. */
        private final float[] greedyLogits;
        private final float[] greedyScores;
        private final float[] beamScores;
        private double largestOfLogits;
        private double largestOfScores;

        Expected(Translator translator, Path file) {
            this.translator = translator;
            sourceIds = loadIds(file, "source_ids");
            greedyIds = loadIds(file, "greedy_ids");
            beamIds = loadIds(file, "beam_ids");
            greedyLogits = load(file, "greedy_logits").toFloatArray();
            greedyScores = load(file, "greedy_scores").toFloatArray();
            beamScores = load(file, "beam_scores").toFloatArray();
        }

        private NDArray load(Path file, String name) {
            return translator.getManager().load(file, name);
        }

        /** Each row without the padding at its end. */
        private long[][] loadIds(Path file, String name) {
            NDArray array = load(file, name);
            long[] all = array.toLongArray();
            int size = (int) array.getShape().get(1);
            long[][] rows = new long[all.length / size][];
            for (int i = 0; i < rows.length; i++) {
                rows[i] = Arrays.stream(all, i * size, (i + 1) * size)
                        .takeWhile(id -> id != translator.getStart())
                        .toArray();
            }
            return rows;
        }

        /** Translates the sentences. Returns whether the results are PyTorch's. */
        boolean compare() {
            int numSame = 0;
            for (int i = 0; i < sourceIds.length; i++) {
                System.out.println(translator.textOf(sourceIds[i]));
                translator.readSentence(sourceIds[i]);
                List<float[]> logits = new ArrayList<>();
                BeamSearch.Beam greedy = translator.getSearch().greedily(logits);
                print(translator, "greedy search", greedy);
                boolean isSame = hasTokens(greedy, greedyIds[i]);
                BeamSearch.Beam best = translator.getSearch().withBeams();
                print(translator, "four beams", best);
                isSame &= hasTokens(best, beamIds[i]);
                numSame += isSame ? 1 : 0;
                compareLogits(i, logits);
                largestOfScores = Math.max(largestOfScores, Math.abs(greedy.score() - greedyScores[i])); // NaN stays.
                largestOfScores = Math.max(largestOfScores, Math.abs(best.score() - beamScores[i]));
            }
            // docs/models.md: logits of whole models agree to 1e-5 of the largest. The logarithm of a probability is a
            // logit less the logarithm of a sum, each of which differs by no more; a score is a mean of them.
            double bound = 0;
            for (float logit : greedyLogits) {
                bound = Math.max(bound, 1e-5 * Math.abs(logit));
            }
            System.out.printf(Locale.ROOT, "tokens of PyTorch: %d of %d sentences; ", numSame, sourceIds.length);
            System.out.printf(Locale.ROOT, "largest difference of logits %.1e (bound %.1e), of scores %.1e%n",
                    largestOfLogits, bound, largestOfScores);
            return numSame == sourceIds.length && largestOfLogits <= bound && largestOfScores <= 2 * bound;
        }

        private void compareLogits(int sentence, List<float[]> logits) {
            int numLogits = greedyLogits.length / sourceIds.length;
            int size = translator.getNumTokens();
            for (int i = 0; i < numLogits; i++) {
                double difference = logits.get(i / size)[i % size] - greedyLogits[sentence * numLogits + i];
                largestOfLogits = Math.max(largestOfLogits, Math.abs(difference));
            }
        }

        private boolean hasTokens(BeamSearch.Beam beam, long[] expected) {
            if (Arrays.equals(beam.tokens, expected)) {
                return true;
            }
            System.out.println("  PyTorch: " + translator.textOf(expected));
            return false;
        }
    }
}
