// SPDX-License-Identifier: Apache-2.0
// Trains the model of examples/translation with PyTorch, and writes the folder's files.
//
//   dotnet run -c Release --project examples/translation/make_model -- examples/translation
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.Json;
using TorchSharp;
using TorchSharp.Modules;
using static TorchSharp.torch;

namespace MakeModel;

internal static class Program
{
    private const int Seed = 1;
    private const int NumSentences = 6000;
    private const int NumHeldOut = 300;

    /// <summary>Of shorter sentences there are few, and all are for training.</summary>
    private const int FewestWordsHeldOut = 5;

    /// <summary>Of the sentences that are written, of each kind: with one translation, with several, and with several of
    /// which the two searches find different ones.</summary>
    private const int NumOfEachKind = 4;

    private const int NumSteps = 6000;
    private const int BatchSize = 64;
    private const double LearningRate = 1e-3;
    private const int NumWarmupSteps = 400;

    /// <summary>Of the logits of each sentence that are written.</summary>
    private const int NumLogits = 4;

    /// <summary>Sentences whose searches depend on less are not written, since rounding could change their ids. Where logits
    /// are within 3e-4 of PyTorch's, which is 1e-5 of the largest ones, a logarithm, and a mean of logarithms, is within
    /// 6e-4, and the difference of two within this.</summary>
    private const double SmallestMargin = 1.2e-3;

    private const string EndToken = "</s>";
    private const string PadToken = "<pad>";

    private static int Main(string[] args)
    {
        if (args is not [var folder])
        {
            Console.Error.WriteLine("usage: make_model FOLDER");
            return 2;
        }
        manual_seed(Seed);
        set_num_threads(1); // So that sums have the same order on any number of cores.
        List<Sentence> sentences = DrawSentences();
        string[] vocabulary =
        [
            EndToken,
            .. sentences.SelectMany(s => s.Translations.SelectMany(t => t).Concat(s.English)).Distinct()
                .Order(StringComparer.Ordinal),
            PadToken, // The last id, as in Marian's vocabularies.
        ];
        int numEnglish = sentences.SelectMany(s => s.English).Distinct().Count();
        int numFrench = sentences.SelectMany(s => s.Translations.SelectMany(t => t)).Distinct().Count();
        Console.WriteLine($"{numEnglish} English words, {numFrench} French words, {vocabulary.Length} tokens");
        var numbers = new Numbers(vocabulary);
        var translator = new Translator(vocabulary.Length, numbers.Pad);
        Train(translator, sentences[NumHeldOut..], numbers);

        // In double precision, so that the expected numbers have no rounding errors of their own.
        translator.eval();
        using var noGradients = no_grad();
        var weights = translator.HuggingFaceWeights().Select(w => (w.Name, w.Weight.detach().clone())).ToList();
        translator.to(ScalarType.Float64);
        var search = new Search(translator, numbers.Pad, numbers.End);
        List<Sentence> heldOut = sentences[..NumHeldOut];
        long[][] found = search.Greedy([.. heldOut.Select(s => numbers.Of(s.English))], numbers.Pad);
        int numRight = 0;
        for (int i = 0; i < NumHeldOut; i++)
        {
            if (heldOut[i].Translations.Any(t => numbers.Of(t).SequenceEqual(found[i])))
            {
                numRight++;
                continue;
            }
            Console.WriteLine($"wrong: {string.Join(' ', heldOut[i].English)} -> "
                + string.Join(' ', found[i].SkipLast(1).Select(id => vocabulary[id])));
        }
        Console.WriteLine($"greedy search translates {numRight} of {NumHeldOut} sentences right that training did not see");

        Directory.CreateDirectory(folder);
        File.WriteAllText(Path.Combine(folder, "vocabulary.txt"), string.Concat(vocabulary.Select(token => token + "\n")));
        WriteConfig(Path.Combine(folder, "config.json"), numbers);
        SafetensorsWriter.Write(Path.Combine(folder, "model.safetensors"), weights);
        WriteExpected(Path.Combine(folder, "expected.safetensors"), search, heldOut, numbers);
        return 0;
    }

    /// <summary>Different sentences, those that are held out first.</summary>
    private static List<Sentence> DrawSentences()
    {
        var random = new Random(Seed);
        var sentences = new List<Sentence>();
        var seen = new HashSet<string>();
        while (sentences.Count < NumHeldOut + NumSentences)
        {
            var sentence = new Sentence(random.Next());
            if (seen.Add(string.Join(' ', sentence.English)))
            {
                sentences.Add(sentence);
            }
        }
        var heldOut = sentences.Where(s => s.English.Length >= FewestWordsHeldOut).Take(NumHeldOut).ToList();
        return [.. heldOut, .. sentences.Except(heldOut)];
    }

