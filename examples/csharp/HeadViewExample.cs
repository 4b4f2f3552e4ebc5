// SPDX-License-Identifier: Apache-2.0
// Writes a page with each head's attention weights, for the first element of a batch.
//
//   run head_view TEMPLATE PAGE FILE NUM_HEADS [QUERY_TOKENS [KEY_TOKENS]]
//
// examples/head_view/README.md has the arguments, and the JSON.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using Heed;

internal static class HeadViewExample
{
    private const string Place = "@HEED_HEADS@";

    internal static int Main(string[] args)
    {
        if (args.Length is < 4 or > 6 || !int.TryParse(args[3], out int numHeads))
        {
            Console.Error.WriteLine(
                "usage: head_view TEMPLATE PAGE FILE.safetensors NUM_HEADS [QUERY_TOKENS [KEY_TOKENS]]");
            return 2;
        }
        string template = File.ReadAllText(args[0]);
        if (!template.Contains(Place))
        {
            Console.Error.WriteLine($"no place for the data, {Place}, in {args[0]}");
            return 1;
        }
        using NDManager manager = NDManager.NewBaseManager();
        string heads = HeadsOf(Attend(manager, args[2], numHeads)[0]);
        string json = $"{{\"title\": \"Attention weights\", \"layer\": {Quoted(args[2])}"
            + (args.Length > 4 ? $",\n\"queries\": {Tokens(args[4])}" : "")
            + (args.Length > 5 ? $",\n\"keys\": {Tokens(args[5])}" : "")
            + $",\n\"heads\": {heads}}}";
        File.WriteAllText(args[1], template.Replace(Place, json));
        return 0;
    }

    /// <summary>The attention weights (B, H, Q, K).</summary>
    private static NDArray Attend(NDManager manager, string file, int numHeads)
    {
        AttentionInputs inputs = new AttentionInputs
        {
            Queries = manager.Load(file, "queries"),
            Keys = LoadIfThere(manager, file, "keys"),
            Values = LoadIfThere(manager, file, "values"),
            ValidLens = LoadIfThere(manager, file, "valid_lens"),
            Mask = LoadIfThere(manager, file, "mask"),
        };
        using MultiHeadAttention attention = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = inputs.Queries.GetSize(-1),
            NumHeads = numHeads,
        });
        attention.Load(file, "attention");
        AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.Weights);
        attention.Forward(inputs, outputs);
        return outputs.Weights!;
    }

    private static NDArray? LoadIfThere(NDManager manager, string file, string name)
    {
        try
        {
            return manager.Load(file, name);
        }
        catch (HeedException error) when (error.Status == Status.NotFound)
        {
            return null;
        }
    }

    /// <summary>The weights (H, Q, K) as JSON.</summary>
    private static string HeadsOf(NDArray weights)
    {
        List<string> heads = new List<string>();
        for (int head = 0; head < weights.GetSize(0); head++)
        {
            List<string> rows = new List<string>();
            for (int query = 0; query < weights.GetSize(1); query++)
            {
                rows.Add(ListOf(weights[head, query].ToFloatArray().Select(NumberOf)));
            }
            heads.Add($"\n{{\"name\": \"head {head}\", \"weights\": [\n{string.Join(",\n", rows)}]}}");
        }
        return ListOf(heads);
    }

    /// <summary>A number that reads back as the same float. It has a decimal point in every country; JSON has no
    /// NaN.</summary>
    private static string NumberOf(float number) =>
        float.IsFinite(number) ? number.ToString(CultureInfo.InvariantCulture) : "null";

    /// <summary>The lines of a text file as JSON.</summary>
    private static string Tokens(string file) => ListOf(File.ReadLines(file).Select(Quoted));

    private static string ListOf(IEnumerable<string> elements) => $"[{string.Join(", ", elements)}]";

    /// <summary>A JSON string. Written like this, no text can end the script element that the JSON is in.</summary>
    private static string Quoted(string text) =>
        $"\"{string.Concat(text.Select(c => c < ' ' || "\"\\<".Contains(c) ? $"\\u{(int)c:x4}" : $"{c}"))}\"";
}
