// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using Xunit;

namespace Heed.Tests;

/// <summary>Tasks that need a process of their own, with their own environment variables.</summary>
internal static class ChildProcess
{
    internal const string Leak = "leak";
    internal const string LeakBySwitch = "leak by switch";
    internal const string Forget = "forget";
    internal const string ForgetLargeOnes = "forget large ones";
    internal const string ForgetResults = "forget results";

    internal static string Run(string task, params (string Name, string Value)[] environment)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!) { RedirectStandardOutput = true };
        start.ArgumentList.Add("exec");
        start.ArgumentList.Add(typeof(ChildProcess).Assembly.Location);
        start.ArgumentList.Add(task);
        foreach ((string name, string value) in environment)
        {
            start.Environment[name] = value;
        }
        using Process process = Process.Start(start)!;
        string output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        Assert.True(process.ExitCode == 0, output);
        return output;
    }

    internal static void Do(string task)
    {
        Trace.Listeners.Add(new TextWriterTraceListener(Console.Out));
        if (task == LeakBySwitch)
        {
            AppContext.SetSwitch("Heed.Leaks", true);
        }
        if (task == Forget)
        {
            ForgetObjects();
        }
        else if (task == ForgetLargeOnes)
        {
            ForgetLargeArrays();
        }
        else if (task == ForgetResults)
        {
            ForgetResultsOfALayer();
        }
        else
        {
            using NDManager manager = NDManager.NewBaseManager();
            LeakHere(manager);
            Collect();
        }
        Trace.Flush();
        Console.WriteLine("done");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void LeakHere(NDManager manager)
    {
        manager.Ones(new Shape(2));
        manager.NewWorkspace(100);
        manager.Ones(new Shape(3)).Dispose();
        manager.NewWorkspace(100).Dispose();
        NewCache(manager);
        using NDManager scope = manager.NewSubManager();
        scope.Ones(new Shape(4));
        NewCache(scope);
        StepAndForgetTheInputs(manager);
    }

    private static KvCache NewCache(NDManager manager) =>
        new KvCache(manager, new KvCacheOptions { NumKvHeads = 1, HeadSize = 2, Capacity = 16 });

    /// <summary>Disposes all that can be disposed. The inputs cannot, and have an array of the sequence
    /// numbers.</summary>
    private static void StepAndForgetTheInputs(NDManager manager)
    {
        using NDArray x = manager.Ones(new Shape(1, 1, 2));
        using NDManager ofParameters = manager.NewSubManager();
        using var attention = new MultiHeadAttention(new MultiHeadAttentionOptions { NumHiddens = 2, NumHeads = 1 });
        attention.Initialize(ofParameters, DataType.Float32, x.Shape, x.Shape, x.Shape);
        using KvCache cache = NewCache(manager);
        var inputs = new AttentionInputs(x) { Cache = cache, Sequences = new long[] { 0 } };
        using AttentionOutputs outputs = attention.CreateOutputs(inputs);
        attention.Forward(inputs, outputs);
    }

    /// <summary>About 1.6 GB of arrays, with views, wrapped memory, workspaces and managers, all forgotten. Prints the
    /// process's peak memory in MB.</summary>
    private static void ForgetObjects()
    {
        using NDManager manager = NDManager.NewBaseManager();
        for (int i = 0; i < 100_000; i++)
        {
            NDArray array = manager.Create(new Shape(64, 64));
            if (i % 10 == 0)
            {
                array[3].Transpose();
                manager.Wrap<float>(new float[100]).Reshape(10, 10).AsMemory<float>();
                manager.NewWorkspace(1000);
                manager.NewSubManager().NewSubManager().Ones(new Shape(10));
            }
        }
        Console.WriteLine(MegabytesOf("VmHWM"));
    }

    /// <summary>Creates 3 GB of arrays of 16 KiB to 4 MiB, writes to all their pages, and disposes none. Prints the
    /// process's peak memory, and its memory after the manager has been disposed, in MB.</summary>
    private static void ForgetLargeArrays()
    {
        using (NDManager manager = NDManager.NewBaseManager())
        {
            var random = new Random(1);
            for (long left = 3L << 20; left > 0;)
            {
                long kibibytes = (long)Math.Round(16 * Math.Pow(256, random.NextDouble()));
                manager.Ones(new Shape(kibibytes << 8));
                left -= kibibytes;
            }
        }
        Console.WriteLine(MegabytesOf("VmHWM"));
        Console.WriteLine(MegabytesOf("VmRSS"));
    }

    /// <summary>The same for forwards that each create 128 KiB of output and 8 MiB of weights, which are kept until the
    /// next one.</summary>
    private static void ForgetResultsOfALayer()
    {
        using (NDManager manager = NDManager.NewBaseManager())
        {
            var attention = new MultiHeadAttention(64, 8, 0f, false);
            NDArray words = manager.Ones(new Shape(1, 512, 64));
            var inputs = new NDList(words, words, words);
            attention.Initialize(manager, DataType.Float32, inputs.GetShapes());
            for (int i = 0; i < 200; i++)
            {
                attention.Forward(new ParameterStore(manager, false), inputs, training: false);
            }
        }
        Console.WriteLine(MegabytesOf("VmHWM"));
        Console.WriteLine(MegabytesOf("VmRSS"));
    }

    private static int MegabytesOf(string name)
    {
        string line = File.ReadLines("/proc/self/status").First(line => line.Contains(name));
        return int.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[^2]) / 1024;
    }

    private static void Collect()
    {
        for (int i = 0; i < 3; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
    }
}
