// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using Heed;

/// <summary>The losses of a training, and the line that says how far it is, which each step writes again.</summary>
internal sealed class TrainingRecord : IProgress<TrainingStep>
{
    private readonly string name;
    private readonly int numSteps;
    private readonly int numBefore;
    private readonly List<float> losses;
    private readonly TrainingProgress progress;

    /// <summary>Begins a record.</summary>
    /// <param name="name">What the line begins with.</param>
    /// <param name="numSteps">How many steps there are to be.</param>
    /// <param name="before">The losses of the steps that an earlier run has done.</param>
    internal TrainingRecord(string name, int numSteps, IReadOnlyCollection<float>? before = null)
    {
        this.name = name;
        this.numSteps = numSteps;
        losses = [.. before ?? []];
        numBefore = losses.Count;
        progress = new TrainingProgress(Math.Max(numSteps - numBefore, 1), this);
    }

    /// <summary>Of all steps, also those of an earlier run.</summary>
    internal IReadOnlyList<float> Losses => losses;

    /// <summary>Adds a step that was taken.</summary>
    internal void Add(float loss, long numTokens)
    {
        losses.Add(loss);
        progress.Step(loss, numTokens);
    }

    void IProgress<TrainingStep>.Report(TrainingStep step)
    {
        Console.Error.Write(string.Create(
            CultureInfo.InvariantCulture,
            $"\r{name}: step {numBefore + step.Number} of {numSteps}, loss {step.Loss:F3}, "
            + $"{step.TokensPerSecond:F0} tokens/s, {step.SecondsLeft:F0} s left "));
        if (step.Number == step.TotalSteps)
        {
            Console.Error.WriteLine();
        }
    }
}
