// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>What a listener hears of a training.</summary>
public sealed class TrainingProgressTests
{
    [Fact]
    public void TheListenerHearsOfEachStep()
    {
        var heard = new Listener();
        var progress = new TrainingProgress(3, heard);
        for (int step = 1; step <= 3; step++)
        {
            Thread.Sleep(20);
            progress.Step(1.0 / step, 100);
            TrainingStep last = heard.Steps[step - 1];
            Assert.Equal((step, 3, 1.0 / step), (last.Number, last.TotalSteps, last.Loss));
            Assert.InRange(last.TokensPerSecond, 1, 100 / 0.019);
            Assert.InRange(last.SecondsLeft, (3 - step) * 0.019, 3600);
            Assert.Equal(step, progress.NumSteps);
        }
        Assert.Equal(0, heard.Steps[2].SecondsLeft);
        InvalidOperationException error = Assert.Throws<InvalidOperationException>(() => progress.Step(0, 1));
        Assert.Equal("all 3 steps have been taken: expected no other one", error.Message);
    }

    [Fact]
    public void TheSpeedIsThatOfTheLastSteps()
    {
        var heard = new Listener();
        var progress = new TrainingProgress(1000, heard);
        Thread.Sleep(300);
        for (int step = 0; step < 40; step++)
        {
            Thread.Sleep(1);
            progress.Step(0, 10);
        }

        // With the first 0.3 s it would be at most 1333.
        Assert.True(heard.Steps[0].TokensPerSecond < 34);
        Assert.True(heard.Steps[39].TokensPerSecond < 10_000);
        Assert.True(heard.Steps[39].TokensPerSecond > heard.Steps[10].TokensPerSecond);
    }

    [Fact]
    public void ACancelledTokenEndsTheTrainingAfterItsStep()
    {
        var heard = new Listener();
        var progress = new TrainingProgress(3, heard);
        using var source = new CancellationTokenSource();
        progress.Step(1, 1, source.Token);
        source.Cancel();
        OperationCanceledException error =
            Assert.Throws<OperationCanceledException>(() => progress.Step(1, 1, source.Token));
        Assert.Equal(source.Token, error.CancellationToken);
        Assert.Equal(2, heard.Steps.Count);
        Assert.Equal(2, progress.NumSteps);
    }

    [Fact]
    public void AStepAllocatesNothing()
    {
        var progress = new TrainingProgress(1000, new LastStep());
        progress.Step(1, 1);
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int step = 0; step < 100; step++)
        {
            progress.Step(1, 1);
        }
        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());
    }

    [Fact]
    public void NumbersOutOfRangeAreRefused()
    {
        Assert.Equal(
            "totalSteps", Assert.Throws<ArgumentOutOfRangeException>(() => new TrainingProgress(0)).ParamName);
        var progress = new TrainingProgress(1);
        Assert.Equal("tokens", Assert.Throws<ArgumentOutOfRangeException>(() => progress.Step(1, -1)).ParamName);
        Assert.Equal(0, progress.NumSteps);
        progress.Step(1, 0);
    }

    [Fact]
    public void AStepIsALine()
    {
        var heard = new Listener();
        new TrainingProgress(1, heard).Step(1.5, 0);
        Assert.Equal("step 1 of 1, loss 1.500, 0 tokens/s, 0 s left", heard.Steps[0].ToString());
    }

    private sealed class Listener : IProgress<TrainingStep>
    {
        internal List<TrainingStep> Steps { get; } = new();

        public void Report(TrainingStep value) => Steps.Add(value);
    }

    private sealed class LastStep : IProgress<TrainingStep>
    {
        private TrainingStep last;

        public void Report(TrainingStep value) => last = value;

        public override string ToString() => last.ToString();
    }
}
