// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using Heed;

/// <summary>Compares a result with the "output" of a safetensors file, within the file's "bound".</summary>
internal static class Comparison
{
    /// <summary>Prints the shape and the largest difference. Returns whether all numbers are within their
    /// bounds.</summary>
    internal static bool WithFile(NDArray result, string file)
    {
        float[] actual = result.ToFloatArray();
        double[] expected = result.Manager.Load(file, "output").ToDoubleArray();
        double[] bound = result.Manager.Load(file, "bound").ToDoubleArray();
        int largest = 0;
        int within = 0;
        for (int i = 0; i < actual.Length; i++)
        {
            double difference = Math.Abs(actual[i] - expected[i]);
            if (difference > Math.Abs(actual[largest] - expected[largest]))
            {
                largest = i;
            }
            if (difference <= bound[i]) // Never true of a NaN.
            {
                within++;
            }
        }
        string Scientific(double number) => number.ToString("0.00e+00", CultureInfo.InvariantCulture);
        string found = Scientific(Math.Abs(actual[largest] - expected[largest]));
        Console.WriteLine(result.Shape);
        Console.WriteLine(
            $"largest difference to the file's output: {found}, bound there {Scientific(bound[largest])}; "
            + $"{within} of {actual.Length} numbers within their bounds");
        return within == actual.Length;
    }
}
