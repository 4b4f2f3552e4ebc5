// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using Heed;

/// <summary>Compares a result with the "output" of a safetensors file.</summary>
internal static class Comparison
{
    /// <summary>How much larger rounding errors are in bfloat16 (8 bits of precision) than in float (24).</summary>
    private const double TimesLarger = 65536;

    /// <summary>Prints the shape and the largest difference. Returns whether all numbers are within the file's
    /// "bound"; for a device that computes in 16 bits, whether all together are within what that makes of the file's
    /// "deviation".</summary>
    internal static bool WithFile(NDArray result, string file)
    {
        Console.WriteLine(result.Shape);
        return result.Device.Equals(Device.Cpu()) ? OfFloats(result, file) : In16Bits(result, file);
    }

    private static bool OfFloats(NDArray result, string file)
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
            if (difference <= bound[i]) // False for a NaN.
            {
                within++;
            }
        }
        string found = Scientific(Math.Abs(actual[largest] - expected[largest]));
        Console.WriteLine(
            $"largest difference to the file's output: {found}, bound there {Scientific(bound[largest])}; "
            + $"{within} of {actual.Length} numbers within their bounds");
        return within == actual.Length;
    }

    private static bool In16Bits(NDArray result, string file)
    {
        float[] actual = result.ToFloatArray();
        double[] expected = result.Manager.Load(file, "output").ToDoubleArray();
        double deviation = TimesLarger * result.Manager.Load(file, "deviation").ToDoubleArray()[0];
        double largest = 0;
        double sumOfSquares = 0;
        for (int i = 0; i < actual.Length; i++)
        {
            double difference = Math.Abs(actual[i] - expected[i]);
            largest = Math.Max(largest, difference);
            sumOfSquares += difference * difference;
        }
        double mean = sumOfSquares / actual.Length;
        Console.WriteLine(
            $"largest difference to the file's output: {Scientific(largest)}, mean of the squares "
            + $"{Scientific(mean)}, expected in 16 bits up to {Scientific(deviation * deviation)}");
        return mean <= deviation * deviation; // False for a NaN.
    }

    private static string Scientific(double number) => number.ToString("0.00e+00", CultureInfo.InvariantCulture);
}
