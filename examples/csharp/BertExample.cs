// SPDX-License-Identifier: Apache-2.0
// A whole BERT from its folder as Hugging Face's libraries write it: ids to hidden states, compared with PyTorch's.
//
//   run bert tests/golden/data/models/bert tests/golden/data/models/bert/cases.safetensors
//
// The folder has config.json and model.safetensors. The second file has the ids of two texts of different lengths, as a
// tokenizer gives them (input_ids, token_type_ids, attention_mask), and the hidden states that PyTorch computed.
using System;
using System.Globalization;
using Heed;

internal static class BertExample
{
    internal static int Main(string[] args)
    {
        if (args is not [var folder, var cases])
        {
            Console.Error.WriteLine("usage: bert FOLDER CASES.safetensors");
            return 2;
        }
        using NDManager manager = NDManager.NewBaseManager();
        using Model model = new Model("bert");
        model.Load(folder);

        NDArray ids = manager.Load(cases, "input_ids");
        NDArray tokenTypes = manager.Load(cases, "token_type_ids");
        NDArray mask = manager.Load(cases, "attention_mask");
        // Padding is hidden.
        NDArray states = model.Block.Forward(
            new AttentionInputs(ids) { AttentionMask = mask, TokenTypes = tokenTypes });
        Console.WriteLine(states.Shape);

        double difference = LargestDifference(states, manager.Load(cases, "last_hidden_state"), mask);
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture, $"hidden states of PyTorch: largest difference {difference:0.0e-00}"));
        return difference < 1e-4 ? 0 : 1;
    }

    /// <summary>The largest difference in the rows of tokens, for which the mask has ones; rows of padding have no
    /// meaning.</summary>
    private static double LargestDifference(NDArray found, NDArray expected, NDArray mask)
    {
        float[] a = found.ToFloatArray();
        float[] b = expected.ToFloatArray();
        long[] isToken = mask.ToLongArray();
        int width = (int)found.Shape[2];
        double largest = 0;
        for (int i = 0; i < a.Length; i++)
        {
            if (isToken[i / width] != 0)
            {
                largest = Math.Max(largest, Math.Abs((double)a[i] - b[i])); // NaN stays.
            }
        }
        return largest;
    }
}
