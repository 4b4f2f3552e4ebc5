// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.Threading;

namespace Heed;

/// <summary>Counts the steps of a training, tells a listener how fast it is and how long it will take, and ends it when a
/// token is cancelled. A step allocates nothing.
/// <code>
/// var progress = new TrainingProgress(200, new Progress&lt;TrainingStep&gt;(step => Console.Write($"\r{step}")));
/// for (int i = 0; i &lt; 200; i++)
/// {
///     // ... a step ...
///     progress.Step(loss, tokens, stop);
/// }
/// </code></summary>
/// <remarks>The time of the first step begins when the object is made. Used by one thread at a time.</remarks>
public sealed class TrainingProgress
{
    /// <summary>The number of last steps whose speed is told.</summary>
    private const int NumLast = 16;

    private readonly IProgress<TrainingStep>? listener;

    /// <summary>When each of the last steps began, and its tokens, at the step's number modulo their number.</summary>
    private readonly long[] begins = new long[NumLast];
    private readonly long[] tokens = new long[NumLast];
    private long numSteps;

    /// <summary>Begins with no step taken.</summary>
    /// <param name="totalSteps">The number of all steps, 1 or more.</param>
    /// <param name="listener">Hears of each step; null: nothing does.</param>
    /// <exception cref="ArgumentOutOfRangeException">The number is below 1.</exception>
    public TrainingProgress(long totalSteps, IProgress<TrainingStep>? listener = null)
    {
        TotalSteps = totalSteps >= 1
            ? totalSteps
            : throw new ArgumentOutOfRangeException(nameof(totalSteps), $"{totalSteps}", "expected 1 or more");
        this.listener = listener;
        begins[0] = Stopwatch.GetTimestamp();
    }

    /// <summary>The number of all steps.</summary>
    public long TotalSteps { get; }

    /// <summary>The number of steps that have been taken.</summary>
    public long NumSteps => numSteps;

    /// <summary>Counts a step that has been taken, and tells the listener.</summary>
    /// <param name="loss">Its loss.</param>
    /// <param name="tokens">The number of tokens that it has learned from, 0 or more.</param>
    /// <param name="stop">Ends the training: the step counts, and the call throws.</param>
    /// <exception cref="ArgumentOutOfRangeException">The number of tokens is negative.</exception>
    /// <exception cref="InvalidOperationException">All steps have been taken before.</exception>
    /// <exception cref="OperationCanceledException">The token is cancelled.</exception>
    public void Step(double loss, long tokens, CancellationToken stop = default)
    {
        if (tokens < 0)
        {
            throw new ArgumentOutOfRangeException(nameof(tokens), $"{tokens}", "expected 0 or more");
        }
        if (numSteps == TotalSteps)
        {
            throw new InvalidOperationException($"all {TotalSteps} steps have been taken: expected no other one");
        }
        long now = Stopwatch.GetTimestamp();
        this.tokens[numSteps % NumLast] = tokens;
        numSteps++;
        long numLast = Math.Min(numSteps, NumLast);
        double seconds = Math.Max(now - begins[(numSteps - numLast) % NumLast], 1) / (double)Stopwatch.Frequency;
        double sum = 0;
        for (long step = numSteps - numLast; step < numSteps; step++)
        {
            sum += this.tokens[step % NumLast];
        }
        begins[numSteps % NumLast] = now;
        double secondsLeft = seconds / numLast * (TotalSteps - numSteps);
        listener?.Report(new TrainingStep(numSteps, TotalSteps, loss, sum / seconds, secondsLeft));
        stop.ThrowIfCancellationRequested();
    }

    /// <summary>How many steps have been taken.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => $"TrainingProgress(step {numSteps} of {TotalSteps})";
}
