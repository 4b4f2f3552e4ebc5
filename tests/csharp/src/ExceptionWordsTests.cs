// SPDX-License-Identifier: Apache-2.0
using System;
using System.Reflection;
using Xunit;

namespace Heed.Tests;

/// <summary>Messages of C have C#'s words. tests/bindings/check_words.py checks all of them; here some are compared as
/// a whole.</summary>
public sealed class ExceptionWordsTests : IDisposable
{
    /// <summary>A tensor without elements in the header of a file.</summary>
    private const string Empty = """{"dtype":"F32","shape":[0],"data_offsets":[0,0]}""";

    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly MultiHeadAttention attention = new MultiHeadAttention(100, 5);
    private readonly NDArray queries;
    private readonly NDArray keys;

    public ExceptionWordsTests()
    {
        queries = manager.Ones(new Shape(2, 4, 100));
        keys = manager.Ones(new Shape(2, 6, 100));
    }

    public void Dispose()
    {
        attention.Dispose();
        manager.Dispose();
    }

    [Fact]
    public void Options()
    {
        Says("NumHeads is 0, expected at least 1", () => new MultiHeadAttention(100, 0));
        Says(
            "NumHiddens is 100, which NumHeads, 3, does not divide: expected a multiple, or HeadSize above 0",
            () => new MultiHeadAttention(100, 3));
        Says(
            "NumHiddens is 0, expected above 0, or OutputSize above 0, or OutputProjection false",
            () => new MultiHeadAttention(new MultiHeadAttentionOptions { NumHeads = 2, HeadSize = 4 }));
        Says(
            "NumHeads is 4611686018427387904 and ValueHeadSize 4, whose product overflows, expected at most 2^63 - 1",
            () => new MultiHeadAttention(new MultiHeadAttentionOptions
            {
                NumHeads = 1L << 62, HeadSize = 1, ValueHeadSize = 4, OutputProjection = false,
            }));
        Says(
            "Biases has Bias.O, but OutputProjection is false: expected one or the other",
            () => new MultiHeadAttention(new MultiHeadAttentionOptions
            {
                NumHiddens = 8, NumHeads = 2, Biases = Bias.O, OutputProjection = false,
            }));
        Says(
            "Biases is 16, expected a set of Bias, 0 to 15",
            () => new MultiHeadAttention(new MultiHeadAttentionOptions
            {
                NumHiddens = 8, NumHeads = 2, Biases = (Bias)16,
            }));
        Says(
            "Causal is 3, expected Causal.None (0), Causal.TopLeft (1) or Causal.BottomRight (2)",
            () => new DotProductAttention(new DotProductAttentionOptions { Causal = (Causal)3 }));
        Says(
            "WindowLeft is 1 and WindowRight 2, but Window is Window.None: name an alignment, or leave both at 0",
            () => new DotProductAttention(new DotProductAttentionOptions { WindowLeft = 1, WindowRight = 2 }));
        Says(
            "SoftCap is NaN, expected a finite number above 0, or 0 for none",
            () => new DotProductAttention(new DotProductAttentionOptions { SoftCap = float.NaN }));
        Says("units is 0, expected at least 1 (Parameter 'units')", () => new Linear(0));
        Says(
            "NumThreads is 1025, expected 0 (as many as the process may use) to 1024",
            () => NDManager.NewBaseManager(options: new ContextOptions { NumThreads = 1025 }));
    }

    /// <summary>A sentence of C that names an argument, or a property, at its beginning.</summary>
    [Fact]
    public void ArgumentsAreParamNames()
    {
        Assert.Throws<ArgumentException>("NumHeads", () => new MultiHeadAttention(100, 0));
        Assert.Throws<ArgumentException>("shape", () => manager.Zeros(new Shape(2, -1)));
        Assert.Throws<ArgumentException>(
            "NumThreads", () => NDManager.NewBaseManager(options: new ContextOptions { NumThreads = 1025 }));
        attention.Initialize(manager, DataType.Float32, queries.Shape, keys.Shape, keys.Shape);
        Assert.Throws<ArgumentException>("Keys", () => attention.Forward(queries, manager.Ones(new Shape(3, 6, 100)), keys));
        Assert.Throws<ArgumentException>("inputs", () => attention.Forward(queries));
        Assert.Throws<ArgumentException>(
            "ShortFactors", () => new MultiHeadAttention(new MultiHeadAttentionOptions
            {
                NumHiddens = 8, NumHeads = 2,
                Rope = new RopeOptions { Layout = RopeLayout.Half, ShortFactors = new[] { 1f } },
            }));
        Assert.Throws<ArgumentException>("ValidLens", () => attention.Forward(
            queries, keys, keys, manager.Create(new float[,] { { 1, 1, 1, 1 }, { 1, 1, 1, -1 } })));
        var inputs = new AttentionInputs(queries, queries);
        Assert.Throws<ArgumentException>(
            "Output", () => attention.Forward(inputs, new AttentionOutputs { Output = queries }));
        // The sentence names no argument of the caller's.
        Assert.Null(Assert.Throws<ArgumentException>(() => queries.MatMul(keys)).ParamName);
    }

