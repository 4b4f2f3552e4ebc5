// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>A model of tests/golden/data/models with its cases: a small model of a family, and what Hugging Face's own
/// classes compute with it in 64 bits; or one of data/model_settings.</summary>
internal sealed class ModelFolder : IDisposable
{
    /// <summary>How much a number may differ, in parts of the largest magnitude.</summary>
    private const double Rounding = 1e-5;

    private readonly string path;
    private NDArray? lens;

    internal ModelFolder(string name, string parent = "models")
    {
        path = $"{parent}/{name}";
        Model = new Model(name);
        Model.Load(TestFiles.Data(path));
    }

    internal NDManager Manager { get; } = NDManager.NewBaseManager();

    internal ParameterStore Store { get; } = new ParameterStore();

    internal Model Model { get; }

    internal ModelBlock Block => Model.Block;

    /// <summary>The number of tokens of each text, (B).</summary>
    internal NDArray Lens => lens ??= ValidLens();

    public void Dispose()
    {
        Model.Dispose();
        Manager.Dispose();
    }

    internal static string Folder(string family) => TestFiles.Data("models/" + family);

    internal NDArray Case(string name) => Manager.Load(TestFiles.Golden($"{path}/cases"), name);

    internal NDArray Run(Block block, params NDArray?[] inputs)
    {
        var list = new NDList();
        list.AddRange(inputs!);
        return block.Forward(Store, list).SingletonOrThrow();
    }

    /// <summary>The output for inputs by name.</summary>
    internal NDArray Run(AttentionInputs inputs)
    {
        AttentionOutputs outputs = Block.CreateOutputs(inputs);
        using Workspace workspace = Manager.NewWorkspace(Block.WorkspaceSize(inputs, outputs));
        Block.Forward(inputs, outputs, workspace);
        return outputs.Output!;
    }

    /// <summary>Expects the numbers of a case, (B, S, size). Rows of padding have no meaning.</summary>
    internal void Expect(string name, NDArray found, bool isPadded)
    {
        NDArray expected = Case(name);
        Assert.Equal(expected.Shape, found.Shape);
        float[] should = expected.ToFloatArray();
        float[] numbers = found.ToFloatArray();
        long rows = expected.Shape[1];
        long size = expected.Shape[2];
        int[] lengths = isPadded ? Lens.ToIntArray() : Array.Empty<int>();
        double bound = Rounding * should.Max(number => Math.Abs(number));
        for (int i = 0; i < numbers.Length; i++)
        {
            long row = i / size;
            if (!isPadded || row % rows < lengths[row / rows])
            {
                Assert.True(
                    Math.Abs(numbers[i] - should[i]) <= bound, $"{name} {i}: {numbers[i]} is not {should[i]}");
            }
        }
    }

    /// <summary>Expects the logits of pieces of the decoder's ids, one after another.</summary>
    internal void ExpectPieces(string ids, Func<NDArray, NDArray> run)
    {
        NDArray all = Case(ids);
        long begin = 0;
        foreach (string piece in new[] { "prefill", "step1", "step2", "step3", "chunk" })
        {
            string name = piece + ".logits";
            long size = Case(name).Shape[1];
            Expect(name, run(all.Slice(1, begin, size)), isPadded: false);
            begin += size;
        }
        Assert.Equal(all.Shape[1], begin);
    }

    /// <summary>A cache for the block.</summary>
    internal KvCache NewCache(long capacity) =>
        new KvCache(Manager, new KvCacheOptions(Block) { MaxSequences = 2, Capacity = capacity });

    private NDArray ValidLens()
    {
        NDArray mask = Case("attention_mask");
        long[] ones = mask.ToLongArray();
        int size = (int)mask.Shape[1];
        return Manager.Create(
            Enumerable.Range(0, ones.Length / size).Select(row => (int)ones.Skip(row * size).Take(size).Sum())
                .ToArray());
    }
}
