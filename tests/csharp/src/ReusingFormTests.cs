// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Text.Json;
using Xunit;

namespace Heed.Tests;

/// <summary>Forward into existing arrays, and the methods that prepare it.</summary>
public sealed class ReusingFormTests : IDisposable
{
    private const Wanted All = Wanted.Output | Wanted.Weights | Wanted.LogSumExp;
    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly MultiHeadAttention attention =
        new MultiHeadAttention(new MultiHeadAttentionOptions { NumHiddens = 100, NumHeads = 5, Dropout = 0.5f });
    private readonly AttentionInputs inputs;

    public ReusingFormTests()
    {
        attention.Load(TestFiles.Golden("d2l"), "attention");
        inputs = new AttentionInputs(
            manager.RandomNormal(new Shape(2, 4, 100)),
            manager.RandomNormal(new Shape(2, 6, 100)),
            manager.RandomNormal(new Shape(2, 6, 100)),
            manager.Create(new float[] { 3, 2 }));
    }

    public void Dispose()
    {
        attention.Dispose();
        manager.Dispose();
    }

    /// <summary>Every output, with and without workspace and training; requesting more does not change a
    /// result.</summary>
    [Fact]
    public void GivesTheSameAsTheList()
    {
        var list = new NDList(inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens);
        float[] expected = attention.Forward(new ParameterStore(), list).Head.ToFloatArray();
        Assert.Null(attention.Attention.AttentionWeights);
        using AttentionOutputs outputs = attention.CreateOutputs(inputs, All);
        Assert.Equal(new Shape(2, 4, 100), outputs.Output!.Shape);
        Assert.Equal(new Shape(2, 5, 4, 6), outputs.Weights!.Shape);
        Assert.Equal(new Shape(2, 5, 4), outputs.LogSumExp!.Shape);
        Assert.Same(manager, outputs.Weights.Manager);
        using Workspace workspace = manager.NewWorkspace(attention.WorkspaceSize(inputs, outputs));
        attention.Forward(inputs, outputs, workspace);
        Assert.Equal(expected, outputs.Output.ToFloatArray());
        Assert.Null(attention.Attention.AttentionWeights);

        attention.KeepAttentionWeights = true;
        attention.Forward(new ParameterStore(), list);
        Assert.Equal(
            attention.Attention.AttentionWeights!.ToFloatArray(), outputs.Weights.ToFloatArray());

        var weightsAlone = new AttentionOutputs(weights: manager.Zeros(new Shape(2, 5, 4, 6)));
        attention.Forward(inputs, weightsAlone);
        Assert.Equal(outputs.Weights.ToFloatArray(), weightsAlone.Weights!.ToFloatArray());
        outputs.Dispose();
        Assert.True(outputs.Output.IsReleased && outputs.Weights.IsReleased && outputs.LogSumExp.IsReleased);
    }

    [Fact]
    public void SeedsAreSetOrDrawn()
    {
        using AttentionOutputs outputs = attention.CreateOutputs(inputs);
        float[] Run()
        {
            attention.Forward(inputs, outputs);
            return outputs.Output!.ToFloatArray();
        }
        float[] inference = Run();
        inputs.DropoutSeed = 7;
        Assert.Equal(inference, Run());
        inputs.Training = true;
        float[] seven = Run();
        Assert.Equal(seven, Run());
        inputs.DropoutSeed = null;
        attention.SetSeed(7);
        Assert.Equal(seven, Run());
        Assert.NotEqual(seven, Run());
    }

    [Fact]
    public void KeysDefaultToQueriesAndValuesToKeys()
    {
        var self = new AttentionInputs(inputs.Queries);
        var spelled = new AttentionInputs(inputs.Queries, inputs.Queries, inputs.Queries);
        using AttentionOutputs outputs = attention.CreateOutputs(self);
        attention.Forward(self, outputs);
        float[] found = outputs.Output!.ToFloatArray();
        attention.Forward(spelled, outputs);
        Assert.Equal(outputs.Output.ToFloatArray(), found);
    }

