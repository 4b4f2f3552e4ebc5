// SPDX-License-Identifier: Apache-2.0
// Trains a small Transformer to copy sequences of symbols, or to reverse them, which takes seconds. Then it writes sequences
// that it has not learned from, and the loss of each step is drawn. The losses have the bits of those of
// examples/c/train_sequences.c.
//
//   run train_sequences copy|reverse [PICTURE.svg] [--losses FILE.txt] [--steps NUMBER] [--state FOLDER]
//
// Ends with status 1 if the Transformer has not learned its task. With --state it goes on where the last run with that folder
// has ended, and leaves its own end there: after the last step, or after Ctrl+C.
using System;
using System.Globalization;
using System.Threading;
using Heed;

internal static class TrainSequencesExample
{
    private const int NumSequences = 64; // Of a step.
    private const int NumTests = 1000;
    private const double LearningRate = 3e-3;
    private const double MaxNorm = 1; // Of the gradients.

    internal static int Main(string[] args)
    {
        var arguments = TrainingArguments.Read(args);
        if (arguments == null)
        {
            return 2;
        }
        using var stop = new CancellationTokenSource();
        Console.CancelKeyPress += (_, pressed) =>
        {
            pressed.Cancel = true; // The program ends by itself.
            stop.Cancel();
        };
        using NDManager manager = NDManager.NewBaseManager();
        using Transformer transformer = SequenceLearner.NewTransformer(manager);
        using var optimizer = new AdamW(transformer.Parameters, LearningRate);
        TrainingState? state = arguments.State == null ? null : new TrainingState(arguments.State);
        float[] before = state is { Exists: true } ? state.Load(transformer, optimizer) : [];
        var record = new TrainingRecord(arguments.Name, arguments.NumSteps, before);
        try
        {
            while (record.Losses.Count < arguments.NumSteps)
            {
                stop.Token.ThrowIfCancellationRequested();
                TakeStep(manager, transformer, optimizer, arguments.Task, record);
            }
        }
        catch (OperationCanceledException)
        {
            Console.WriteLine($"\nstopped after {record.Losses.Count} of {arguments.NumSteps} steps");
        }
        state?.Save(transformer, optimizer, record.Losses);
        return record.Losses.Count < arguments.NumSteps ? 1 : Report(manager, transformer, arguments, record);
    }

    private static void TakeStep(
        NDManager manager, Transformer transformer, Optimizer optimizer, SequenceTask task, TrainingRecord record)
    {
        using NDManager sub = manager.NewSubManager();
        var batch = new Sequences(sub, task, record.Losses.Count + 1, NumSequences);
        float loss = ComputeGradients(sub, transformer, batch);
        optimizer.ClipGradients(MaxNorm);
        optimizer.Step();
        optimizer.ZeroGradients();
        record.Add(loss, batch.NumTokens);
    }

    /// <summary>Returns the loss: the mean over the labels that count.</summary>
    private static float ComputeGradients(NDManager manager, Transformer transformer, Sequences batch)
    {
        using GradientTape tape = manager.NewGradientTape();
        AttentionInputs inputs = batch.NewInputs();
        inputs.Training = true;
        NDArray loss = Loss.CrossEntropy(transformer.Forward(inputs), batch.Labels, batch.TargetLens);
        tape.Backward(loss);
        return loss.Item<float>();
    }

    /// <summary>Prints the result and writes the files. Returns 0 if the task is learned.</summary>
    private static int Report(
        NDManager manager, Transformer transformer, TrainingArguments arguments, TrainingRecord record)
    {
        // Of sequences that no step had.
        var test = new Sequences(manager, arguments.Task, 0, NumTests);
        double share = SequenceLearner.ShareWrittenRight(transformer, test);
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{arguments.Name}, {record.Losses.Count} steps: the loss falls from {record.Losses[0]:F3} to "
            + $"{record.Losses[^1]:F3}, {100 * share:F1} % of {NumTests} new sequences are right"));
        if (arguments.Picture != null)
        {
            LossCurve.Write(
                arguments.Picture,
                $"A Transformer learns to {arguments.Name}",
                record.Losses,
                Math.Log(Sequences.NumTokensOfAll));
        }
        if (arguments.Losses != null)
        {
            TrainingState.WriteLosses(arguments.Losses, record.Losses);
        }
        return share >= arguments.LeastRight ? 0 : 1;
    }
}