    private static void Train(Translator translator, List<Sentence> sentences, Numbers numbers)
    {
        var random = new Random(Seed);
        Adam optimizer = optim.Adam(translator.parameters(), LearningRate, 0.9, 0.98, 1e-9);
        translator.train();
        double sum = 0;
        for (int step = 0; step < NumSteps; step++)
        {
            using var scope = NewDisposeScope();
            double rate = step < NumWarmupSteps
                ? (step + 1.0) / NumWarmupSteps
                : (NumSteps - step) / (double)(NumSteps - NumWarmupSteps);
            foreach (var group in optimizer.ParamGroups)
            {
                group.LearningRate = LearningRate * rate;
            }
            var batch = Enumerable.Range(0, BatchSize).Select(_ => sentences[random.Next(sentences.Count)]).ToArray();
            long[][] english = [.. batch.Select(s => numbers.Of(s.English))];
            long[][] french = [.. batch.Select(s => numbers.Of(s.InStyle(Style.Draw(random)).French))];
            Tensor sources = Search.Batch(english, numbers.Pad);
            Tensor targets = Search.Batch(french, numbers.Pad);
            // Marian's decoder begins with the pad token.
            Tensor inputs = Search.Batch([.. french.Select(ids => ids.SkipLast(1).Prepend(numbers.Pad).ToArray())], numbers.Pad);
            Tensor logits = translator.Decode(inputs, sources, translator.Encode(sources));
            Tensor loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index: numbers.Pad);
            optimizer.zero_grad();
            loss.backward();
            nn.utils.clip_grad_norm_(translator.parameters(), 1.0);
            optimizer.step();
            sum += loss.item<float>();
            if ((step + 1) % 500 == 0)
            {
                Console.WriteLine($"step {step + 1}: loss {sum / 500:0.0000}");
                sum = 0;
            }
        }
    }

    private static void WriteConfig(string path, Numbers numbers)
    {
        var config = new SortedDictionary<string, object>(StringComparer.Ordinal)
        {
            ["activation_function"] = "relu",
            ["architectures"] = new[] { "MarianMTModel" },
            ["d_model"] = Translator.Size,
            ["decoder_attention_heads"] = Translator.NumHeads,
            ["decoder_ffn_dim"] = Translator.NumHiddens,
            ["decoder_layers"] = Translator.NumLayers,
            ["decoder_start_token_id"] = numbers.Pad,
            ["decoder_vocab_size"] = numbers.Count,
            ["dtype"] = "float32",
            ["encoder_attention_heads"] = Translator.NumHeads,
            ["encoder_ffn_dim"] = Translator.NumHiddens,
            ["encoder_layers"] = Translator.NumLayers,
            ["eos_token_id"] = numbers.End,
            ["is_encoder_decoder"] = true,
            ["max_position_embeddings"] = Translator.MaxLength,
            ["model_type"] = "marian",
            ["pad_token_id"] = numbers.Pad,
            ["scale_embedding"] = true,
            ["share_encoder_decoder_embeddings"] = true,
            ["tie_word_embeddings"] = true,
            ["vocab_size"] = numbers.Count,
        };
        File.WriteAllText(path, JsonSerializer.Serialize(config, new JsonSerializerOptions { WriteIndented = true }) + "\n");
    }

    /// <summary>Some held-out sentences, and what PyTorch makes of them.</summary>
    private static void WriteExpected(string path, Search search, List<Sentence> heldOut, Numbers numbers)
    {
        var sources = new List<long[]>();
        var greedy = new List<Translation>();
        var beams = new List<Translation>();
        var logits = new List<double>();
        var numOfKind = new int[3];
        foreach (Sentence sentence in heldOut)
        {
            long[] source = numbers.Of(sentence.English);
            Translation one = search.Greedy(source, out List<double[]> rows);
            Translation other = search.BeamSearch(source);
            int kind = sentence.Translations.Count == 1 ? 0 : one.Ids.SequenceEqual(other.Ids) ? 1 : 2;
            if (numOfKind[kind] == NumOfEachKind || rows.Count < NumLogits
                || Math.Min(one.Margin, other.Margin) < SmallestMargin)
            {
                continue;
            }
            numOfKind[kind]++;
            sources.Add(source);
            greedy.Add(one);
            beams.Add(other);
            logits.AddRange(rows.Take(NumLogits).SelectMany(row => row));
        }
        Tensor Ids(IEnumerable<long[]> rows) => Search.Batch([.. rows], numbers.Pad);
        Tensor Scores(List<Translation> translations) =>
            tensor(translations.Select(t => t.Score).ToArray());
        SafetensorsWriter.Write(path,
        [
            ("source_ids", Ids(sources)),
            ("greedy_ids", Ids(greedy.Select(t => t.Ids))),
            ("greedy_scores", Scores(greedy)),
            ("greedy_logits", tensor(logits.ToArray()).reshape(sources.Count, NumLogits, -1)),
            ("beam_ids", Ids(beams.Select(t => t.Ids))),
            ("beam_scores", Scores(beams)),
        ]);
        Console.WriteLine($"expected.safetensors has {string.Join(" + ", numOfKind)} of them; the largest logit is {logits.Max(Math.Abs):0.0}");
    }
}