    [Fact]
    public void InputsAreClearedForTheNextUse()
    {
        inputs.Mask = manager.Ones(new Shape(4, 6), DataType.Boolean);
        inputs.Bias = inputs.Queries;
        inputs.AlibiSlopes = inputs.Queries;
        inputs.Sinks = inputs.Queries;
        inputs.Positions = inputs.Queries;
        inputs.QueryLens = inputs.Queries;
        inputs.QueryOffsets = inputs.Queries;
        inputs.KeyOffsets = inputs.Queries;
        inputs.KeyPositions = inputs.Queries;
        inputs.AttentionMask = inputs.Queries;
        inputs.SelfAttentionMask = inputs.Queries;
        inputs.OutputRows = inputs.Queries;
        inputs.NumLastRows = 3;
        inputs.SelfValidLens = inputs.Queries;
        inputs.SelfMask = inputs.Mask;
        inputs.SelfBias = inputs.Queries;
        inputs.Cache = new KvCache(manager, new KvCacheOptions { NumKvHeads = 5, HeadSize = 20, Capacity = 1 });
        inputs.Sequences = new long[] { 0 };
        inputs.CacheLayer = 1;
        inputs.CacheUse = CacheUse.Read;
        inputs.Training = true;
        inputs.DropoutSeed = 3;
        Assert.Same(inputs, inputs.Clear());
        Assert.All(
            new[]
            {
                inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens, inputs.Mask, inputs.Bias,
                inputs.AlibiSlopes, inputs.Sinks, inputs.Positions, inputs.QueryLens, inputs.QueryOffsets,
                inputs.KeyOffsets, inputs.SelfValidLens, inputs.SelfMask, inputs.SelfBias, inputs.KeyPositions,
                inputs.AttentionMask, inputs.SelfAttentionMask, inputs.OutputRows,
            },
            Assert.Null);
        Assert.Null(inputs.Cache);
        Assert.Null(inputs.Sequences);
        Assert.Equal(0, inputs.CacheLayer);
        Assert.Equal(0, inputs.NumLastRows);
        Assert.Equal(CacheUse.Append, inputs.CacheUse);
        Assert.False(inputs.Training);
        Assert.Null(inputs.DropoutSeed);
    }

    [Fact]
    public void AMaskMustBeOfBooleans()
    {
        NDArray mask = manager.Ones(new Shape(4, 6), DataType.Boolean);
        var set = new AttentionInputs { Mask = mask };
        foreach (DataType type in Enum.GetValues<DataType>().Where(type => type != DataType.Boolean))
        {
            NDArray numbers = manager.Ones(new Shape(4, 6), type);
            var error = Assert.Throws<ArgumentException>(() => set.Mask = numbers);
            Assert.StartsWith(
                $"Mask is of {type}, expected Boolean with true = may attend; Bias takes numbers that are added to the "
                + "scores",
                error.Message);
            Assert.Equal("Mask", error.ParamName);
        }
        Assert.Same(mask, set.Mask);
        set.Mask = null;
        Assert.Null(set.Mask);
    }

