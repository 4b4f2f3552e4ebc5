// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/** How near a translation is to the one that was expected (Papineni et al., "BLEU", 2002), as the book computes it. */
final class Bleu {
    private static final int LONGEST = 2;

    private Bleu() {}

    /**
     * From 0 to 1, which is the same words: exp(min(0, 1 - expected words / words)), times p(n)^(1 / 2^n) for n = 1 and 2,
     * where p(n) is the share of the translation's runs of n words that are found in the expected one, each there once.
     */
    static double of(String translation, String expected) {
        List<String> words = Vocabulary.split(translation);
        List<String> others = Vocabulary.split(expected);
        if (words.isEmpty()) {
            return 0;
        }
        double score = Math.exp(Math.min(0, 1 - (double) others.size() / words.size()));
        for (int n = 1; n <= Math.min(LONGEST, words.size()); n++) {
            List<List<String>> left = runs(others, n);
            int numFound = 0;
            for (List<String> run : runs(words, n)) {
                numFound += left.remove(run) ? 1 : 0;
            }
            score *= Math.pow((double) numFound / (words.size() - n + 1), Math.pow(0.5, n));
        }
        return score;
    }

    private static List<List<String>> runs(List<String> words, int n) {
        List<List<String>> runs = new ArrayList<>();
        for (int i = 0; i + n <= words.size(); i++) {
            runs.add(words.subList(i, i + n));
        }
        return runs;
    }
}
