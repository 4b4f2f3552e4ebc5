// SPDX-License-Identifier: Apache-2.0
// The multi-head attention program of "Dive into Deep Learning" (d2l-java), section 10.5, line by line in C#.
//
//   MultiHeadAttentionExample                   new weights, all inputs one: prints the shape of the result
//   MultiHeadAttentionExample FILE [--print]    weights, inputs and the expected output from a safetensors file: prints
//                                               the shape, the largest difference and, with --print, every number of
//                                               the result with its bits
using System.Globalization;
using Heed;

switch (args)
{
    case []:
        RunWithNewWeights();
        return 0;
    case [var file]:
        return RunWithFile(file, print: false) ? 0 : 1;
    case [var file, "--print"]:
        return RunWithFile(file, print: true) ? 0 : 1;
    default:
        System.Console.Error.WriteLine("usage: MultiHeadAttentionExample [FILE.safetensors [--print]]");
        return 2;
}

static void RunWithNewWeights()
{
    NDManager manager = NDManager.NewBaseManager();

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
    System.Console.WriteLine(result[0].Shape);

    manager.Dispose();
}

// Returns whether the result is within the file's bound.
static bool RunWithFile(string file, bool print)
{
    using NDManager manager = NDManager.NewBaseManager();
    using MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0.5f, false);
    attention.Load(file, "attention");
    NDList input = new NDList(
        manager.Load(file, "queries"),
        manager.Load(file, "keys"),
        manager.Load(file, "values"),
        manager.Load(file, "valid_lens"));
    NDArray result = attention.Forward(new ParameterStore(manager, false), input, training: false).SingletonOrThrow();
    System.Console.WriteLine(result.Shape);

    float[] actual = result.ToFloatArray();
    double[] expected = manager.Load(file, "output").ToDoubleArray();
    double[] bound = manager.Load(file, "bound").ToDoubleArray();
    bool within = Compare(actual, expected, bound);
    if (print)
    {
        foreach (float number in actual)
        {
            string shown = number.ToString(CultureInfo.InvariantCulture);
            System.Console.WriteLine($"{shown} {System.BitConverter.SingleToUInt32Bits(number):x8}");
        }
    }
    return within;
}

// Prints the largest difference. Returns whether each is within its bound.
static bool Compare(float[] actual, double[] expected, double[] bound)
{
    int largest = 0;
    int within = 0;
    for (int i = 0; i < actual.Length; i++)
    {
        double difference = System.Math.Abs(actual[i] - expected[i]);
        if (difference > System.Math.Abs(actual[largest] - expected[largest]))
        {
            largest = i;
        }
        if (difference <= bound[i]) // Never true of a NaN.
        {
            within++;
        }
    }
    string Scientific(double number) => number.ToString("0.00e+00", CultureInfo.InvariantCulture);
    string shown = Scientific(System.Math.Abs(actual[largest] - expected[largest]));
    System.Console.WriteLine(
        $"largest difference to the file's output: {shown}, bound there {Scientific(bound[largest])}; "
        + $"{within} of {actual.Length} numbers within their bounds");
    return within == actual.Length;
}
