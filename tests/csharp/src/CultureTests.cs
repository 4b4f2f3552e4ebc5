// SPDX-License-Identifier: Apache-2.0
using System;
using System.Buffers;
using System.Collections.Generic;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>Messages and descriptions are the same wherever the program runs.</summary>
[Trait(TestDevice.Trait, "cpu")]
public class CultureTests
{
    public static IEnumerable<object[]> Cultures()
    {
        yield return new object[] { new CultureInfo("de-DE") };
        yield return new object[] { new CultureInfo("sv-SE") };
        var odd = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        odd.NumberFormat.NegativeSign = "~";
        odd.NumberFormat.NumberDecimalSeparator = "§";
        odd.NumberFormat.NaNSymbol = "no number";
        odd.NumberFormat.PositiveInfinitySymbol = "endless";
        yield return new object[] { odd };
        var minus = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        minus.NumberFormat.NegativeSign = "\u2212";
        yield return new object[] { minus };
    }

    [Theory]
    [MemberData(nameof(Cultures))]
    public void NumbersAreTheSame(CultureInfo culture)
    {
        List<string> expected = Texts();
        CultureInfo before = Thread.CurrentThread.CurrentCulture;
        try
        {
            Thread.CurrentThread.CurrentCulture = culture;
            Assert.Equal(expected, Texts());
        }
        finally
        {
            Thread.CurrentThread.CurrentCulture = before;
        }
        Assert.Contains("start is -0.5, stop 1.5 and step NaN", expected[0]);
        Assert.Contains("-1.5", expected[1]);
        Assert.Contains("expected an axis of 1: -1 to 0", expected[3]);
        Assert.Contains("(2, -3)", expected[4]);
    }

    private static List<string> Texts()
    {
        using NDManager manager = NDManager.NewBaseManager();
        NDArray array = manager.Create(new[] { -1.5f, 2.25f });
        return new List<string>
        {
            Said(() => manager.Arange(-0.5f, 1.5f, float.NaN)),
            array.ToString(),
            array.ToDebugString(),
            Said(() => array.GetSize(7)),
            new Shape(2, -3).ToString(),
            Said(() => manager.Zeros(new Shape(2, -3))),
            Said(() => array.Reshape(-7, 2)),
            Said(() => new XavierInitializer(magnitude: -0.5f)),
            Said(() => new Dropout(1.5f)),
            Said(() => new Embedding(new EmbeddingOptions { NumEmbeddings = -2, EmbeddingSize = 3 })),
            new DotProductAttention(0.25f).ToString(),
            new Embedding(new EmbeddingOptions { NumEmbeddings = 2, EmbeddingSize = 3, PaddingIndex = -1, Scale = 0.5f })
                .ToString(),
            new RopeOptions { Base = 0.5f, RotaryOffset = -1 }.ToString()!,
            Said(() => manager.Create(new[] { 1, 2 }, new Shape(-1, -2))),
            Said(() => new Shape(1, 2)[-3].ToString()),
            Said(() => new NDList(array).SubNDList(9)),
            Said(() => new NDList(array).SubNDList(-9)),
            Said(() => array.GetSize(-7)),
            Said(() => array.Repeat(0, -1)),
            Said(() => array.GetFloat(-3)),
            Said(() => new Shape(1, 2).Slice(-1)),
            Said(() => new Shape(1, 2).Slice(0, -1)),
            Said(() => new Shape(1, 2).GetSize(-4)),
            Said(() => manager.NewWorkspace(-8)),
            Said(() => Device.Ascend(-1)),
            Said(() => Chap10Utils.TransposeQkv(manager.Ones(new Shape(1, 2, 4)), -2)),
            Said(() => OwnerOf(array).Pin(-1)),
        };
    }

    private static MemoryManager<float> OwnerOf(NDArray array)
    {
        Assert.True(MemoryMarshal.TryGetMemoryManager<float, MemoryManager<float>>(
            array.AsMemory<float>(), out MemoryManager<float>? owner));
        return owner!;
    }

    private static string Said(Action call) => Assert.ThrowsAny<Exception>(call).Message;
}
