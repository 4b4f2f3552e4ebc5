// SPDX-License-Identifier: Apache-2.0
using System;
using Heed;

/// <summary>The d2l program with weights, inputs and PyTorch's output from a file, for .NET Standard 2.0.</summary>
public static class GoldenProgram
{
    /// <summary>The shape of the result, and how many of its numbers are within their bounds.</summary>
    public static string Run(string file)
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var attention = new MultiHeadAttention(100, 5, 0.5f, false);
        attention.Load(file, "attention");
        var input = new NDList(
            manager.Load(file, "queries"),
            manager.Load(file, "keys"),
            manager.Load(file, "values"),
            manager.Load(file, "valid_lens"));
        NDArray result = attention.Forward(new ParameterStore(manager, false), input, training: false)[0];

        float[] actual = result.ToFloatArray();
        double[] expected = manager.Load(file, "output").ToDoubleArray();
        double[] bound = manager.Load(file, "bound").ToDoubleArray();
        int within = 0;
        for (int i = 0; i < actual.Length; i++)
        {
            within += Math.Abs(actual[i] - expected[i]) <= bound[i] ? 1 : 0;
        }
        return $"{result.Shape}\n{within} of {actual.Length} numbers within their bounds";
    }
}
