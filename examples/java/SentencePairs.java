// SPDX-License-Identifier: Apache-2.0
import io.heed.NDArray;
import io.heed.NDManager;
import io.heed.Shape;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Sentences and their translations, which a program learns by heart. */
final class SentencePairs {
    final List<String> english = new ArrayList<>();
    final List<String> french = new ArrayList<>();
    final Vocabulary englishWords;
    final Vocabulary frenchWords;
    /** (pairs, S): the ids of the English words and the end. */
    final NDArray sources;
    /** (pairs): how many of them count. */
    final NDArray sourceLens;
    /** (pairs, T): the beginning, then the ids of the French words. */
    final NDArray targets;
    /** (pairs, T): what follows each of the targets: the ids of the French words, then the end. */
    final NDArray labels;
    /** (pairs): how many of targets and labels count. */
    final NDArray targetLens;

    /** Reads a file that has a pair on each line, with a tab between the two. */
    SentencePairs(NDManager manager, Path file) throws IOException {
        for (String line : Files.readAllLines(file)) {
            String[] pair = line.split("\t");
            english.add(pair[0]);
            french.add(pair[1]);
        }
        englishWords = new Vocabulary(english);
        frenchWords = new Vocabulary(french);
        long[][] read = idsOf(englishWords, english);
        long[][] written = idsOf(frenchWords, french);
        sources = padded(manager, read);
        sourceLens = lengths(manager, read);
        labels = padded(manager, written);
        targetLens = lengths(manager, written);
        for (int i = 0; i < written.length; i++) {
            long[] ids = written[i].clone();
            System.arraycopy(written[i], 0, ids, 1, ids.length - 1);
            ids[0] = Vocabulary.BEGIN;
            written[i] = ids;
        }
        targets = padded(manager, written);
    }

    int size() {
        return english.size();
    }

    /** How many ids count. */
    long numTokens() {
        return sourceLens.sum().getLong() + targetLens.sum().getLong();
    }

    private static long[][] idsOf(Vocabulary words, List<String> sentences) {
        return sentences.stream().map(words::idsOf).toArray(long[][]::new);
    }

    private static NDArray lengths(NDManager manager, long[][] rows) {
        return manager.create(Arrays.stream(rows).mapToLong(row -> row.length).toArray());
    }

    /** Rows of the length of the longest one. */
    private static NDArray padded(NDManager manager, long[][] rows) {
        int length = Arrays.stream(rows).mapToInt(row -> row.length).max().orElse(0);
        long[] all = new long[rows.length * length];
        for (int i = 0; i < rows.length; i++) {
            Arrays.fill(all, i * length, (i + 1) * length, Vocabulary.PAD);
            System.arraycopy(rows[i], 0, all, i * length, rows[i].length);
        }
        return manager.create(all, new Shape(rows.length, length));
    }
}
