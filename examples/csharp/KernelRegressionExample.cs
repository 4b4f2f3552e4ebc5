// SPDX-License-Identifier: Apache-2.0
// Attention pooling of "Dive into Deep Learning": Nadaraya-Watson kernel regression, whose one parameter is learned. A
// point's prediction is the mean of the other points' values, weighted by the softmax of how near they are; the parameter
// says how fast weights fall with the distance.
//
//   run kernel_regression [PICTURE.svg]
using System;
using System.Collections.Generic;
using System.Globalization;
using Heed;

internal static class KernelRegressionExample
{
    private const int NumPoints = 50;
    private const int NumEpochs = 40;
    private const double LearningRate = 1;

    internal static int Main(string[] args)
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var block = new KernelRegression();
        manager.SetSeed(2);
        NDArray x = manager.RandomUniform(0, 5, new Shape(NumPoints)).Sort();
        NDArray y = Truth(x) + manager.RandomNormal(0, 0.5f, new Shape(NumPoints));

        // Row i has all points but point i, which would see its own value.
        NDArray others = manager.Eye(NumPoints).Eq(0);
        NDArray keys = RowsOf(x, others);
        NDArray values = RowsOf(y, others);
        block.Initialize(manager, DataType.Float32, x.Shape, keys.Shape, values.Shape);

        using var optimizer = new Sgd(block.Parameters, LearningRate);
        var losses = new List<float>();
        for (int epoch = 0; epoch < NumEpochs; epoch++)
        {
            using (GradientTape tape = manager.NewGradientTape())
            {
                NDArray predictions = block.Forward(new ParameterStore(), new NDList(x, keys, values), true).Head;
                NDArray loss = Loss.SquaredError(predictions, y, 0.5);
                tape.Backward(loss);
                losses.Add(loss.Item<float>());
            }
            optimizer.Step();
            optimizer.ZeroGradients();
        }

        float ofMean = Loss.SquaredError(values.Mean([1]), y, 0.5).Item<float>();
        float w = block.Parameters["w"].Array.Item<float>();
        Print($"the mean of the others: loss {ofMean:F3}");
        Print($"attention, {NumEpochs} epochs: the loss falls from {losses[0]:F3} to {losses[^1]:F3}; w is {w:F2}");
        PrintErrors(block, x, y);
        if (args.Length > 0)
        {
            LossCurve.Write(args[0], "Kernel regression learns its width", losses, ofMean);
        }
        return losses[^1] < losses[0] && losses[^1] < ofMean ? 0 : 1;
    }

    /// <summary>What the points are drawn from, before the noise.</summary>
    private static NDArray Truth(NDArray x) => (2 * x.Sin()) + x.Pow(0.8);

    /// <summary>As many rows as the mask has, each with the elements that the mask's row chooses.</summary>
    private static NDArray RowsOf(NDArray elements, NDArray mask)
    {
        long numRows = mask.GetSize(0);
        return elements.Tile(new[] { numRows, 1 })[mask].Reshape(numRows, -1);
    }

    /// <summary>How far new predictions are from the truth.</summary>
    private static void PrintErrors(KernelRegression block, NDArray x, NDArray y)
    {
        NDArray queries = x.Manager.Arange(0f, 5f, 0.1f);
        long[] repeats = [queries.GetSize(0), 1];
        NDArray predictions = block.Forward(queries, x.Tile(repeats), y.Tile(repeats)).Head;
        double ofAttention = Distance(predictions, Truth(queries));
        double ofMean = Distance(y.Mean(), Truth(queries));
        Print($"distance to the truth, root of the mean square: {ofAttention:F2}; that of the mean of all points: {ofMean:F2}");
    }

    private static double Distance(NDArray a, NDArray b) => Math.Sqrt((a - b).Square().Mean().Item<float>());

    private static void Print(FormattableString text) => Console.WriteLine(text.ToString(CultureInfo.InvariantCulture));

    /// <summary>The block of the chapter, with a parameter of its own.</summary>
    private sealed class KernelRegression : AbstractBlock
    {
        private readonly Parameter w;

        public KernelRegression()
        {
            w = AddParameter(new Parameter("w", ParameterType.Weight, new Shape(1), new ConstantInitializer(1)));
        }

        /// <summary>Of queries (Q), keys (Q, K) and values (Q, K): the predictions (Q).</summary>
        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray keys = inputs[1];
            NDArray values = inputs[2];
            long numKeys = keys.GetSize(1);
            NDArray queries = inputs[0].Repeat(numKeys).Reshape(-1, numKeys);
            NDArray weights = (-((queries - keys) * w.Array).Square() / 2).Softmax(-1);
            return new NDList(weights.ExpandDims(1).BatchDot(values.ExpandDims(-1)).Reshape(-1));
        }
    }
}
