// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using System.Threading;
using Heed;

/// <summary>Features in which Mono, and so Unity, may differ from .NET. Without an argument it only loads the
/// library.</summary>
internal static class Smoke
{
    private static int Main(string[] args)
    {
        if (args.Length == 0)
        {
            return FindLibrary();
        }
        Console.WriteLine(GoldenProgram.Run(args[0]));
        Console.WriteLine(ModelProgram.Run(args[1]));
        Errors(args[0]);
        Disposal();
        Memory();
        Threads();
        Forgotten();
        Console.WriteLine("all is well");
        return 0;
    }

    private static int FindLibrary()
    {
        try
        {
            using NDManager manager = NDManager.NewBaseManager();
            Console.WriteLine(manager.Ones(new Shape(2)).Shape);
        }
        catch (DllNotFoundException error)
        {
            Console.WriteLine($"{error.GetType()}: {error.Message}");
        }
        return 0;
    }

    private static void Errors(string golden)
    {
        using NDManager manager = NDManager.NewBaseManager();
        Expect<ArgumentNullException>("path", () => manager.Load(null!, "queries"));
        Expect<ArgumentException>("NumHeads", () => new MultiHeadAttention(10, 3, 0, false));
        Expect<HeedException>("nowhere.safetensors", () => manager.Load("nowhere.safetensors", "queries"));
        Expect<HeedException>("nothing", () => manager.Load(golden, "nothing"));
    }

    private static void Disposal()
    {
        NDManager manager = NDManager.NewBaseManager();
        NDArray array = manager.Ones(new Shape(2, 3));
        NDArray other = manager.Ones(new Shape(2, 3));
        array.Dispose();
        array.Dispose();
        Expect<ObjectDisposedException>("closed", () => array.ToFloatArray());
        manager.Dispose();
        manager.Dispose();
        Expect<ObjectDisposedException>("closed", () => other.ToFloatArray());
        Expect<ObjectDisposedException>("closed", () => manager.Ones(new Shape(2)));
    }

    /// <summary>Spans, wrapped memory, and memory that outlives its array.</summary>
    private static void Memory()
    {
        using NDManager manager = NDManager.NewBaseManager();
        float[] numbers = { 1, 2, 3, 4, 5, 6 };
        NDArray array = manager.Wrap<float>(numbers, new Shape(2, 3));
        NDArray column = array.Transpose()[1];
        array.Dispose();
        GC.Collect();
        numbers[1] = 20;
        Require(column.ToFloatArray().SequenceEqual(new float[] { 20, 5 }), "wrapped memory is a copy");
        Memory<float> memory = column.Duplicate().AsMemory<float>();
        manager.Dispose();
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Require(memory.Span[0] == 20 && memory.Length == 2, "memory does not outlive its array");
        using NDManager other = NDManager.NewBaseManager();
        NDArray kept = other.NewSubManager().Create<int>(stackalloc int[] { 1, 2 });
        kept.Detach();
        other.Dispose();
        Require(kept.GetLong(1) == 2, "a detached array is not kept");
        kept.Dispose();
    }

    private static void Threads()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var attention = new MultiHeadAttention(32, 4, 0, true);
        var shape = new Shape(2, 16, 32);
        NDArray x = manager.Ones(shape);
        attention.Initialize(manager, DataType.Float32, shape, shape, shape);
        float[] Forward() => attention.Forward(new ParameterStore(manager, false), new NDList(x, x, x), training: false)[0].ToFloatArray();
        float[] expected = Forward();
        var results = new bool[4];
        Thread[] threads = Enumerable.Range(0, results.Length)
            .Select(i => new Thread(() => results[i] = Enumerable.Range(0, 50).All(_ => Forward().SequenceEqual(expected))))
            .ToArray();
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Require(results.All(same => same), "threads get different results");
    }

    /// <summary>Objects that are not disposed are freed by the collector, arrays and their managers in any
    /// order.</summary>
    private static void Forgotten()
    {
        long before = ResidentBytes();
        for (int i = 0; i < 300; i++)
        {
            Forget();
            if (i % 10 == 0)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
        long growth = ResidentBytes() - before;
        Require(growth < 300L << 20, $"1200 MB of forgotten arrays have left {growth >> 20} MB");
    }

    private static void Forget()
    {
        NDManager manager = NDManager.NewBaseManager();
        NDArray array = manager.Ones(new Shape(1 << 20));
        Require(array.Shape.Size == 1 << 20, "an array has another size");
        var attention = new MultiHeadAttention(8, 2, 0, false);
        var shape = new Shape(1, 2, 8);
        attention.Initialize(manager, DataType.Float32, shape, shape, shape);
    }

    private static long ResidentBytes()
    {
        string line = File.ReadLines("/proc/self/status").First(text => text.StartsWith("VmRSS:", StringComparison.Ordinal));
        return long.Parse(new string(line.Where(char.IsDigit).ToArray())) << 10;
    }

    private static void Expect<T>(string word, Action action)
        where T : Exception
    {
        try
        {
            action();
        }
        catch (T error)
        {
            Require(error.Message.Contains(word), $"'{error.Message}' does not say '{word}'");
            return;
        }
        Require(false, $"no {typeof(T)}");
    }

    private static void Require(bool holds, string otherwise)
    {
        if (!holds)
        {
            throw new InvalidOperationException(otherwise);
        }
    }
}
