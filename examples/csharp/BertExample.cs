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
        int[] lengths = LengthsOf(manager.Load(cases, "attention_mask"));
        NDArray validLens = manager.Create(lengths); // Padding is hidden.
        NDList list = new NDList(ids, validLens, tokenTypes);
        NDArray states = model.Block.Forward(new ParameterStore(manager, false), list).SingletonOrThrow();
        Console.WriteLine(states.Shape);

        double difference = LargestDifference(states, manager.Load(cases, "last_hidden_state"), lengths);
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture, $"hidden states of PyTorch: largest difference {difference:0.0e-00}"));
        return difference < 1e-4 ? 0 : 1;
    }

    /// <summary>The number of tokens of each text: the mask (B, S) has ones for tokens and zeros for padding behind
    /// them.</summary>
    private static int[] LengthsOf(NDArray mask)
    {
        long[] ones = mask.ToLongArray();
        int size = (int)mask.Shape[1];
        var lengths = new int[ones.Length / size];
        for (int i = 0; i < ones.Length; i++)
        {
            lengths[i / size] += (int)ones[i];
        }
        return lengths;
    }

    /// <summary>The largest difference in the rows of tokens; rows of padding have no meaning.</summary>
    private static double LargestDifference(NDArray found, NDArray expected, int[] lengths)
    {
        float[] a = found.ToFloatArray();
        float[] b = expected.ToFloatArray();
        int size = (int)found.Shape[1];
        int width = (int)found.Shape[2];
        double largest = 0;
        for (int i = 0; i < a.Length; i++)
        {
            int row = i / width;
            if (row % size < lengths[row / size])
            {
                largest = Math.Max(largest, Math.Abs((double)a[i] - b[i])); // NaN stays.
            }
        }
        return largest;
    }
}
