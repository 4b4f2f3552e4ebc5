// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using TorchSharp;
using static TorchSharp.torch;

namespace MakeModel;

/// <summary>A translation.</summary>
/// <param name="Ids">With the end token.</param>
/// <param name="Score">The mean of the logarithms of their probabilities.</param>
/// <param name="Margin">The smallest difference that decided between two tokens or beams, of logits or of means of
/// logarithms: rounding errors below half of it change no id.</param>
internal sealed record Translation(long[] Ids, double Score, double Margin);

/// <summary>Greedy search and beam search. Each step computes all rows anew.</summary>
internal sealed class Search(Translator translator, long start, long end)
{
    private const int NumBeams = 4;

    private sealed record Beam(long[] Ids, double Sum)
    {
        /// <summary>As Hugging Face's, with a length penalty of 1. The start token does not count.</summary>
        internal double Score => Sum / Ids.Length;
    }

    /// <summary>The source may be a batch with padding.</summary>
    internal long[][] Greedy(long[][] sources, long pad)
    {
        using var scope = NewDisposeScope();
        Tensor ids = Batch(sources, pad);
        Tensor memory = translator.Encode(ids);
        var targets = sources.Select(_ => new List<long>()).ToArray();
        while (targets[0].Count < Translator.MaxLength - 1 && targets.Any(t => !t.Contains(end)))
        {
            Tensor rows = Batch(targets.Select(t => t.Prepend(start).ToArray()).ToArray(), pad);
            long[] best = translator.Decode(rows, ids, memory)[.., -1].argmax(-1).data<long>().ToArray();
            for (int i = 0; i < targets.Length; i++)
            {
                targets[i].Add(best[i]);
            }
        }
        return targets.Select(t => t.TakeWhile(id => id != end).Append(end).ToArray()).ToArray();
    }

    internal Translation Greedy(long[] source, out List<double[]> logits)
    {
        logits = [];
        var beam = new Beam([], 0);
        double margin = double.PositiveInfinity;
        while (beam.Ids.LastOrDefault(-1) != end && beam.Ids.Length < Translator.MaxLength - 1)
        {
            double[] row = Logits(source, [beam])[0];
            logits.Add(row);
            double[] logProbabilities = LogSoftmax(row);
            int[] best = [.. Enumerable.Range(0, row.Length).OrderByDescending(id => row[id]).Take(2)];
            margin = Math.Min(margin, row[best[0]] - row[best[1]]);
            beam = new Beam([.. beam.Ids, best[0]], beam.Sum + logProbabilities[best[0]]);
        }
        return new Translation(beam.Ids, beam.Score, margin);
    }

    internal Translation BeamSearch(long[] source)
    {
        List<Beam> running = [new([], 0)];
        List<Beam> finished = [];
        double margin = double.PositiveInfinity;
        while (running[0].Ids.Length < Translator.MaxLength - 1)
        {
            double[][] logits = Logits(source, running);
            List<Beam> candidates = [.. running
                .SelectMany((beam, i) => LogSoftmax(logits[i]).Select((p, id) => new Beam([.. beam.Ids, (long)id], beam.Sum + p)))
                .OrderByDescending(beam => beam.Sum)
                .Take(2 * NumBeams + 1)];
            margin = Math.Min(margin, SmallestGap(candidates.Select(beam => beam.Score)));
            finished.AddRange(candidates.Take(NumBeams).Where(beam => beam.Ids[^1] == end));
            finished = [.. finished.OrderByDescending(beam => beam.Score)];
            margin = Math.Min(margin, SmallestGap(finished.Select(beam => beam.Score)));
            finished = [.. finished.Take(NumBeams)];
            running = [.. candidates.Take(2 * NumBeams).Where(beam => beam.Ids[^1] != end).Take(NumBeams)];
            if (finished.Count == NumBeams)
            {
                double difference = finished[^1].Score - running[0].Score;
                margin = Math.Min(margin, Math.Abs(difference));
                if (difference >= 0)
                {
                    break;
                }
            }
        }
        if (finished.Count < NumBeams)
        {
            throw new InvalidOperationException("a beam search did not end: train for longer");
        }
        return new Translation(finished[0].Ids, finished[0].Score, margin);
    }

    /// <summary>The logits behind the last token of each beam.</summary>
    private double[][] Logits(long[] source, List<Beam> beams)
    {
        using var scope = NewDisposeScope();
        Tensor ids = Batch([.. beams.Select(_ => source)], 0);
        Tensor rows = Batch([.. beams.Select(beam => beam.Ids.Prepend(start).ToArray())], 0);
        Tensor logits = translator.Decode(rows, ids, translator.Encode(ids))[.., -1].to(ScalarType.Float64);
        return [.. logits.contiguous().data<double>().ToArray().Chunk((int)logits.shape[1])];
    }

    /// <summary>(B, S), padded at the end.</summary>
    internal static Tensor Batch(long[][] rows, long pad)
    {
        int length = rows.Max(row => row.Length);
        long[] all = [.. rows.SelectMany(row => row.Concat(Enumerable.Repeat(pad, length - row.Length)))];
        return tensor(all).reshape(rows.Length, length);
    }

    private static double[] LogSoftmax(double[] logits)
    {
        double largest = logits.Max();
        double logOfSum = largest + Math.Log(logits.Sum(logit => Math.Exp(logit - largest)));
        return [.. logits.Select(logit => logit - logOfSum)];
    }

    private static double SmallestGap(IEnumerable<double> sorted) =>
        sorted.Zip(sorted.Skip(1), (a, b) => a - b).DefaultIfEmpty(double.PositiveInfinity).Min();
}
