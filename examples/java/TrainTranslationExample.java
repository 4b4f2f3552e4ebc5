// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.Model;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.Pair;
import io.heed.ParameterStore;
import io.heed.Shape;
import io.heed.Taps;
import io.heed.TransformerDecoder;
import io.heed.TransformerEncoder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Trains the Transformer of "Dive into Deep Learning" on forty sentences until it knows their translations by heart. heed's
 * own encoder and decoder get its parameters, and translate with caches by beam search. The loss is drawn, and what each
 * head attends to.
 *
 * <pre>
 * run train_translation examples/training/sentences.tsv [FOLDER examples/head_view/head_view.html]
 * </pre>
 *
 * <p>The folder gets loss.svg, and a page of heads for each attention. Ends with status 1 if a translation is wrong.
 */
public class TrainTranslationExample {
    private static final int NUM_STEPS = 200;
    private static final float LEARNING_RATE = 5e-3f;
    private static final int MAX_TOKENS = 15;
    private static final int NUM_SHOWN = 5;

    private final NDManager manager;
    private final SentencePairs pairs;
    private final TransformerEncoder encoder;
    private final TransformerDecoder decoder;
    private final BeamSearch search;

    private TrainTranslationExample(
            NDManager manager, SentencePairs pairs, TransformerEncoder encoder, TransformerDecoder decoder) {
        this.manager = manager;
        this.pairs = pairs;
        this.encoder = encoder;
        this.decoder = decoder;
        search = new BeamSearch(
                manager, decoder, Vocabulary.BEGIN, Vocabulary.END, pairs.frenchWords.size(), MAX_TOKENS);
    }

    public static void main(String[] args) throws IOException {
        if (args.length != 1 && args.length != 3) {
            System.err.println("usage: train_translation SENTENCES.tsv [FOLDER TEMPLATE.html]");
            System.exit(2);
        }
        System.exit(run(args) ? 0 : 1);
    }

    private static boolean run(String[] args) throws IOException {
        try (NDManager manager = NDManager.newBaseManager();
                Model model = Model.newInstance("translation")) {
            SentencePairs pairs = new SentencePairs(manager, Path.of(args[0]));
            EncoderDecoder<ComposedTransformer.Encoder, ComposedTransformer.Decoder> ours = new EncoderDecoder<>(
                    new ComposedTransformer.Encoder(manager, pairs.englishWords.size()),
                    new ComposedTransformer.Decoder(manager, pairs.frenchWords.size()));
            ours.setSeed(1);
            model.getNDManager().setSeed(1);
            model.setBlock(ours);
            TrainingRecord record = TranslationTraining.train(model, pairs, NUM_STEPS, LEARNING_RATE);
            System.out.printf(
                    Locale.ROOT, "%d steps: the loss falls from %.3f to %.3f%n",
                    record.size(), record.first(), record.last());
            try (TransformerEncoder encoder = HeedsTransformer.encoder(ours.encoder);
                    TransformerDecoder decoder = HeedsTransformer.decoder(ours.decoder)) {
                TrainTranslationExample example = new TrainTranslationExample(manager, pairs, encoder, decoder);
                if (args.length == 3) {
                    example.draw(record, Path.of(args[1]), Path.of(args[2]));
                }
                return example.translateAll();
            }
        }
    }

    private void draw(TrainingRecord record, Path folder, Path template) throws IOException {
        Files.createDirectories(folder);
        double guessing = Math.log(pairs.frenchWords.size());
        LossCurve.write(folder.resolve("loss.svg"), "A Transformer learns to translate", record.losses(), guessing);
        drawHeads(template, folder);
    }

    /** Prints some translations, and the mean BLEU of all. Returns whether all are right. */
    private boolean translateAll() {
        double sum = 0;
        for (int i = 0; i < pairs.size(); i++) {
            String translation = translate(pairs.english.get(i));
            double bleu = Bleu.of(translation, pairs.french.get(i));
            sum += bleu;
            if (i % (pairs.size() / NUM_SHOWN) == 0) {
                System.out.printf(Locale.ROOT, "  %s => %s (BLEU %.3f)%n", pairs.english.get(i), translation, bleu);
            }
        }
        System.out.printf(Locale.ROOT, "BLEU %.3f of %d sentences, by beam search%n", sum / pairs.size(), pairs.size());
        return sum == pairs.size();
    }

    /** Runs the encoder once, then the decoder token by token. */
    private String translate(String english) {
        try (NDManager sub = manager.newSubManager()) {
            NDArray memory = encode(sub, english);
            decoder.fillCache(new AttentionInputs().setKeys(memory).setCache(search.newSentence()), null);
        }
        return pairs.frenchWords.textOf(search.withBeams().tokens);
    }

    private NDArray encode(NDManager sub, String english) {
        long[] ids = pairs.englishWords.idsOf(english);
        return encoder.forward(sub.create(ids, new Shape(1, ids.length))).head();
    }

    /** A page for each attention of encoder and decoder, when they read the longest sentence and its translation. */
    private void drawHeads(Path template, Path folder) throws IOException {
        int longest = 0;
        for (int i = 0; i < pairs.size(); i++) {
            longest = pairs.french.get(i).length() > pairs.french.get(longest).length() ? i : longest;
        }
        long[] source = pairs.englishWords.idsOf(pairs.english.get(longest));
        long[] target = pairs.targets.get(longest).get(":{}", pairs.targetLens.getLong(longest)).toLongArray();
        List<String> read = pairs.englishWords.wordsOf(source);
        List<String> written = pairs.frenchWords.wordsOf(target);
        ParameterStore ps = new ParameterStore(manager, false);
        Taps ofEncoder = new Taps();
        Taps ofDecoder = new Taps();
        for (int i = 0; i < ComposedTransformer.NUM_BLOCKS; i++) {
            ofEncoder.add("layers." + i + ".self_attention");
            ofDecoder.add("layers." + i + ".self_attention").add("layers." + i + ".cross_attention");
        }
        NDArray ids = manager.create(source, new Shape(1, source.length));
        NDArray memory = encoder.forward(ps, new NDList(ids), ofEncoder, false).head();
        NDArray begun = manager.create(target, new Shape(1, target.length));
        decoder.forward(ps, new NDList(begun, memory), ofDecoder, false);
        draw(template, folder, "encoder", read, read, ofEncoder);
        draw(template, folder, "decoder", written, read, ofDecoder);
    }

    private static void draw(
            Path template, Path folder, String stack, List<String> queries, List<String> memory, Taps taps)
            throws IOException {
        for (Pair<String, NDArray> weights : taps.getWeights()) {
            String layer = stack + "." + weights.getKey();
            List<String> keys = layer.endsWith("cross_attention") ? memory : queries;
            Path page = folder.resolve(layer + ".html");
            HeadPage.write(template, page, layer, queries, keys, weights.getValue().get(0));
        }
    }
}
