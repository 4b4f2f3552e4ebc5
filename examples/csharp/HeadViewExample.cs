// SPDX-License-Identifier: Apache-2.0
// Writes a page with each head's attention weights, for the first element of a batch.
//
//   run head_view TEMPLATE PAGE FILE NUM_HEADS [QUERY_TOKENS [KEY_TOKENS]]
//
// examples/head_view/README.md has the arguments, and the JSON.
using System;
using System.IO;
using Heed;

internal static class HeadViewExample
{
    internal static int Main(string[] args)
    {
        if (args.Length is < 4 or > 6 || !int.TryParse(args[3], out int numHeads))
        {
            Console.Error.WriteLine(
                "usage: head_view TEMPLATE PAGE FILE.safetensors NUM_HEADS [QUERY_TOKENS [KEY_TOKENS]]");
            return 2;
        }
        using NDManager manager = NDManager.NewBaseManager();
        NDArray weights = Attend(manager, args[2], numHeads)[0];
        string[]? queries = args.Length > 4 ? File.ReadAllLines(args[4]) : null;
        string[]? keys = args.Length > 5 ? File.ReadAllLines(args[5]) : null;
        HeadPage.Write(args[0], args[1], args[2], queries, keys, weights);
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
}