    [Fact]
    public void DisposedInputsAndOutputsAreNamed()
    {
        NDArray open = inputs.Queries!;
        NDArray disposed = manager.Ones(new Shape(2, 4, 100));
        NDArray disposedMask = manager.Ones(new Shape(4, 6), DataType.Boolean);
        disposed.Dispose();
        disposedMask.Dispose();
        using AttentionOutputs outputs = attention.CreateOutputs(inputs);
        foreach (Action<AttentionInputs> use in new Action<AttentionInputs>[]
        {
            all => attention.Forward(all, outputs),
            all => attention.CreateOutputs(all),
            all => attention.WorkspaceSize(all, outputs),
            all => attention.Explain(all, outputs),
            all => DotProductAttention.ScaledDotProductAttention(all, outputs),
        })
        {
            Closed("Queries", () => use(new AttentionInputs(disposed)));
            Closed("Keys", () => use(new AttentionInputs(open, disposed)));
            Closed("Values", () => use(new AttentionInputs(open, values: disposed)));
            Closed("ValidLens", () => use(new AttentionInputs(open, validLens: disposed)));
            Closed("Mask", () => use(new AttentionInputs(open) { Mask = disposedMask }));
            Closed("Bias", () => use(new AttentionInputs(open) { Bias = disposed }));
            Closed("AlibiSlopes", () => use(new AttentionInputs(open) { AlibiSlopes = disposed }));
            Closed("Sinks", () => use(new AttentionInputs(open) { Sinks = disposed }));
            Closed("Positions", () => use(new AttentionInputs(open) { Positions = disposed }));
            Closed("QueryLens", () => use(new AttentionInputs(open) { QueryLens = disposed }));
            Closed("QueryOffsets", () => use(new AttentionInputs(open) { QueryOffsets = disposed }));
            Closed("KeyOffsets", () => use(new AttentionInputs(open) { KeyOffsets = disposed }));
            Closed("KeyPositions", () => use(new AttentionInputs(open) { KeyPositions = disposed }));
            Closed("AttentionMask", () => use(new AttentionInputs(open) { AttentionMask = disposed }));
            Closed("SelfAttentionMask", () => use(new AttentionInputs(open) { SelfAttentionMask = disposed }));
            Closed("OutputRows", () => use(new AttentionInputs(open) { OutputRows = disposed }));
            Closed("SelfValidLens", () => use(new AttentionInputs(open) { SelfValidLens = disposed }));
            Closed("SelfMask", () => use(new AttentionInputs(open) { SelfMask = disposedMask }));
            Closed("SelfBias", () => use(new AttentionInputs(open) { SelfBias = disposed }));
        }
        Closed("Output", () => attention.Forward(inputs, new AttentionOutputs(disposed)));
        Closed("Weights", () => attention.Forward(inputs, new AttentionOutputs(open, disposed)));
        Closed("LogSumExp", () => attention.Explain(inputs, new AttentionOutputs(logSumExp: disposed)));

        var store = new ParameterStore(manager, false);
        string[] names = { "queries", "keys", "values" };
        for (int i = 0; i < names.Length; i++)
        {
            var list = new NDList(open, open, open) { [i] = disposed };
            Closed(names[i], () => attention.Forward(store, list));
            Closed(names[i], () => attention.Explain(list));
        }
        using var linear = new Linear(3);
        linear.Initialize(manager, DataType.Float32, new Shape(2, 4, 100));
        Closed("input", () => linear.Forward(store, new NDList(disposed)));
        Closed("keys", () => DotProductAttention.ScaledDotProductAttention(open, disposed, open));
        Closed("scores", () => Chap10Utils.MaskedSoftmax(disposed, open));
        Closed("validLens", () => Chap10Utils.MaskedSoftmax(open, disposed));
        Closed("other", () => open.MatMul(disposed));
        Closed("other", () => open.BatchDot(disposed));
        Closed("other", () => open.AllClose(disposed));
        Closed("other", () => open.ContentEquals(disposed));
        Closed("destination", () => open.CopyTo(disposed));
    }

    private static void Closed(string argument, Action use) => Assert.StartsWith(
        $"the array {argument} is closed", Assert.Throws<ObjectDisposedException>(use).Message);

    /// <summary>Nothing at all, in 10,000 calls of each kind of block, also with training and without a
    /// workspace.</summary>
    [Fact]
    public void AllocatesNothing()
    {
        using var linear = new Linear(8);
        linear.Initialize(manager, DataType.Float32, new Shape(2, 4));
        using var dropout = new Dropout(0.5f);
        using var additive = new AdditiveAttention(4);
        var shape = new Shape(1, 3, 4);
        additive.Initialize(manager, DataType.Float32, shape, shape, shape);
        using var general = new GeneralAttention(4);
        general.Initialize(manager, DataType.Float32, shape, shape, shape);
        using var product = new DotProductAttention();
        using var multiHead = new MultiHeadAttention(4, 2, 0.1f, true);
        multiHead.Initialize(manager, DataType.Float32, shape, shape, shape);
        NDArray x = manager.RandomNormal(shape);
        using var encoder = new TransformerEncoderBlock(new TransformerEncoderBlockOptions
        {
            Attention = new MultiHeadAttentionOptions { NumHiddens = 4, NumHeads = 2 },
            FeedForward = new FeedForwardOptions { HiddenSize = 6 },
        });
        encoder.Initialize(manager, DataType.Float32, shape);
        var norm = (NativeBlock)encoder.Children["norm_1"];
        foreach (NativeBlock block in new[]
        {
            linear, dropout, additive, general, product, multiHead, encoder, norm,
        })
        {
            bool hasWeights = block is not (Linear or Dropout or TransformerEncoderBlock or LayerNorm);
            var given = new AttentionInputs(x) { Training = block is Dropout or MultiHeadAttention };
            if (hasWeights)
            {
                given.ValidLens = manager.Create(new float[] { 2 });
            }
            using AttentionOutputs outputs = block.CreateOutputs(given, hasWeights ? All : Wanted.Output);
            using Workspace workspace = manager.NewWorkspace(block.WorkspaceSize(given, outputs));
            foreach (Workspace? scratch in new[] { workspace, null })
            {
                // The smallest of several runs, since .NET may allocate in any of them when it recompiles code that
                // runs often.
                Assert.Contains(0, Enumerable.Range(0, 5).Select(_ => Allocated(block, given, outputs, scratch)));
            }
        }
    }

