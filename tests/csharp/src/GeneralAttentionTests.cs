// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using System.Text;
using Xunit;

namespace Heed.Tests;

/// <summary>Attention whose score is q . (W k).</summary>
public sealed class GeneralAttentionTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly ParameterStore ps = new ParameterStore();
    private readonly NDList inputs;

    /// <summary>A query (1, 2), and W that makes the scores 0, 1 and 2 of three keys: (1, 2) W = (1, 0, 2).</summary>
    public GeneralAttentionTests()
    {
        inputs = new NDList(
            manager.Create(new float[] { 1, 2 }, new Shape(1, 1, 2)),
            manager.Create(new float[] { 0, 5, 0, 1, 7, 0, 0, 0, 1 }, new Shape(1, 3, 3)),
            manager.Create(new float[] { 7, 0, 7, 7, 14, 7 }, new Shape(1, 3, 2)));
    }

    public void Dispose() => manager.Dispose();

    /// <summary>With a factor of ln 2, the weights are 1, 2 and 4 sevenths; with the default of 1, powers of
    /// e.</summary>
    [Fact]
    public void ScoresAreTheProductOfQueryAndProjectedKey()
    {
        using GeneralAttention halves = WithValue(
            new GeneralAttentionOptions { QuerySize = 2, Scale = (float)Math.Log(2) });
        halves.KeepAttentionWeights = true;
        Near(halves.Forward(ps, inputs).Head, 11, 6);
        Assert.Equal(new Shape(1, 1, 3), halves.AttentionWeights!.Shape);
        Near(halves.AttentionWeights, 1 / 7f, 2 / 7f, 4 / 7f);

        using GeneralAttention plain = WithValue(new GeneralAttentionOptions { QuerySize = 2 });
        double e = Math.E;
        double sum = 1 + e + e * e;
        Near(
            plain.Forward(ps, inputs).Head,
            (float)((7 + 7 * e + 14 * e * e) / sum), (float)((7 * e + 7 * e * e) / sum));
        Assert.Null(plain.AttentionWeights);

        // With a length of 2, weights of 1 and 2 thirds.
        var shorter = new NDList(inputs[0], inputs[1], inputs[2], manager.Create(new[] { 2 }));
        Near(halves.Forward(ps, shorter).Head, 7, 14 / 3f);
    }

    [Fact]
    public void DescribesItself()
    {
        using var attention = new GeneralAttention(2, 0.5f);
        Assert.True(attention.KeepAttentionWeights);
        Assert.Equal("GeneralAttention(querySize=2, dropout=0.5)", attention.ToString());
        Assert.Equal(new[] { "W.weight" }, attention.Parameters.Keys);
        attention.Initialize(manager, DataType.Float32, inputs.GetShapes());
        Assert.Equal(new Shape(2, 3), attention.Parameters["W.weight"].Shape);
        Assert.Equal(
            new[] { new Shape(4, 5, 6) },
            attention.GetOutputShapes(new[] { new Shape(4, 5, 2), new Shape(4, 7, 3), new Shape(4, 7, 6) }));
        using var folder = new TestFolder();
        attention.Save(folder["general"]);
        Assert.Contains("\"general_attention\"", File.ReadAllText(folder["general"], Encoding.Latin1));

        using var made = new GeneralAttention(new GeneralAttentionOptions { QuerySize = 2 });
        Assert.False(made.KeepAttentionWeights);
    }

    [Fact]
    public void NamesWhatIsWrong()
    {
        Refused("QuerySize is 0, expected at least 1", () => new GeneralAttention(0));
        Refused("Dropout", () => new GeneralAttention(2, 1));
        Refused(
            "WindowLeft",
            () => new GeneralAttention(new GeneralAttentionOptions { QuerySize = 2, WindowLeft = 1 }));
        Assert.Throws<ArgumentNullException>("options", () => new GeneralAttention((GeneralAttentionOptions)null!));
        using var other = new GeneralAttention(3);
        Refused(
            "Queries has shape (1, 1, 2), expected 3 elements in a row, the block's QuerySize",
            () => other.Initialize(manager, DataType.Float32, inputs.GetShapes()));
        using GeneralAttention attention = WithValue(new GeneralAttentionOptions { QuerySize = 2 });
        NDArray query = inputs[0]!;
        Refused("(2, 3)", () => attention.Forward(ps, new NDList(query, query, query)));
    }

    private static void Near(NDArray found, params float[] expected)
    {
        float[] numbers = found.ToFloatArray();
        Assert.Equal(expected.Length, numbers.Length);
        // 8 units in the last place of the largest number.
        float tolerance = 8 * (MathF.BitIncrement(expected.Max()) - expected.Max());
        Assert.All(numbers.Zip(expected), pair => Assert.Equal(pair.Second, pair.First, tolerance));
    }

    private static void Refused(string words, Action use) =>
        Assert.Contains(words, Assert.ThrowsAny<ArgumentException>(use).Message);

    private GeneralAttention WithValue(GeneralAttentionOptions options)
    {
        var attention = new GeneralAttention(options);
        attention.Parameters["W.weight"].SetArray(
            manager.Create(new float[] { 1, 2, 0, 0, -1, 1 }, new Shape(2, 3)));
        return attention;
    }
}
