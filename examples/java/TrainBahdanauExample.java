// SPDX-License-Identifier: Apache-2.0
import io.heed.Model;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.Shape;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Trains the recurrent encoder and decoder with Bahdanau's additive attention on forty sentences until it knows their
 * translations by heart; prints some, written greedily, and what the steps of one of them attend to.
 *
 * <pre>
 * run train_bahdanau examples/training/sentences.tsv [PICTURE.svg]
 * </pre>
 *
 * <p>Ends with status 1 if it has not learned most of them.
 */
public class TrainBahdanauExample {
    private static final int NUM_HIDDENS = 32;
    private static final int NUM_STEPS = 200;
    private static final float LEARNING_RATE = 1e-2f;
    private static final int MAX_TOKENS = 12;
    private static final int NUM_SHOWN = 5;
    private static final double LEAST_BLEU = 0.95;

    private final SentencePairs pairs;
    private final BahdanauBlocks.Encoder encoder;
    private final BahdanauBlocks.AttentionDecoder decoder;

    private TrainBahdanauExample(
            SentencePairs pairs, BahdanauBlocks.Encoder encoder, BahdanauBlocks.AttentionDecoder decoder) {
        this.pairs = pairs;
        this.encoder = encoder;
        this.decoder = decoder;
    }

    public static void main(String[] args) throws IOException {
        if (args.length != 1 && args.length != 2) {
            System.err.println("usage: train_bahdanau SENTENCES.tsv [PICTURE.svg]");
            System.exit(2);
        }
        System.exit(run(args) ? 0 : 1);
    }

    private static boolean run(String[] args) throws IOException {
        try (NDManager manager = NDManager.newBaseManager();
                Model model = Model.newInstance("bahdanau")) {
            SentencePairs pairs = new SentencePairs(manager, Path.of(args[0]));
            EncoderDecoder<BahdanauBlocks.Encoder, BahdanauBlocks.AttentionDecoder> block = new EncoderDecoder<>(
                    new BahdanauBlocks.Encoder(pairs.englishWords.size(), NUM_HIDDENS),
                    new BahdanauBlocks.AttentionDecoder(pairs.frenchWords.size(), NUM_HIDDENS));
            block.setSeed(1);
            model.getNDManager().setSeed(1);
            model.setBlock(block);
            TrainingRecord record = TranslationTraining.train(model, pairs, NUM_STEPS, LEARNING_RATE);
            print("%d steps: the loss falls from %.3f to %.3f%n", record.size(), record.first(), record.last());
            if (args.length == 2) {
                double guessing = Math.log(pairs.frenchWords.size());
                LossCurve.write(
                        Path.of(args[1]), "Additive attention learns to translate", record.losses(), guessing);
            }
            return new TrainBahdanauExample(pairs, block.encoder, block.decoder).translateAll(manager);
        }
    }

    private boolean translateAll(NDManager manager) {
        double sum = 0;
        for (int i = 0; i < pairs.size(); i++) {
            try (NDManager sub = manager.newSubManager()) {
                boolean isShown = i % (pairs.size() / NUM_SHOWN) == 0;
                String translation = translate(sub, pairs.english.get(i), i == 0);
                double bleu = Bleu.of(translation, pairs.french.get(i));
                sum += bleu;
                if (isShown) {
                    print("  %s => %s (BLEU %.3f)%n", pairs.english.get(i), translation, bleu);
                }
            }
        }
        print("BLEU %.3f of %d sentences, written greedily%n", sum / pairs.size(), pairs.size());
        return sum / pairs.size() >= LEAST_BLEU;
    }

    /** Writes the most probable word, again and again. The sentence is padded, as it was when it was learned. */
    private String translate(NDManager sub, String english, boolean isExplained) {
        long[] ids = pairs.englishWords.idsOf(english);
        List<String> read = pairs.englishWords.wordsOf(ids);
        NDArray lens = sub.create(new long[] {ids.length});
        long[] padded = Arrays.copyOf(ids, (int) pairs.sources.size(1));
        NDArray memory = encoder.forward(sub.create(padded, new Shape(1, padded.length))).head();
        NDArray state = memory.get(":, -1");
        long[] written = new long[MAX_TOKENS];
        long last = Vocabulary.BEGIN;
        int size = 0;
        while (last != Vocabulary.END && size < MAX_TOKENS) {
            NDArray begun = sub.create(new long[] {last}, new Shape(1, 1));
            NDList results = decoder.forward(begun, memory, lens, state);
            last = results.get(0).argMax(-1).getLong(0, 0);
            state = results.get(1);
            written[size++] = last;
            if (isExplained) {
                explain(pairs.frenchWords.wordsOf(new long[] {last}).get(0), read, results.get(2));
            }
        }
        return pairs.frenchWords.textOf(Arrays.copyOf(written, size));
    }

    /** Prints what a word attends to. */
    private static void explain(String word, List<String> read, NDArray weights) {
        float[] numbers = weights.toFloatArray();
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < read.size(); i++) {
            line.append(String.format(Locale.ROOT, " %s %.2f", read.get(i), numbers[i]));
        }
        print("  %s:%s%n", word, line);
    }

    private static void print(String format, Object... arguments) {
        System.out.printf(Locale.ROOT, format, arguments);
    }
}
