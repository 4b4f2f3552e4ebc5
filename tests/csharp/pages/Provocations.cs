// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Heed;

/// <summary>Makes the mistakes that docs/csharp.md names, and prints the exception of each, one per line.</summary>
internal static class Provocations
{
    private static int Main(string[] args)
    {
        string golden = args[0];
        string d2l = Path.Combine(golden, "d2l.safetensors");
        string pytorch = Path.Combine(golden, "weights", "pytorch.safetensors");
        try
        {
            using NDManager manager = NDManager.NewBaseManager();
            Arguments(manager);
            Files(manager, d2l, pytorch);
            Objects(manager, d2l);
            return 0;
        }
        catch (DllNotFoundException error)
        {
            Print(error);
            return 1;
        }
    }

    private static void Arguments(NDManager manager)
    {
        Provoke(() => new MultiHeadAttention(100, 3));
        using var attention = new MultiHeadAttention(100, 5);
        NDArray x = manager.Ones(new Shape(2, 4, 100));
        NDArray y = manager.Ones(new Shape(2, 6, 100));
        var store = new ParameterStore(manager, false);
        Provoke(() => attention.Forward(store, new NDList(x, y, y)));
        attention.Initialize(manager, DataType.Float32, x.Shape, y.Shape, y.Shape);
        Provoke(() => attention.Forward(store, new NDList(x)));
        NDArray unbatched = x[0];
        Provoke(() => attention.Forward(store, new NDList(unbatched, unbatched, unbatched)));
        Provoke(() => attention.Forward(store, new NDList(x, y, y, manager.Create(new float[] { 3, 7 }))));
        Provoke(() => attention.Forward(store, new NDList(x, y, y, manager.Create(new float[,] { { 3 }, { 2 } }))));
        Provoke(() => attention.Forward(store, new NDList(x, y, x)));
        NDArray wide = x.ToType(DataType.Float64);
        Provoke(() => attention.Forward(store, new NDList(wide, wide, wide)));
        Provoke(() => attention.Initialize(manager, DataType.Float16, x.Shape, y.Shape, y.Shape));
        var inputs = new AttentionInputs(x, y, y) { Mask = manager.Ones(new Shape(2, 4, 6), DataType.Boolean) };
        Provoke(() => attention.CreateOutputs(inputs));
        Provoke(() => inputs.Mask = x);
        Provoke(() => attention.Forward(new AttentionInputs(x, y, y), new AttentionOutputs(x)));
        Provoke(() => manager.Create(new float[] { 1, 2, 3 }, new Shape(2, 2)));
        Provoke(() => NDManager.NewBaseManager(Device.Ascend()));
    }

    private static void Files(NDManager manager, string d2l, string pytorch)
    {
        Provoke(() => manager.Load("nowhere.safetensors", "queries"));
        using var withoutBias = new MultiHeadAttention(12, 3);
        Provoke(() => withoutBias.Load(pytorch));
        Provoke(() => withoutBias.Load(d2l));
        using var withBias = new MultiHeadAttention(100, 5, useBias: true);
        Provoke(() => withBias.Load(d2l, "attention"));
        Provoke(() => withBias.LoadParameters(manager, new MemoryStream(new byte[100])));
        Provoke(() => withBias.LoadParameters(manager, new MemoryStream(new byte[2])));
    }

    private static void Objects(NDManager manager, string d2l)
    {
        using var attention = new MultiHeadAttention(100, 5);
        attention.Load(d2l, "attention");
        NDArray x = manager.Ones(new Shape(2, 4, 100));
        var inputs = new AttentionInputs(x);
        using AttentionOutputs outputs = attention.CreateOutputs(inputs);
        Provoke(() => attention.Forward(inputs, outputs, manager.NewWorkspace(16)));
        Provoke(() => x.ToType(DataType.Float64).ToFloatArray());
        Provoke(() => x.Transpose().AsMemory<float>());
        Provoke(() => attention.Parameters["W_q.weight"].Array.AsMemory<float>());
        NDManager other = NDManager.NewBaseManager();
        NDArray array = other.Ones(new Shape(2));
        other.Dispose();
        Provoke(() => array.ToFloatArray());
        Provoke(() => attention.Forward(new AttentionInputs(x, array), outputs));
        Provoke(() => other.Ones(new Shape(2)));
        using var scaled = new Scaled();
        scaled.Initialize(manager, DataType.Float32, new Shape(2, 5));
        Provoke(() => scaled.Initialize(manager, DataType.Float32, new Shape(2, 6)));
        var closed = new MultiHeadAttention(100, 5);
        closed.Dispose();
        Provoke(() => closed.Load(d2l, "attention"));
        using var layer = new TransformerEncoderBlock(new TransformerEncoderBlockOptions
        {
            Attention = new MultiHeadAttentionOptions { NumHiddens = 100, NumHeads = 5 },
            FeedForward = new FeedForwardOptions { HiddenSize = 100 },
        });
        Provoke(() => layer.Children["norm_1"].Clear());
        Provoke(() => layer.CreateOutputs(new AttentionInputs(x, x)));
        var cache = new KvCache(manager, new KvCacheOptions
        {
            NumKvHeads = 5, HeadSize = 20, Capacity = 64, Layout = CacheLayout.Paged, PageSize = 16, NumPages = 1,
        });
        Provoke(() => cache.Reserve(0, 33));
        cache.Dispose();
        Provoke(() => cache.Length(0));
        Provoke(() => attention.CreateOutputs(new AttentionInputs(x) { CacheLayer = 1 }));
    }

    private static void Provoke(Func<object?> mistake)
    {
        try
        {
            mistake();
            Console.WriteLine("nothing was thrown");
        }
        catch (Exception error) when (error is not DllNotFoundException)
        {
            Print(error);
        }
    }

    private static void Provoke(Action mistake) => Provoke(() =>
    {
        mistake();
        return null;
    });

    private static void Print(Exception error) => Console.WriteLine($"{error.GetType().Name}: {error.Message}");

    /// <summary>A block with a factor for each column of its input.</summary>
    private sealed class Scaled : AbstractBlock
    {
        private readonly Parameter factors;

        internal Scaled()
        {
            factors = AddParameter(new Parameter("factors", ParameterType.Gamma));
        }

        protected override void Prepare(Shape?[] inputShapes) => factors.SetShape(new Shape(inputShapes[0]!.Tail));

        protected override NDList ForwardInternal(
            ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) => inputs;
    }
}