    /// <summary>Sentences as docs/errors.md has them, in C#'s words.</summary>
    [Theory]
    [InlineData("Queries", "Queries is null, expected a pointer")]
    [InlineData("shape", "shape[1] is -1, expected at least 0")]
    [InlineData("ValidLens", "ValidLens[1, 2] is -1, expected a whole number from 0 to the number of keys, 5")]
    [InlineData("Layers[1].NumHiddens", "Layers[1].NumHiddens is 4, expected 8, that of all layers")]
    [InlineData("Taps[0].Weights", "Taps[0].Weights has shape (2), expected (2, 2, 3, 5)")]
    [InlineData("Layer.CrossAttention", "Layer.CrossAttention is null, expected options")]
    [InlineData("Output", "Output shares memory with Queries, expected separate memory")]
    [InlineData("Weights", "Weights would have shape (1, 4294967296), whose product overflows")]
    [InlineData("Cache", "Cache holds keys with the rotary positions none")]
    [InlineData("inputs", "inputs are so large that the size of the workspace overflows")]
    [InlineData("inputs", "inputs have batch 1 and length 1152921504606846976, whose projections to 8 overflow")]
    [InlineData("strides", "strides over shape (2, 3, 4) reach beyond what memory can address")]
    [InlineData("strides", "strides reach beyond what memory can address")]
    [InlineData("ParallelFor", "ParallelFor ran item 1 twice, expected each of its 2 items once")]
    [InlineData("ParallelFor", "ParallelFor returned before its 2 items were done")]
    [InlineData("Report", "Report threw a C++ exception, expected it to return 0")]
    [InlineData(null, "the rank of shape is 9, expected 0 to 8")]
    [InlineData(null, "this array has shape () of rank 0, expected rank 1 to 8")]
    [InlineData(null, "keys and values are null, expected at least one array")]
    [InlineData(null, "sequence 0 has 3 rows in one layer and 0 in another, but Accept takes rows of all layers")]
    [InlineData(null, "\"a is b\" is of a model with other options by its tensors")]
    [InlineData(null, "\"model.safetensors\" has \"W_q.bias\", a parameter that this block's options lack")]
    public void ParamNamesOfSentences(string? name, string sentence)
    {
        MethodInfo nameIn = typeof(Block).Assembly.GetType("Heed.Errors")!.GetMethod(
            "NameIn", BindingFlags.NonPublic | BindingFlags.Static)!;
        Assert.Equal(name, nameIn.Invoke(null, new object[] { sentence }));
    }

    [Fact]
    public void Arrays()
    {
        Says("shape[1] is -1, expected at least 0", () => manager.Zeros(new Shape(2, -1)));
        Says(
            "the rank of shape is 9, expected 0 to 8", () => manager.Zeros(new Shape(1, 1, 1, 1, 1, 1, 1, 1, 1)));
        Says(
            "dataType is 99, expected one of DataType.Float32 (0) to DataType.Boolean (8)",
            () => manager.Zeros(new Shape(2), (DataType)99));
        Says("loc is NaN, expected a finite number", () => manager.RandomNormal(float.NaN, 1, new Shape(2)));
        Says("scale is -1, expected at least 0", () => manager.RandomNormal(0, -1, new Shape(2)));
        NDArray numbers = manager.Ones(new Shape(100, 2), DataType.Int32);
        Says(
            "the array is Int32, expected Float32, Float16, BFloat16 or Float64: copy it into an array of one of these first",
            () => numbers.Softmax(0));
        Says(
            "this array is BFloat16 and other is Float16, which have no common data type: copy one of them into an array of "
            + "Float32 first",
            () => keys.ToType(DataType.BFloat16).MatMul(manager.Ones(new Shape(100, 2), DataType.Float16)));
        Says(
            "scores has shape (2, 3) of rank 2, expected rank 3, (B, Q, K), or rank 4, (B, H, Q, K)",
            () => Chap10Utils.MaskedSoftmax(manager.Ones(new Shape(2, 3)), manager.Create(new float[] { 1, 2 })));
    }

