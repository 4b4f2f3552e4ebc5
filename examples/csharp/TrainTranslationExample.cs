// SPDX-License-Identifier: Apache-2.0
// Trains the Transformer of "Dive into Deep Learning" on forty sentences until it knows their translations by heart. heed's
// own encoder and decoder get its parameters, and translate with caches by beam search. The loss is drawn, and what each head
// attends to.
//
//   run train_translation examples/training/sentences.tsv [FOLDER examples/head_view/head_view.html]
//
// The folder gets loss.svg, and a page of heads for each attention. Ends with status 1 if a translation is wrong.
using System;
using System.Globalization;
using System.IO;
using System.Linq;
using Heed;

internal sealed class TrainTranslationExample
{
    private const int NumSteps = 200;
    private const double LearningRate = 5e-3;
    private const int MaxTokens = 15;
    private const int NumShown = 5;

    private readonly NDManager manager;
    private readonly SentencePairs pairs;
    private readonly TransformerEncoder encoder;
    private readonly TransformerDecoder decoder;
    private readonly BeamSearch search;

    private TrainTranslationExample(
        NDManager manager, SentencePairs pairs, TransformerEncoder encoder, TransformerDecoder decoder)
    {
        this.manager = manager;
        this.pairs = pairs;
        this.encoder = encoder;
        this.decoder = decoder;
        search = new BeamSearch(manager, decoder, Vocabulary.Begin, Vocabulary.End, pairs.FrenchWords.Size, MaxTokens);
    }

    internal static int Main(string[] args)
    {
        if (args.Length is not (1 or 3))
        {
            Console.Error.WriteLine("usage: train_translation SENTENCES.tsv [FOLDER TEMPLATE.html]");
            return 2;
        }
        using NDManager manager = NDManager.NewBaseManager();
        var pairs = new SentencePairs(manager, args[0]);
        var ourEncoder = new ComposedTransformer.Encoder(manager, pairs.EnglishWords.Size);
        var ourDecoder = new ComposedTransformer.Decoder(manager, pairs.FrenchWords.Size);
        using var block = new EncoderDecoder(ourEncoder, ourDecoder, ComposedTransformer.NumHiddens);
        block.SetSeed(1);
        manager.SetSeed(1);
        TrainingRecord record = TranslationTraining.Train("translation", block, pairs, NumSteps, LearningRate);
        Print($"{NumSteps} steps: the loss falls from {record.Losses[0]:F3} to {record.Losses[^1]:F3}");
        using TransformerEncoder encoder = HeedsTransformer.NewEncoder(ourEncoder);
        using TransformerDecoder decoder = HeedsTransformer.NewDecoder(ourDecoder);
        var example = new TrainTranslationExample(manager, pairs, encoder, decoder);
        if (args.Length == 3)
        {
            Directory.CreateDirectory(args[1]);
            string picture = Path.Combine(args[1], "loss.svg");
            LossCurve.Write(
                picture, "A Transformer learns to translate", record.Losses, Math.Log(pairs.FrenchWords.Size));
            example.DrawHeads(args[2], args[1]);
        }
        return example.TranslateAll() ? 0 : 1;
    }

    private static void Print(FormattableString text) => Console.WriteLine(text.ToString(CultureInfo.InvariantCulture));

    /// <summary>Prints some translations, and the mean BLEU of all. Returns whether all are right.</summary>
    private bool TranslateAll()
    {
        double sum = 0;
        for (int i = 0; i < pairs.English.Count; i++)
        {
            string translation = Translate(pairs.English[i]);
            double bleu = Bleu.Of(translation, pairs.French[i]);
            sum += bleu;
            if (i % (pairs.English.Count / NumShown) == 0)
            {
                Print($"  {pairs.English[i]} => {translation} (BLEU {bleu:F3})");
            }
        }
        Print($"BLEU {sum / pairs.English.Count:F3} of {pairs.English.Count} sentences, by beam search");
        return sum == pairs.English.Count;
    }

    /// <summary>Runs the encoder once, then the decoder token by token.</summary>
    private string Translate(string english)
    {
        using (NDManager sub = manager.NewSubManager())
        {
            NDArray memory = encoder.Forward(RowOf(sub, pairs.EnglishWords.IdsOf(english))).Head;
            decoder.FillCache(new AttentionInputs { Keys = memory, Cache = search.NewSentence() });
        }
        return pairs.FrenchWords.TextOf(search.WithBeams().Tokens);
    }

    private static NDArray RowOf(NDManager owner, long[] ids) => owner.Create(ids, new Shape(1, ids.Length));

    /// <summary>A page for each attention of encoder and decoder, when they read the longest sentence and its
    /// translation.</summary>
    private void DrawHeads(string template, string folder)
    {
        int longest = Enumerable.Range(0, pairs.French.Count).MaxBy(i => pairs.French[i].Length);
        long[] source = pairs.EnglishWords.IdsOf(pairs.English[longest]);
        long[] target = [Vocabulary.Begin, .. pairs.FrenchWords.IdsOf(pairs.French[longest])[..^1]];
        string[] read = pairs.EnglishWords.WordsOf(source);
        string[] written = pairs.FrenchWords.WordsOf(target);
        var ofEncoder = new Taps();
        var ofDecoder = new Taps();
        for (int i = 0; i < ComposedTransformer.NumBlocks; i++)
        {
            ofEncoder.Add($"layers.{i}.self_attention");
            ofDecoder.Add($"layers.{i}.self_attention").Add($"layers.{i}.cross_attention");
        }
        var ps = new ParameterStore();
        NDArray memory = encoder.Forward(ps, new NDList(RowOf(manager, source)), ofEncoder, false).Head;
        decoder.Forward(ps, new NDList(RowOf(manager, target), memory), ofDecoder, false);
        Draw(template, folder, "encoder", read, read, ofEncoder);
        Draw(template, folder, "decoder", written, read, ofDecoder);
    }

    private static void Draw(
        string template, string folder, string stack, string[] queries, string[] memory, Taps taps)
    {
        foreach ((string name, NDArray weights) in taps.Weights)
        {
            string layer = $"{stack}.{name}";
            string[] keys = name.EndsWith("cross_attention", StringComparison.Ordinal) ? memory : queries;
            HeadPage.Write(template, Path.Combine(folder, layer + ".html"), layer, queries, keys, weights[0]);
        }
    }
}
