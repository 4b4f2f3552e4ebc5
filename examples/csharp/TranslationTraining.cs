// SPDX-License-Identifier: Apache-2.0
using Heed;

/// <summary>Trains a block on sentence pairs, all of them in each step.</summary>
internal static class TranslationTraining
{
    private const double MaxNorm = 1; // Of the gradients.

    /// <summary>Matrices of c columns begin uniformly between -1 / sqrt(c) and 1 / sqrt(c), as PyTorch's linear layers
    /// do.</summary>
    private static readonly Initializer Initializer =
        new XavierInitializer(XavierInitializer.RandomType.Uniform, XavierInitializer.FactorType.In, 1);

    /// <summary>Trains.</summary>
    /// <param name="name">What the line with the progress begins with.</param>
    /// <param name="block">Of source ids, their lengths and target ids it gives logits.</param>
    /// <param name="pairs">What it learns.</param>
    /// <param name="numSteps">How many steps it takes.</param>
    /// <param name="learningRate">That of AdamW.</param>
    /// <returns>The losses: of each step the mean over the labels that count.</returns>
    internal static TrainingRecord Train(
        string name, Block block, SentencePairs pairs, int numSteps, double learningRate)
    {
        NDManager manager = pairs.Sources.Manager;
        block.SetInitializer(Initializer, ParameterType.Weight);
        block.Initialize(manager, DataType.Float32, pairs.Sources.Shape, pairs.SourceLens.Shape, pairs.Targets.Shape);
        using var optimizer = new AdamW(block.Parameters, learningRate);
        var record = new TrainingRecord(name, numSteps);
        while (record.Losses.Count < numSteps)
        {
            float loss = ComputeGradients(manager, block, pairs);
            optimizer.ClipGradients(MaxNorm);
            optimizer.Step();
            optimizer.ZeroGradients();
            record.Add(loss, pairs.NumTokens);
        }
        return record;
    }

    private static float ComputeGradients(NDManager manager, Block block, SentencePairs pairs)
    {
        // Results belong to the manager of what is read, and are closed with the scope.
        using NDScope scope = manager.NewScope();
        using GradientTape tape = manager.NewGradientTape();
        var inputs = new NDList(pairs.Sources, pairs.SourceLens, pairs.Targets);
        NDArray logits = block.Forward(new ParameterStore(), inputs, true).Head;
        NDArray loss = Loss.CrossEntropy(logits, pairs.Labels, pairs.TargetLens);
        tape.Backward(loss);
        return loss.Item<float>();
    }
}