    [Fact]
    public void Blocks()
    {
        Says(
            "the block is not initialized: W_q.weight is not set, expected Initialize, Load or Parameter.SetArray first",
            () => Forward(queries, keys, keys));
        attention.Initialize(manager, DataType.Float32, queries.Shape, keys.Shape, keys.Shape);
        Says(
            "Queries is Float64, expected Float32, Float16 or BFloat16",
            () => Forward(queries.ToType(DataType.Float64), keys, keys));
        Says(
            "Keys is Float16, but Queries is Float32: expected the same data type",
            () => Forward(queries, keys.ToType(DataType.Float16), keys));
        Says(
            "Values has shape (2, 4, 100), but Keys has (2, 6, 100): expected the same number of keys, 6",
            () => Forward(queries, keys, queries));
        Says(
            "ValidLens has shape (2, 1), expected (2) for the batch or (2, 4) for batch and queries",
            () => Forward(queries, keys, keys, manager.Create(new float[,] { { 3 }, { 2 } })));
        Says(
            "Mask has shape (4, 5), expected (4, 6) with ones where it is repeated",
            () => attention.CreateOutputs(new AttentionInputs(queries, keys)
            {
                Mask = manager.Ones(new Shape(4, 5), DataType.Boolean),
            }));

        var inputs = new AttentionInputs(queries, keys);
        using AttentionOutputs outputs = attention.CreateOutputs(inputs);
        long needed = attention.WorkspaceSize(inputs, outputs);
        Says(
            $"workspace has 8 bytes, but this call needs {needed}: see WorkspaceSize",
            () => attention.Forward(inputs, outputs, manager.NewWorkspace(8)));
        using var linear = new Linear(2);
        linear.Initialize(manager, DataType.Float32, queries.Shape);
        Says(
            "wanted has Wanted.Weights, but a linear block has no such output, expected Wanted.Output alone",
            () => linear.CreateOutputs(new AttentionInputs(queries), Wanted.Weights));
    }

    [Fact]
    public void AStrictManager()
    {
        using NDManager strict = NDManager.NewBaseManager(options: new ContextOptions { Strict = true });
        NDArray columns = strict.Ones(new Shape(2, 3)).Transpose();
        Says(
            "the manager is strict, and \"softmax\" would not take the fastest path: the elements of the softmax's axis"
            + " do not lie side by side (stride 1), so they are gathered",
            () => columns.Softmax(1));
    }

    [Fact]
    public void QuotedNamesAreNotChanged()
    {
        using var folder = new TestFolder();
        string file = TestFiles.Write(folder["HEED_F32"], "{}");
        Says(
            $"\"{file}\" has no tensor \"options->num_heads, NULL\" (it has 0)",
            () => manager.Load(file, "options->num_heads, NULL"));
        Says(
            $"\"{file}\" has no tensor \"a\\x22 dims \\x22b\" (it has 0)", () => manager.Load(file, "a\" dims \"b"));
        Says(
            $"\"{file}\" has no tensor \"heed_layer_load.W_q.weight\", nor the names by which other frameworks call it; "
            + "it has no tensors at all",
            () => attention.Load(file, "heed_layer_load"));

        string withBias = TestFiles.Write(
            folder["model"],
            $$"""{"W_q.weight":{{Empty}},"W_q.bias":{{Empty}},"W_k.weight":{{Empty}},"W_v.weight":{{Empty}},"""
            + $$""" "W_v.bias":{{Empty}},"W_o.weight":{{Empty}}}""");
        Says(
            $"\"{withBias}\" has \"W_q.bias\", a parameter that this block's options lack: expected Bias.Q in Biases, "
            + "and as it has W_v.bias too, Biases Bias.Q | Bias.V",
            () => attention.Load(withBias));
    }

    /// <summary>Expects a sentence, behind which .NET adds the name of the argument if it has one.</summary>
    private static void Says(string sentence, Action call)
    {
        Exception error = Assert.ThrowsAny<Exception>(call);
        string? name = (error as ArgumentException)?.ParamName;
        Assert.Contains(error.Message, new[] { sentence, $"{sentence} (Parameter '{name}')" });
    }

    private void Forward(params NDArray[] inputs) => attention.Forward(new ParameterStore(manager, false), new NDList(inputs));
}
