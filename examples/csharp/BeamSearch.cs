// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Heed;

/// <summary>Searches translations with a decoder, which adds one token after the other, and keeps the keys and values of its
/// own tokens in a cache; those of the encoder's output are in another. Greedy search has one sequence in the decoder's
/// cache, beam search four, which share pages.</summary>
internal sealed class BeamSearch
{
    private const int NumBeams = 4;
    private const int PageSize = 16;

    private readonly NDManager manager;
    private readonly NativeBlock decoder;
    private readonly long start;
    private readonly long end;
    private readonly int numTokens;
    private readonly int maxTokens;

    /// <summary>Keys and values of the encoder's output, of one sentence.</summary>
    private readonly KvCache memory;

    /// <summary>Keys and values of the decoder's own tokens, a sequence for each beam.</summary>
    private readonly KvCache own;

    /// <summary>Makes a search.</summary>
    /// <param name="manager">The owner of the caches.</param>
    /// <param name="decoder">A decoder with an embedding and an output, or a whole model with one.</param>
    /// <param name="start">The token before the first one.</param>
    /// <param name="end">The token behind the last one.</param>
    /// <param name="numTokens">The size of the vocabulary.</param>
    /// <param name="maxTokens">Where a search stops that finds no end; the decoder has a position more. A multiple of 16,
    /// less one.</param>
    internal BeamSearch(NDManager manager, NativeBlock decoder, long start, long end, int numTokens, int maxTokens)
    {
        this.manager = manager;
        this.decoder = decoder;
        this.start = start;
        this.end = end;
        this.numTokens = numTokens;
        this.maxTokens = maxTokens;
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

    /// <summary>The cache for a sentence's keys and values, empty: FillCache of the decoder fills it. The searches are for
    /// it.</summary>
    internal KvCache NewSentence()
    {
        memory.Rewind(0, 0);
        return memory;
    }

    /// <summary>Takes the most probable token, again and again.</summary>
    /// <param name="logits">Of each step.</param>
    internal Beam Greedily(out List<float[]> logits)
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
        while (beam.Tokens[^1] != end && beam.Tokens.Length < maxTokens);
        return beam;
    }

    /// <summary>Goes on with the best four beginnings in each step. A beam that takes the end is a translation. The search
    /// ends when it has four translations, and none of the beams has a better score than the worst of them.</summary>
    internal Beam WithBeams()
    {
        own.Rewind(0, 0);
        List<Beam> running = [Beam.Empty];
        List<Beam> finished = [];
        do
        {
            // Of these at least four go on, since each beam has one end.
            List<Beam> candidates =
                [.. Extensions(running).OrderByDescending(beam => beam.Sum).Take(2 * NumBeams)];
            finished.AddRange(candidates.Take(NumBeams).Where(beam => beam.Tokens[^1] == end));
            finished = [.. finished.OrderByDescending(beam => beam.Score).Take(NumBeams)];
            running = [.. candidates.Where(beam => beam.Tokens[^1] != end).Take(NumBeams)];

            // Each sequence of the cache becomes a copy of that of the beam which it extends. No row is copied.
            own.Reorder([.. running.Select(beam => (long)beam.Source)]);
            if (finished.Count == NumBeams && !(running[0].Score > finished[^1].Score))
            {
                break;
            }
        }
        while (running[0].Tokens.Length < maxTokens);
        return finished.Count > 0 ? finished[0] : running[0];
    }

    private KvCache NewCache(int numSequences) => new KvCache(
        manager,
        new KvCacheOptions(decoder) // Its layers, heads and their sizes.
        {
            MaxSequences = numSequences,
            Capacity = maxTokens + 1,
            Layout = CacheLayout.Paged,
            PageSize = PageSize,
            NumPages = numSequences * (maxTokens + 1) / PageSize,
        });

    /// <summary>Appends the last tokens of the beams to the sequences 0, 1, ..., and returns the logits of those that may
    /// follow.</summary>
    private float[][] Append(List<Beam> beams)
    {
        long[] tokens = [.. beams.Select(beam => beam.Tokens.Length == 0 ? start : beam.Tokens[^1])];
        using NDManager sub = manager.NewSubManager();
        var inputs = new AttentionInputs(sub.Create(tokens, new Shape(tokens.Length, 1)))
        {
            Cache = own,
            MemoryCache = memory,
            MemorySequences = new long[tokens.Length], // All read its sequence 0.
        };
        AttentionOutputs outputs = decoder.CreateOutputs(inputs);
        decoder.Forward(inputs, outputs);
        long size = outputs.Output!.Shape[2];
        if (size != numTokens)
        {
            throw new ArgumentException($"the vocabulary has {numTokens} tokens, the model {size}");
        }
        return [.. outputs.Output.ToFloatArray().Chunk(numTokens)];
    }

    /// <summary>Each beam with each token.</summary>
    private IEnumerable<Beam> Extensions(List<Beam> beams)
    {
        float[][] logits = Append(beams);
        for (int i = 0; i < logits.Length; i++)
        {
            double logOfSum = LogOfSum(logits[i]);
            for (int id = 0; id < numTokens; id++)
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
