// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;

namespace Heed;

/// <summary>A step of a training that has been taken: see <see cref="TrainingProgress"/>.</summary>
public readonly struct TrainingStep
{
    internal TrainingStep(long number, long totalSteps, double loss, double tokensPerSecond, double secondsLeft)
    {
        Number = number;
        TotalSteps = totalSteps;
        Loss = loss;
        TokensPerSecond = tokensPerSecond;
        SecondsLeft = secondsLeft;
    }

    /// <summary>The number of the step, from 1.</summary>
    public long Number { get; }

    /// <summary>The number of all steps.</summary>
    public long TotalSteps { get; }

    /// <summary>The loss of the step.</summary>
    public double Loss { get; }

    /// <summary>The tokens of the last steps by their time.</summary>
    public double TokensPerSecond { get; }

    /// <summary>The time that the steps that are left take if each takes as long as the last ones did.</summary>
    public double SecondsLeft { get; }

    /// <summary>The step as a line, such as "step 20 of 200, loss 1.375, 191235 tokens/s, 4 s left".</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"step {Number} of {TotalSteps}, loss {Text(Loss, "F3")}, {Text(TokensPerSecond, "F0")} tokens/s, "
        + $"{Text(Math.Ceiling(SecondsLeft), "F0")} s left";

    private static string Text(double number, string format) => number.ToString(format, CultureInfo.InvariantCulture);
}
