// SPDX-License-Identifier: Apache-2.0
// A decoder's attention with a cache of pages. The prompt is read once; then each step computes one row for each of two
// beams, which share the pages of the prompt. One beam is dropped. The other is saved to a file, loaded into a cache
// with pages of another size, and goes on in both with the same bits.
//
//   run beams_with_cache
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Heed;

internal static class BeamsWithCacheExample
{
    private const int NumHiddens = 64;
    private const int NumHeads = 4;
    private const int NumKvHeads = 2;
    private const int PromptRows = 8;
    private const int NumSteps = 5;

    internal static int Main()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using MultiHeadAttention attention = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = NumHiddens,
            NumHeads = NumHeads,
            NumKvHeads = NumKvHeads,
            Causal = Causal.BottomRight,
            Rope = new RopeOptions { Layout = RopeLayout.Half },
        });
        Shape shape = new Shape(1, PromptRows, NumHiddens);
        attention.SetSeed(42);
        attention.Initialize(manager, DataType.Float32, shape, shape, shape); // A program's weights: Load.
        manager.SetSeed(7);
        NDArray prompt = manager.RandomNormal(shape); // A program's embeddings.

        using KvCache cache = NewCache(manager, pageSize: 16);
        float[] next = Normalized(Append(attention, cache, prompt).AsSpan((PromptRows - 1) * NumHiddens).ToArray());
        Console.WriteLine($"prompt: {cache.Length(0)} rows, {cache.FreePages} pages free");

        // The beams begin with different rows. A program takes the embeddings of the two best tokens.
        cache.Fork(0, PromptRows, 1);
        Console.WriteLine($"two beams: {cache.Length(1)} rows each, {cache.FreePages} pages free");
        Decoder beams = new Decoder(attention, cache, 0, 1);
        next.CopyTo(beams.Rows, 0);
        next.Select(number => -number).ToArray().CopyTo(beams.Rows, NumHiddens);
        List<float> rows = [.. prompt.ToFloatArray()];
        List<float> results = [];
        for (int step = 0; step < NumSteps; step++)
        {
            rows.AddRange(beams.Rows[NumHiddens..]);
            results.AddRange(beams.Step()[NumHiddens..]);
        }
        Console.WriteLine($"{NumSteps} steps: {cache.Length(1)} rows each, {cache.FreePages} pages free");

        // Beam 1 in one call: a row has the same bits with any number of rows in the call.
        using KvCache whole = NewCache(manager, pageSize: 32);
        NDArray all = manager.Create(rows.ToArray(), new Shape(1, PromptRows + NumSteps, NumHiddens));
        float[] inOneCall = Append(attention, whole, all);
        bool isSame = inOneCall.AsSpan(PromptRows * NumHiddens).SequenceEqual(results.ToArray());
        Console.WriteLine($"beam 1 in one call: {Describe(isSame)}");

        // Beam 1 becomes beam 0.
        float[] last = beams.Rows[NumHiddens..];
        cache.Reorder(1);
        cache.Rewind(1, 0);
        Console.WriteLine($"beam 0 dropped: {cache.FreePages} pages free");

        using KvCache other = NewCache(manager, pageSize: 32);
        SaveAndLoad(cache, other);
        isSame &= GoOn(attention, cache, last).SequenceEqual(GoOn(attention, other, last));
        Console.WriteLine($"saved and resumed: {other.Length(0)} rows, {Describe(isSame)}");
        return isSame ? 0 : 1;
    }

    /// <summary>A cache of 128 rows, which two sequences share.</summary>
    private static KvCache NewCache(NDManager manager, int pageSize) => new KvCache(manager, new KvCacheOptions
    {
        MaxSequences = 2,
        NumKvHeads = NumKvHeads,
        HeadSize = NumHiddens / NumHeads,
        Capacity = 64,
        Layout = CacheLayout.Paged,
        PageSize = pageSize,
        NumPages = 128 / pageSize,
    });

    /// <summary>Appends rows to sequence 0, and returns their outputs.</summary>
    private static float[] Append(MultiHeadAttention attention, KvCache cache, NDArray rows)
    {
        AttentionInputs inputs = new AttentionInputs(rows) { Cache = cache };
        using AttentionOutputs outputs = attention.CreateOutputs(inputs);
        attention.Forward(inputs, outputs);
        return outputs.Output!.ToFloatArray();
    }

    private static void SaveAndLoad(KvCache from, KvCache to)
    {
        string file = Path.GetTempFileName();
        try
        {
            from.Save(0, file);
            to.Load(0, file);
        }
        finally
        {
            File.Delete(file);
        }
    }

    /// <summary>The outputs of further steps of sequence 0.</summary>
    private static float[] GoOn(MultiHeadAttention attention, KvCache cache, float[] row)
    {
        Decoder decoder = new Decoder(attention, cache, 0);
        row.CopyTo(decoder.Rows, 0);
        List<float> results = [];
        for (int step = 0; step < NumSteps; step++)
        {
            results.AddRange(decoder.Step());
        }
        return results.ToArray();
    }

    /// <summary>The row, scaled so that the mean of its squares is 1.</summary>
    private static float[] Normalized(float[] row)
    {
        float sum = 0;
        foreach (float number in row)
        {
            sum += number * number;
        }
        float scale = 1 / MathF.Sqrt(sum / row.Length + 1e-6f);
        return row.Select(number => number * scale).ToArray();
    }

    private static string Describe(bool isSame) => isSame ? "the same bits" : "DIFFERENT bits";

    /// <summary>Steps of some sequences. Inputs and outputs are made once.</summary>
    private sealed class Decoder
    {
        private readonly MultiHeadAttention attention;
        private readonly AttentionInputs inputs;
        private readonly AttentionOutputs outputs;
        private readonly Memory<float> results;

        public Decoder(MultiHeadAttention attention, KvCache cache, params long[] sequences)
        {
            this.attention = attention;
            Rows = new float[sequences.Length * NumHiddens];
            inputs = new AttentionInputs(cache.Manager.Wrap(Rows, new Shape(sequences.Length, 1, NumHiddens)))
            {
                Cache = cache,
                Sequences = sequences,
            };
            outputs = attention.CreateOutputs(inputs);
            results = outputs.Output!.AsMemory<float>();
        }

        /// <summary>The next row of each sequence.</summary>
        public float[] Rows { get; }

        /// <summary>Appends the rows, sets those of the next step to the outputs, and returns the outputs.</summary>
        public float[] Step()
        {
            attention.Forward(inputs, outputs);
            float[] found = results.ToArray();
            for (int first = 0; first < found.Length; first += NumHiddens)
            {
                Normalized(found[first..(first + NumHiddens)]).CopyTo(Rows, first);
            }
            return found;
        }
    }
}
