// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>The text of arrays, compared with array_texts.txt, which the tests of Java use, too.</summary>
public class NDArrayTextTests
{
    private static readonly string Where = TestDevice.IsCpu ? string.Empty : $" on {TestDevice.Device}";

    [Fact]
    public void IsWhatNumPyPrints()
    {
        var lines = new Queue<string>(File.ReadAllLines(TestFiles.Data("array_texts.txt")));
        int cases = 0;
        while (lines.TryDequeue(out string? what))
        {
            if (what.StartsWith('#'))
            {
                continue;
            }
            var text = new List<string>();
            while (lines.TryPeek(out string? line) && line.StartsWith('|'))
            {
                text.Add(lines.Dequeue().Substring(1));
            }
            using NDManager manager = TestDevice.NewManager();
            string shape = what.Substring(what.IndexOf('('), what.IndexOf(':') - what.IndexOf('('));
            string head = $"NDArray {shape} {what.Split(' ')[0]}{Where}\n";
            string found = Read(manager, what).ToString();
            Assert.True(head + string.Join("\n", text) == found, what + "\n" + found);
            cases++;
        }
        Assert.InRange(cases, 200, int.MaxValue);
    }

    [Fact]
    public void IsTheSameInEveryCulture()
    {
        CultureInfo before = CultureInfo.CurrentCulture;
        try
        {
            CultureInfo.CurrentCulture = CultureInfo.GetCultureInfo("sv-SE");
            using NDManager manager = TestDevice.NewManager();
            Assert.Equal($"NDArray (2) float32{Where}\n[-1.5  0.1]", manager.Create(new[] { -1.5f, 0.1f }).ToString());
            Assert.Equal($"NDArray (2) int32{Where}\n[-1500    20]", manager.Create(new[] { -1500, 20 }).ToString());
        }
        finally
        {
            CultureInfo.CurrentCulture = before;
        }
    }

    [Fact]
    public void CanBeReadWhileAnotherThreadDisposesTheArray()
    {
        for (int i = 0; i < 200; i++)
        {
            using NDManager manager = TestDevice.NewManager();
            NDArray array = manager.Create(new[] { 1, 2 });
            var disposing = new Thread(array.Dispose);
            disposing.Start();
            string text = array.ToString();
            disposing.Join();
            Assert.Contains(text, new[] { $"NDArray (2) int32{Where}\n[1 2]", "NDArray (2) int32 (closed)" });
        }
    }

    private static NDArray Read(NDManager manager, string line)
    {
        DataType type = Enum.Parse<DataType>(line.Split(' ')[0], ignoreCase: true);
        string sizes = line.Substring(line.IndexOf('(') + 1, line.IndexOf(')') - line.IndexOf('(') - 1);
        var shape = new Shape(Words(sizes, ", ").Select(long.Parse).ToArray());
        string[] sequence = line.Substring(line.IndexOf(':') + 1).Trim().Split(" step ");
        string[] words = Words(sequence[0], " ");
        if (!type.IsFloating())
        {
            long[] integers = words.Select(long.Parse).ToArray();
            long distance = sequence.Length > 1 ? long.Parse(sequence[1]) : 0;
            return manager.Create(
                sequence.Length > 1 ? All(shape, k => integers[0] + (k * distance)) : integers, shape).ToType(type);
        }
        double[] numbers = words.Select(Number).ToArray();
        double step = sequence.Length > 1 ? Number(sequence[1]) : 0;
        return manager.Create(
            sequence.Length > 1 ? All(shape, k => numbers[0] + (k * step)) : numbers, shape).ToType(type);
    }

    private static T[] All<T>(Shape shape, Func<long, T> element) =>
        Enumerable.Range(0, (int)shape.Size).Select(k => element(k)).ToArray();

    private static string[] Words(string text, string separator) =>
        text.Split(separator, StringSplitOptions.RemoveEmptyEntries);

    private static double Number(string text) => text switch
    {
        "nan" => double.NaN,
        "inf" => double.PositiveInfinity,
        "-inf" => double.NegativeInfinity,
        _ => double.Parse(text, CultureInfo.InvariantCulture),
    };
}
