// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>The arrays in files of weights, and blocks that are loaded from them: one file, several with an index,
/// other files.</summary>
public sealed class WeightsTests : IDisposable
{
    private const string Index = "model.safetensors.index.json";
    private static readonly string[] Parts = { "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors" };
    private readonly TestFolder folder = new TestFolder();

    public void Dispose() => folder.Dispose();

    [Fact]
    public void ListNamesTypesAndShapes()
    {
        string file = TestFiles.Write(
            folder["any"],
            """
            {"z":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},
             "a\ud83d\ude00":{"dtype":"F8_E4M3","shape":[],"data_offsets":[4,5]},
             "deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[5,6]}}
            """,
            new byte[6]);
        using Weights weights = Weights.Open(file);
        Assert.Equal(new[] { "a\ud83d\ude00", "deep", "z" }, weights.Names);
        Assert.Throws<NotSupportedException>(() => ((IList<string>)weights.Names).Clear());
        Assert.Equal(DataType.BFloat16, weights.GetDataType("z"));
        Assert.Equal("BF16", weights.GetDataTypeName("z"));
        Assert.Equal(new Shape(2, 1), weights.GetShape("z"));
        Assert.Null(weights.GetDataType("a\ud83d\ude00"));
        Assert.Equal("F8_E4M3", weights.GetDataTypeName("a\ud83d\ude00"));
        Assert.Equal(new Shape(), weights.GetShape("a\ud83d\ude00"));
        Assert.Equal(
            "\"deep\" has 9 axes, expected at most 8",
            Assert.Throws<NotSupportedException>(() => weights.GetShape("deep")).Message);
        Assert.Contains(
            $"name is \"none\", which is no array of {file}",
            Assert.Throws<ArgumentException>(() => weights.GetShape("none")).Message);
        Assert.Equal($"Weights of {file}, 3 arrays", weights.ToString());
        weights.Dispose();
        weights.Dispose();
        Assert.EndsWith(" (closed)", weights.ToString());
        Assert.Contains(
            "the set of weights is closed", Assert.Throws<ObjectDisposedException>(() => weights.Names).Message);
    }

    [Fact]
    public void OfSeveralFilesAreFoundByTheIndexAndByEachFile()
    {
        WriteCutModel();
        foreach (string name in Parts.Append(Index))
        {
            string path = folder[name];
            ExpectLoaded(linear => linear.Load(path, "fc"));
            ExpectLoaded(linear => linear.Load(path, "fc."));
            ExpectLoaded(linear => linear.Load(path, "fc", Array.Empty<string>()));
            using Weights weights = Weights.Open(path);
            Assert.Equal(new[] { "fc.bias", "fc.weight" }, weights.Names);
            ExpectLoaded(linear => linear.Load(weights, "fc"));
            using NDManager manager = NDManager.NewBaseManager();
            Assert.Equal(new float[] { 10, 20 }, manager.Load(path, "fc.weight").ToArray<float>());
        }
    }

    [Fact]
    public void ComeFromStreamsToo()
    {
        string file = TestFiles.Write(
            folder["one"],
            """
            {"bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
             "weight":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]}}
            """,
            Floats(1, 2, 10, 20));
        using FileStream stream = File.OpenRead(file);
        ExpectLoaded(linear => linear.Load(stream, null, Array.Empty<string>()));
    }

    [Fact]
    public void ThatAreMissingAreNamed()
    {
        WriteCutModel();
        File.Delete(folder[Parts[1]]);
        using var linear = new Linear(2);
        foreach (Action action in new Action[]
                 {
                     () => linear.Load(folder[Index], "fc"), () => Weights.Open(folder[Index]).Dispose(),
                 })
        {
            HeedException error = Assert.Throws<HeedException>(action);
            Assert.Equal(Status.IO, error.Status);
            Assert.Contains(Parts[1], error.Message);
        }
        File.Delete(folder[Index]);
        HeedException alone = Assert.Throws<HeedException>(() => linear.Load(folder[Parts[0]], "fc"));
        Assert.Equal(Status.NotFound, alone.Status);
        Assert.Contains("part 1 of 2", alone.Message);
    }

    [Fact]
    public void OfAnotherKindAreNamed()
    {
        string pointer = folder["model.safetensors"];
        File.WriteAllText(pointer, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
        HeedException error = Assert.Throws<HeedException>(() => Weights.Open(pointer));
        Assert.Equal(Status.CorruptFile, error.Status);
        Assert.Contains("git lfs pull", error.Message);
    }

    [Fact]
    public void NullsAreNamed()
    {
        using Weights weights = Weights.Open(TestFiles.Write(folder["one"], "{}"));
        using var linear = new Linear(2);
        Assert.Equal("weights", Assert.Throws<ArgumentNullException>(() => linear.Load((Weights)null!)).ParamName);
        Assert.Equal(
            "accept", Assert.Throws<ArgumentNullException>(() => linear.Load(weights, "fc", null!)).ParamName);
        Assert.Equal(
            "accept",
            Assert.Throws<ArgumentNullException>(() => linear.Load(weights, "fc", new string[1])).ParamName);
        weights.Dispose();
        Assert.Contains(
            "the set of weights is closed",
            Assert.Throws<ObjectDisposedException>(() => linear.Load(weights, "fc")).Message);
    }

    private static byte[] Floats(params float[] values) => values.SelectMany(BitConverter.GetBytes).ToArray();

    /// <summary>Checks that the layer's output for 3 is (31, 62).</summary>
    private static void ExpectLoaded(Action<Linear> load)
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var linear = new Linear(2);
        load(linear);
        NDArray output = linear.Forward(
            new ParameterStore(), new NDList(manager.Create(new float[] { 3 }, new Shape(1, 1)))).Head;
        Assert.Equal(new float[] { 31, 62 }, output.ToArray<float>());
    }

    /// <summary>Writes a linear layer of 2 outputs and 1 input, "fc", in two files.</summary>
    private void WriteCutModel()
    {
        TestFiles.Write(
            folder[Parts[0]], """{"fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}""", Floats(1, 2));
        TestFiles.Write(
            folder[Parts[1]], """{"fc.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}""", Floats(10, 20));
        File.WriteAllText(
            folder[Index],
            $$$"""{"metadata":{"total_size":16},"weight_map":{"fc.bias":"{{{Parts[0]}}}","fc.weight":"{{{Parts[1]}}}"}}""");
    }
}
