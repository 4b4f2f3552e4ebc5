// SPDX-License-Identifier: Apache-2.0
// The multi-head attention program of "Dive into Deep Learning" (d2l-java), section 10.5, line by line in C#.
//
//   run multi_head_attention                   new weights, all inputs one: prints the shape of the result
//   run multi_head_attention FILE [--print]    weights, inputs and the expected output from a safetensors file: prints
//                                              the shape, the largest difference and, with --print, every number of
//                                              the result with its bits
//   run multi_head_attention --device ascend   the same, also with FILE, on a Huawei Ascend NPU, which computes in 16
//                                              bits
using System;
using System.Globalization;
using Heed;

internal static class MultiHeadAttentionExample
{
    internal static int Main(string[] args)
    {
        Device device = Device.Cpu();
        if (args is ["--device", var name, ..])
        {
            device = Device.FromName(name);
            args = args[2..];
        }
        switch (args)
        {
            case []:
                RunWithNewWeights(device);
                return 0;
            case [var file]:
                return RunWithFile(device, file, print: false) ? 0 : 1;
            case [var file, "--print"]:
                return RunWithFile(device, file, print: true) ? 0 : 1;
            default:
                Console.Error.WriteLine(
                    "usage: multi_head_attention [--device cpu|ascend] [FILE.safetensors [--print]]");
                return 2;
        }
    }

    /// <summary>All arrays here are Float32, which the NPU rounds to BFloat16 if it may.</summary>
    private static NDManager NewManager(Device device) =>
        NDManager.NewBaseManager(device, new ContextOptions { AllowReducedPrecision = true });

    private static void RunWithNewWeights(Device device)
    {
        NDManager manager = NewManager(device);

        int numHiddens = 100;
        int numHeads = 5;
        MultiHeadAttention attention = new MultiHeadAttention(numHiddens, numHeads, 0.5f, false);

        int batchSize = 2;
        int numQueries = 4;
        int numKvpairs = 6;
        NDArray validLens = manager.Create(new float[] { 3, 2 });
        NDArray X = manager.Ones(new Shape(batchSize, numQueries, numHiddens));
        NDArray Y = manager.Ones(new Shape(batchSize, numKvpairs, numHiddens));

        ParameterStore ps = new ParameterStore(manager, false);
        NDList input = new NDList(X, Y, Y, validLens);
        attention.Initialize(manager, DataType.Float32, input.GetShapes());
        NDList result = attention.Forward(ps, input, training: false);
        Console.WriteLine(result[0].Shape);

        manager.Dispose();
    }

    /// <summary>Returns whether the result is within the file's bound.</summary>
    private static bool RunWithFile(Device device, string file, bool print)
    {
        using NDManager manager = NewManager(device);
        using MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0.5f, false);
        attention.Load(file, "attention");
        NDList input = new NDList(
            manager.Load(file, "queries"),
            manager.Load(file, "keys"),
            manager.Load(file, "values"),
            manager.Load(file, "valid_lens"));
        NDArray result = attention.Forward(new ParameterStore(manager, false), input, training: false).SingletonOrThrow();
        bool within = Comparison.WithFile(result, file);
        if (print)
        {
            foreach (float number in result.ToFloatArray())
            {
                string shown = number.ToString(CultureInfo.InvariantCulture);
                Console.WriteLine($"{shown} {BitConverter.SingleToUInt32Bits(number):x8}");
            }
        }
        return within;
    }
}