    [Fact]
    public void PackedCallsAllocateNothing()
    {
        using var multiHead = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = 4, NumHeads = 2, Sinks = true, Rope = new RopeOptions { Layout = RopeLayout.Half },
        });
        var shape = new Shape(1, 3, 4);
        multiHead.Initialize(manager, DataType.Float32, shape, shape, shape);
        using var encoding = new PositionalEncoding(4, 0, 5, manager);
        var packed = new AttentionInputs(manager.RandomNormal(new Shape(3, 4)))
        {
            QueryOffsets = manager.Create(new[] { 0, 1, 3 }),
            Positions = manager.Create(new long[] { 4, 0, 1 }),
        };
        foreach (NativeBlock block in new NativeBlock[] { multiHead, encoding })
        {
            using AttentionOutputs outputs = block.CreateOutputs(packed);
            using Workspace workspace = manager.NewWorkspace(block.WorkspaceSize(packed, outputs));
            Assert.Contains(0, Enumerable.Range(0, 5).Select(_ => Allocated(block, packed, outputs, workspace)));
        }
    }

    [Fact]
    public void ExplainsInJson()
    {
        using AttentionOutputs outputs = attention.CreateOutputs(inputs);
        using JsonDocument json = JsonDocument.Parse(attention.Explain(inputs, outputs));
        Assert.Equal("multi_head_attention", json.RootElement.GetProperty("layer").GetString());
        Assert.Equal("cpu", json.RootElement.GetProperty("backend").GetString());
        Assert.Equal(
            attention.WorkspaceSize(inputs, outputs), json.RootElement.GetProperty("workspace_bytes").GetInt64());

        var list = new NDList(inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens);
        Assert.Equal(attention.Explain(inputs, outputs), attention.Explain(list));
        inputs.Training = true;
        Assert.Equal(attention.Explain(inputs, outputs), attention.Explain(list, training: true));
        attention.KeepAttentionWeights = true;
        Assert.NotEqual(attention.Explain(inputs, outputs), attention.Explain(list, training: true));
        using var dropout = new Dropout();
        using JsonDocument other = JsonDocument.Parse(dropout.Explain(new NDList(inputs.Queries)));
        Assert.Equal("dropout", other.RootElement.GetProperty("layer").GetString());
    }

    [Fact]
    public void RefusesWhatDoesNotFit()
    {
        using AttentionOutputs outputs = attention.CreateOutputs(inputs, All);
        long size = attention.WorkspaceSize(inputs, outputs);
        using Workspace small = manager.NewWorkspace(size - 1);
        HeedException error = Assert.Throws<HeedException>(() => attention.Forward(inputs, outputs, small));
        Assert.Equal(Status.WorkspaceTooSmall, error.Status);
        Assert.Contains($"{size}", error.Message);
        Assert.Contains($"{size - 1}", error.Message);

        Assert.Contains("output", Assert.Throws<ArgumentException>(
            () => attention.Forward(inputs, new AttentionOutputs())).Message);
        var wrong = new AttentionOutputs(manager.Zeros(new Shape(2, 4, 99)));
        Assert.Contains("(2, 4, 99)", Assert.Throws<ArgumentException>(
            () => attention.Forward(inputs, wrong)).Message);
        var overlapping = new AttentionOutputs(inputs.Queries);
        Assert.Throws<ArgumentException>(() => attention.Forward(inputs, overlapping));
        var parameter = new AttentionOutputs(attention.Parameters["W_q.weight"].Array);
        Assert.Throws<ArgumentException>(() => attention.Forward(inputs, parameter));

        Assert.Throws<ArgumentOutOfRangeException>("wanted", () => attention.CreateOutputs(inputs, 0));
        Assert.Throws<ArgumentOutOfRangeException>("wanted", () => attention.CreateOutputs(inputs, (Wanted)9));
        using var linear = new Linear(3);
        var input = new AttentionInputs(inputs.Queries);
        Assert.Throws<ArgumentException>(() => linear.CreateOutputs(input, Wanted.Weights));
        Assert.Throws<ArgumentException>(() => linear.CreateOutputs(inputs));
        Assert.Contains("weight", Assert.Throws<InvalidOperationException>(
            () => linear.Forward(input, linear.CreateOutputs(input))).Message);
        Assert.Throws<InvalidOperationException>(() => linear.WorkspaceSize(input, linear.CreateOutputs(input)));
        Assert.Throws<InvalidOperationException>(() => linear.Explain(input, linear.CreateOutputs(input)));

        inputs.ValidLens = manager.Create(new float[] { 3, 7 });
        Assert.Contains("ValidLens", Assert.Throws<ArgumentException>(
            () => attention.Forward(inputs, outputs)).Message);
    }

    [Fact]
    public void Nulls()
    {
        var outputs = new AttentionOutputs();
        Assert.Throws<ArgumentNullException>("inputs", () => attention.Forward((AttentionInputs)null!, outputs));
        Assert.Throws<ArgumentNullException>("outputs", () => attention.Forward(inputs, null!));
        Assert.Throws<ArgumentNullException>("inputs", () => attention.CreateOutputs(null!));
        Assert.Throws<ArgumentNullException>("inputs", () => attention.WorkspaceSize(null!, outputs));
        Assert.Throws<ArgumentNullException>("outputs", () => attention.WorkspaceSize(inputs, null!));
        Assert.Throws<ArgumentNullException>("inputs", () => attention.Explain(null!, outputs));
        Assert.Throws<ArgumentNullException>("outputs", () => attention.Explain(inputs, null!));
        Assert.Throws<ArgumentNullException>("inputs", () => attention.Explain(null!));
        Assert.Throws<ArgumentException>("inputs", () => attention.CreateOutputs(new AttentionInputs()));
    }

    [Fact]
    public void NothingIsUsedOnceDisposed()
    {
        using AttentionOutputs outputs = attention.CreateOutputs(inputs);
        Workspace workspace = manager.NewWorkspace(attention.WorkspaceSize(inputs, outputs));
        workspace.Dispose();
        Assert.Contains("the workspace is closed", Assert.Throws<ObjectDisposedException>(
            () => attention.Forward(inputs, outputs, workspace)).Message);
        inputs.ValidLens!.Dispose();
        Assert.Contains("the array ValidLens is closed", Assert.Throws<ObjectDisposedException>(
            () => attention.Forward(inputs, outputs)).Message);
        inputs.ValidLens = null;
        attention.Dispose();
        foreach (Action use in new Action[]
        {
            () => attention.Forward(inputs, outputs),
            () => attention.CreateOutputs(inputs),
            () => attention.WorkspaceSize(inputs, outputs),
            () => attention.Explain(inputs, outputs),
            () => attention.Explain(new NDList(inputs.Queries, inputs.Keys, inputs.Values)),
        })
        {
            Assert.Contains("the block", Assert.Throws<ObjectDisposedException>(use).Message);
        }
    }

    private static long Allocated(
        NativeBlock block, AttentionInputs given, AttentionOutputs outputs, Workspace? workspace)
    {
        for (int i = 0; i < 1000; i++)
        {
            block.Forward(given, outputs, workspace);
        }
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 10_000; i++)
        {
            block.Forward(given, outputs, workspace);
        }
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }
}
