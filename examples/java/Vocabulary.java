// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The words of one language and their ids. */
final class Vocabulary {
    static final int PAD = 0;
    static final int BEGIN = 1;
    static final int END = 2;

    /** A word goes up to a space, or up to an apostrophe, which belongs to it: l'oiseau has two words. */
    private static final Pattern WORD = Pattern.compile("[^ ']+'?");

    private final List<String> words = new ArrayList<>(List.of("<pad>", "<begin>", "<end>"));

    Vocabulary(List<String> sentences) {
        TreeSet<String> found = new TreeSet<>();
        sentences.forEach(sentence -> found.addAll(split(sentence)));
        words.addAll(found);
    }

    int size() {
        return words.size();
    }

    static List<String> split(String sentence) {
        return WORD.matcher(sentence).results().map(MatchResult::group).collect(Collectors.toList());
    }

    /** The ids of a sentence's words, with the end. */
    long[] idsOf(String sentence) {
        List<String> all = split(sentence);
        long[] ids = new long[all.size() + 1];
        Arrays.setAll(ids, i -> i < all.size() ? words.indexOf(all.get(i)) : END);
        return ids;
    }

    /** The words of ids, marks included. */
    List<String> wordsOf(long[] ids) {
        return Arrays.stream(ids).mapToObj(id -> words.get((int) id)).collect(Collectors.toList());
    }

    /** The sentence up to the end. */
    String textOf(long[] ids) {
        StringBuilder text = new StringBuilder();
        String separator = "";
        for (int i = 0; i < ids.length && ids[i] != END; i++) {
            String word = words.get((int) ids[i]);
            text.append(separator).append(word);
            separator = word.endsWith("'") ? "" : " ";
        }
        return text.toString();
    }
}
