// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using Xunit;

namespace Heed.Tests;

/// <summary>What heed says beside its results.</summary>
[Trait(TestDevice.Trait, "cpu")]
public class LoggerTests
{
    private readonly List<string> messages = new List<string>();

    [Fact]
    public void DevicesAndKernels()
    {
        using NDManager manager = NewManager();
        Assert.Contains("threads: ", Only("Info heed_context_create: heed "));
        NDArray ones = manager.Ones(new Shape(2, 2));
        ones.MatMul(ones);
        Assert.Contains("by kernel", Only("Debug heed_matmul: "));
    }

    [Fact]
    public void FailuresAreTheirExceptions()
    {
        using NDManager manager = NewManager();
        NDArray ones = manager.Ones(new Shape(2, 3));
        ArgumentException error = Assert.ThrowsAny<ArgumentException>(() => ones.MatMul(ones));
        Assert.StartsWith(Only("Error heed_matmul: ").Substring("Error heed_matmul: ".Length), error.Message);
    }

    /// <summary>What a model's folder has beside the model; and no failures of heed's own attempts.</summary>
    [Fact]
    public void ModelsTellWhatTheyDoNotRead()
    {
        using NDManager manager = NewManager();
        using var bert = new Model("bert");
        bert.Load(TestFiles.Data("models/bert"), manager);
        Assert.EndsWith(
            "has 2 tensors that are not part of the block, such as \"pooler.dense.bias\": they are not read",
            Only("Warning"));
        Assert.Contains(messages, each => each.Contains(": encoder has its 37 parameters from "));
        messages.Clear();
        using var t5 = new Model("t5");
        t5.Load(TestFiles.Data("model_settings/t5-head-beside"), manager);
        Assert.Contains("ties the head to the embedding, but", Only("Warning"));
        var linear = new Linear(2);
        linear.Parameters["bias"].SetArray(manager.Ones(new Shape(2)));
        Assert.False(linear.Parameters["weight"].IsInitialized);
        linear.Initialize(manager, DataType.Float32, new Shape(1, 3));
        manager.Ones(new Shape(2, 3)).Transpose().Reshape(6);
        Assert.DoesNotContain(messages, each => each.StartsWith("Error"));
        linear.Dispose();
    }

    /// <summary>Neither an exception nor calls of heed in a logger change the call that the message is about.</summary>
    [Fact]
    public void LoggersMayFail()
    {
        using NDManager plain = NDManager.NewBaseManager();
        using NDManager manager = NewManager((_, text) =>
        {
            messages.Add(text);
            Assert.ThrowsAny<ArgumentException>(() => plain.Ones(new Shape(1, 2)).MatMul(plain.Ones(new Shape(5, 1))));
            throw new InvalidOperationException("the logger's own");
        });
        NDArray ones = manager.Ones(new Shape(2, 2));
        Assert.Equal(2, ones.MatMul(ones).GetFloat(0, 0));
        Assert.ThrowsAny<ArgumentException>(() => ones.MatMul(manager.Ones(new Shape(3, 2))));
        Assert.NotEmpty(messages);
    }

    /// <summary>A manager's logger is the program's: heed keeps it no longer than the manager.</summary>
    [Fact]
    public void LoggersAreNotKept()
    {
        WeakReference logger = Used();
        for (int i = 0; i < 10 && logger.IsAlive; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Assert.False(logger.IsAlive);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference Used()
    {
        var received = new List<string>();
        using NDManager manager = NewManager((_, text) => received.Add(text));
        Assert.NotEmpty(received);
        return new WeakReference(received);
    }

    private static NDManager NewManager(Action<MessageLevel, string> logger) =>
        NDManager.NewBaseManager(Device.Cpu(), new ContextOptions { Logger = logger });

    private NDManager NewManager() => NewManager((level, text) => messages.Add($"{level} {text}"));

    private string Only(string beginning) => Assert.Single(messages, each => each.StartsWith(beginning));
}
