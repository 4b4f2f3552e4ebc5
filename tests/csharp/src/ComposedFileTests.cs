// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>.safetensors files of composed blocks.</summary>
public sealed class ComposedFileTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly TestFolder folder = new TestFolder();

    public void Dispose()
    {
        manager.Dispose();
        folder.Dispose();
    }

    [Theory]
    [InlineData(DataType.Float32)]
    [InlineData(DataType.Float16)]
    [InlineData(DataType.BFloat16)]
    public void SavedAndLoaded(DataType type)
    {
        string file = folder["block.safetensors"];
        using Scaled block = Initialized(type);
        block.Save(file);
        block.Save(file);
        using (Weights weights = Weights.Open(file))
        {
            Assert.Equal(
                new[] { "01in\"ner_01Linear_bias", "01in\"ner_01Linear_weight", "scale" }, weights.Names.ToArray());
        }
        using var other = new Scaled(4);
        Assert.False(other.IsInitialized);
        other.Load(manager, file);
        Assert.True(other.IsInitialized);
        foreach (Pair<string, Parameter> each in block.Parameters)
        {
            NDArray found = other.Parameters[each.Key].Array;
            Assert.True(each.Value.Array.ContentEquals(found));
            Assert.Same(manager, found.Manager);
        }
        NDArray x = manager.Ones(new Shape(2, 3), type);
        Assert.True(block.Forward(x)[0].ContentEquals(other.Forward(x)[0]));
        Assert.Single(Directory.GetFiles(folder.Path));
    }

    [Fact]
    public void FailuresChangeNothing()
    {
        string file = folder["block.safetensors"];
        using Scaled block = Initialized(DataType.Float32);
        block.Save(file);
        using var other = new Scaled(5);
        other.Initialize(manager, DataType.Float32, new Shape(2, 3));
        NDArray weight = other.Parameters["01in\"ner_01Linear_weight"].Array.Duplicate();
        using (var small = new SequentialBlock())
        {
            small.Add(new Linear(4));
            HeedException missing = Assert.Throws<HeedException>(() => small.Load(manager, file));
            Assert.Equal(Status.NotFound, missing.Status);
            Assert.Equal($"\"{file}\" has no array \"01Linear_weight\", a parameter of the block", missing.Message);
        }
        using (var none = new SequentialBlock())
        {
            none.Add(new Dropout(0.5f));
            Assert.StartsWith(
                $"\"{file}\" has \"01in\"ner_01Linear_bias\", which is no parameter of the block: expected the file of a "
                + "block like this one",
                Assert.Throws<ArgumentException>("path", () => none.Load(manager, file)).Message);
        }
        HeedException absent = Assert.Throws<HeedException>(() => block.Load(manager, folder["no"]));
        Assert.Equal(Status.IO, absent.Status);
        string broken = folder["broken.safetensors"];
        File.WriteAllBytes(broken, new byte[] { 1, 2, 3 });
        Assert.Equal(Status.CorruptFile, Assert.Throws<HeedException>(() => block.Load(manager, broken)).Status);
        HeedException unwritten =
            Assert.Throws<HeedException>(() => block.Save(Path.Combine(folder["no"], "file")));
        Assert.Equal(Status.IO, unwritten.Status);
        using var empty = new Scaled(3);
        Assert.Throws<InvalidOperationException>(() => empty.Save(broken));
        Assert.True(weight.ContentEquals(other.Parameters["01in\"ner_01Linear_weight"].Array));
        Assert.Throws<ArgumentNullException>("manager", () => block.Load(null!, file));
        Assert.Throws<ArgumentNullException>("path", () => block.Save(null!));
        Assert.Throws<ArgumentException>("path", () => block.Save(string.Empty));
        block.Dispose();
        Assert.Throws<ObjectDisposedException>(() => block.Load(manager, file));
        Assert.Throws<ObjectDisposedException>(() => block.Save(file));
    }

    private Scaled Initialized(DataType type)
    {
        var block = new Scaled(4);
        block.Initialize(manager, type, new Shape(2, 3));
        return block;
    }

    /// <summary>A parameter of its own, and blocks behind it.</summary>
    private sealed class Scaled : AbstractBlock
    {
        private readonly SequentialBlock inner;

        internal Scaled(int units)
        {
            Parameter scale = AddParameter(new Parameter("scale", ParameterType.Other));
            scale.SetShape(new Shape(1));
            scale.SetInitializer(Initializer.Ones);
            inner = AddChildBlock("in\"ner", new SequentialBlock());
            inner.Add(new Linear(units)).Add(new Dropout(0.5f));
        }

        protected override void InitializeChildBlocks(
            NDManager manager, DataType dataType, params Shape?[] inputShapes) =>
            inner.Initialize(manager, dataType, inputShapes);

        protected override NDList ForwardInternal(
            ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) =>
            inner.Forward(parameterStore, inputs, training);
    }
}
