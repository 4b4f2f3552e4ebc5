// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Heed;

/// <summary>A whole Transformer that translates: its encoder reads a sentence once, and the keys and values of its output
/// are kept in one cache; its decoder adds one token after the other, and keeps those of its own tokens in another.
/// Greedy search has one sequence there, beam search four, which share pages.</summary>
internal sealed class Translator : IDisposable
{
    /// <summary>The decoder has positions for 64 tokens, the first of which is the start: a search stops after
    /// 63.</summary>
    internal const int MaxTokens = 63;

    private const int NumBeams = 4;
    private const int PageSize = 16;

    /// <summary>Lines of vocabulary.txt; a token's id is its line, from 0.</summary>
    private readonly string[] vocabulary;

    private readonly Model model = new Model("translator");

    /// <summary>Keys and values of the encoder's output, of one sentence.</summary>
    private readonly KvCache memory;

    /// <summary>Keys and values of the decoder's own tokens, a sequence for each beam.</summary>
    private readonly KvCache own;

    /// <summary>The folder has config.json, model.safetensors and vocabulary.txt.</summary>
    internal Translator(string folder)
    {
        vocabulary = File.ReadAllLines(Path.Combine(folder, "vocabulary.txt"));
        End = IdOf("</s>");
        Start = IdOf("<pad>"); // Marian's decoder starts with the id that pads.
        if (End < 0 || Start < 0) throw new ArgumentException("vocabulary.txt lacks </s> or <pad>, expected both");
        model.Load(folder);
        memory = NewCache(1);
        own = NewCache(NumBeams);
    }

    /// <summary>A translation, or its beginning.</summary>
    /// <param name="Tokens">The end among them.</param>
    /// <param name="Sum">Of the logarithms of their probabilities.</param>
    /// <param name="Source">Its index among the beams of the step before.</param>
    internal sealed record Beam(long[] Tokens, double Sum, int Source)
    {
        internal static readonly Beam Empty = new([], 0, 0);

        /// <summary>The mean of the logarithms, by which translations of different lengths are compared, as Hugging
        /// Face's are.</summary>
        internal double Score => Sum / Tokens.Length;

        internal Beam Extended(long token, double logProbability, int index) =>
            new([.. Tokens, token], Sum + logProbability, index);
    }

    internal long Start { get; }

    internal long End { get; }

    internal int NumTokens => vocabulary.Length;

    internal NDManager Manager { get; } = NDManager.NewBaseManager();

    /// <summary>The id of a token, or -1 if the vocabulary lacks it.</summary>
    internal long IdOf(string token) => Array.IndexOf(vocabulary, token);

    /// <summary>The tokens up to the end, with a space between words, but not behind "l'" and the like.</summary>
    internal string TextOf(long[] tokens)
    {
        var text = new StringBuilder();
        string separator = "";
        foreach (long id in tokens.TakeWhile(id => id != End))
        {
            text.Append(separator).Append(vocabulary[id]);
            separator = vocabulary[id].EndsWith('\'') ? "" : " ";
        }
        return text.ToString();
    }

    /// <summary>Runs the encoder, and projects its output to the keys and values of all the decoder's layers. The searches
    /// below are for this sentence.</summary>
    /// <param name="ids">With the end.</param>
    internal void ReadSentence(long[] ids)
    {
        memory.Rewind(0, 0); // Drops the sentence before.
        using NDManager sub = Manager.NewSubManager();
        NDArray keys = sub.Create(ids, new Shape(1, ids.Length));
        model.Block.FillCache(new AttentionInputs { Keys = keys, Cache = memory });
    }

    /// <summary>Takes the most probable token, again and again.</summary>
    /// <param name="logits">Of each step.</param>
    internal Beam SearchGreedily(out List<float[]> logits)
    {
        own.Rewind(0, 0);
        logits = [];
        Beam beam = Beam.Empty;
        do
        {
            float[] row = Append([beam])[0];
            logits.Add(row);
            int best = Array.IndexOf(row, row.Max());
            beam = beam.Extended(best, row[best] - LogOfSum(row), 0);
        }
        while (beam.Tokens[^1] != End && beam.Tokens.Length < MaxTokens);
        return beam;
    }

    /// <summary>Goes on with the best four beginnings in each step. A beam that takes the end is a translation. The search
    /// ends when it has four translations, and none of the beams has a better score than the worst of them.</summary>
    internal Beam SearchWithBeams()
    {
        own.Rewind(0, 0);
        List<Beam> running = [Beam.Empty];
        List<Beam> finished = [];
        do
        {
            // Of these at least four go on, since each beam has one end.
            List<Beam> candidates =
                [.. Extensions(running).OrderByDescending(beam => beam.Sum).Take(2 * NumBeams)];
            finished.AddRange(candidates.Take(NumBeams).Where(beam => beam.Tokens[^1] == End));
            finished = [.. finished.OrderByDescending(beam => beam.Score).Take(NumBeams)];
            running = [.. candidates.Where(beam => beam.Tokens[^1] != End).Take(NumBeams)];

            // Each sequence of the cache becomes a copy of that of the beam which it extends. No row is copied.
            own.Reorder([.. running.Select(beam => (long)beam.Source)]);
            if (finished.Count == NumBeams && !(running[0].Score > finished[^1].Score))
            {
                break;
            }
        }
        while (running[0].Tokens.Length < MaxTokens);
        return finished.Count > 0 ? finished[0] : running[0];
    }

    public void Dispose()
    {
        model.Dispose();
        Manager.Dispose();
    }

    private KvCache NewCache(int numSequences) => new KvCache(
        Manager,
        new KvCacheOptions(model.Block) // Its layers, heads and their sizes.
        {
            MaxSequences = numSequences,
            Capacity = MaxTokens + 1,
            Layout = CacheLayout.Paged,
            PageSize = PageSize,
            NumPages = numSequences * (MaxTokens + 1) / PageSize,
        });

    /// <summary>Appends the last tokens of the beams to the sequences 0, 1, ..., and returns the logits of those that may
    /// follow.</summary>
    private float[][] Append(List<Beam> beams)
    {
        long[] tokens = [.. beams.Select(beam => beam.Tokens.Length == 0 ? Start : beam.Tokens[^1])];
        using NDManager sub = Manager.NewSubManager();
        var inputs = new AttentionInputs(sub.Create(tokens, new Shape(tokens.Length, 1)))
        {
            Cache = own,
            MemoryCache = memory,
            MemorySequences = new long[tokens.Length], // All read its sequence 0.
        };
        AttentionOutputs outputs = model.Block.CreateOutputs(inputs);
        model.Block.Forward(inputs, outputs);
        long size = outputs.Output!.Shape[2];
        if (size != NumTokens)
        {
            throw new ArgumentException($"vocabulary.txt has {NumTokens} tokens, the model {size}");
        }
        return [.. outputs.Output.ToFloatArray().Chunk(NumTokens)];
    }

    /// <summary>Each beam with each token.</summary>
    private IEnumerable<Beam> Extensions(List<Beam> beams)
    {
        float[][] logits = Append(beams);
        for (int i = 0; i < logits.Length; i++)
        {
            double logOfSum = LogOfSum(logits[i]);
            for (int id = 0; id < NumTokens; id++)
            {
                yield return beams[i].Extended(id, logits[i][id] - logOfSum, i);
            }
        }
    }

    /// <summary>What to subtract from a logit to get the logarithm of its probability.</summary>
    private static double LogOfSum(float[] logits)
    {
        double largest = logits.Max();
        return largest + Math.Log(logits.Sum(logit => Math.Exp(logit - largest)));
    }
}
