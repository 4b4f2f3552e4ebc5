// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.Model;
import io.heed.ModelBlock;
import io.heed.NDManager;
import io.heed.Shape;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A whole Transformer that translates: its encoder reads a sentence once, and its decoder's search adds one token after
 * the other.
 */
final class Translator implements AutoCloseable {
    /** The decoder has positions for 64 tokens, the first of which is the start: a search stops after 63. */
    static final int MAX_TOKENS = 63;

    /** Lines of vocabulary.txt; a token's id is its line, from 0. */
    private final List<String> vocabulary;

    private final long start;
    private final long end;
    private final NDManager manager = NDManager.newBaseManager();
    private final Model model = Model.newInstance("translator");
    private final ModelBlock block;
    private final BeamSearch search;

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
        search = new BeamSearch(manager, block, start, end, vocabulary.size(), MAX_TOKENS);
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

    BeamSearch getSearch() {
        return search;
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
     * Runs the encoder, and projects its output to the keys and values of all the decoder's layers. The search is then for
     * this sentence.
     *
     * @param ids with the end
     */
    void readSentence(long[] ids) {
        try (NDManager sub = manager.newSubManager()) {
            AttentionInputs inputs = new AttentionInputs()
                    .setKeys(sub.create(ids, new Shape(1, ids.length)))
                    .setCache(search.newSentence());
            block.fillCache(inputs, null);
        }
    }

    @Override
    public void close() {
        model.close();
        manager.close();
    }
}
