// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Xunit;

namespace Heed.Tests;

/// <summary>What models.txt and model_contexts.txt of tests/bindings/cases do not have of models: C#'s streams, a logger, and
/// allocations.</summary>
[Trait(TestDevice.Trait, "cpu")]
public sealed class ModelTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager(Device.Cpu(), new ContextOptions { NumThreads = 1 });
    private readonly Model model = new("gpt2");

    public ModelTests() => model.Load(TestFiles.Data("models/gpt2"), manager);

    public void Dispose()
    {
        model.Dispose();
        manager.Dispose();
    }

    [Fact]
    public void ParametersAreReadFromAStream()
    {
        NDArray ids = manager.Create(new long[] { 1, 2, 3 }, new Shape(1, 3));
        float[] before = model.Block.Forward(ids)[0].ToFloatArray();
        using var parameters = new MemoryStream();
        model.Block.SaveParameters(parameters);
        Parameter scale = model.Block.Parameters["layers.0.norm_1.weight"];
        scale.SetArray(manager.Zeros(scale.Shape!));
        Assert.NotEqual(before, model.Block.Forward(ids)[0].ToFloatArray());
        parameters.Position = 0;
        model.Block.LoadParameters(manager, parameters);
        Assert.Equal(before, model.Block.Forward(ids)[0].ToFloatArray());
    }

    /// <summary>A logger computes nothing, so that a manager with one is not refused.</summary>
    [Fact]
    public void ManagersMayHaveALogger()
    {
        using NDManager logging = NewManager(new ContextOptions { NumThreads = 1, Logger = (_, _) => { } });
        model.Block.Forward(logging.Ones(new Shape(1, 3), DataType.Int32));
    }

    /// <summary>Their inputs are compared with the context that the model was loaded in.</summary>
    [Fact]
    public void ReusedCallsAllocateNothing()
    {
        using NDManager alike = NewManager(new ContextOptions { NumThreads = 1 });
        var inputs = new AttentionInputs(alike.Ones(new Shape(1, 2), DataType.Int32));
        AttentionOutputs outputs = model.Block.CreateOutputs(inputs);
        using Workspace workspace = manager.NewWorkspace(model.Block.WorkspaceSize(inputs, outputs));
        long fewest = long.MaxValue;
        for (int round = 0; round < 3; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < 1000; i++)
            {
                model.Block.Forward(inputs, outputs, workspace);
            }
            fewest = Math.Min(fewest, GC.GetAllocatedBytesForCurrentThread() - before);
        }
        Assert.Equal(0, fewest);
    }

    /// <summary>One of its two layers has a window.</summary>
    [Fact]
    public void CachesOfLayersWithWindowsKeepWhatTheySee()
    {
        using var gemma = new Model("gemma3");
        gemma.Load(TestFiles.Data("models/gemma3"), manager);
        var options = new KvCacheOptions(gemma.Block) { Capacity = 4096 };
        Assert.NotNull(options.LayerCapacities);
        using var windows = new KvCache(manager, options);
        options.LayerCapacities = null;
        using var all = new KvCache(manager, options);
        Assert.True(windows.NumBytes < all.NumBytes * 2 / 3);
        Assert.Equal(Logits(gemma, all), Logits(gemma, windows));
        options.LayerCapacities = [4];
        var refused = Assert.Throws<ArgumentException>(() => new KvCache(manager, options));
        Assert.Contains("LayerCapacities has 1 numbers", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void SettingsThatHeedDoesNotKnowMayBeAccepted()
    {
        string folder = Directory.CreateTempSubdirectory().FullName;
        try
        {
            foreach (string name in new[] { "config.json", "model.safetensors" })
            {
                File.Copy(Path.Combine(TestFiles.Data("models/gpt2"), name), Path.Combine(folder, name));
            }
            string config = Path.Combine(folder, "config.json");
            File.WriteAllText(config, "{\"an_unknown_setting\": 2," + File.ReadAllText(config).TrimStart()[1..]);
            using var other = new Model("other");
            var refused = Assert.Throws<NotSupportedException>(() => other.Load(folder));
            Assert.Contains("an_unknown_setting", refused.Message, StringComparison.Ordinal);
            other.Load(folder, manager, null, default, "an_unknown_setting");
            NDArray ids = manager.Create(new long[] { 1, 2, 3 }, new Shape(1, 3));
            Assert.Equal(model.Block.Forward(ids)[0].ToFloatArray(), other.Block.Forward(ids)[0].ToFloatArray());
        }
        finally
        {
            Directory.Delete(folder, true);
        }
    }

    private float[] Logits(Model gemma, KvCache cache)
    {
        NDArray ids = manager.Create(new long[] { 1, 2, 3 }, new Shape(1, 3));
        var inputs = new AttentionInputs(ids) { Cache = cache };
        AttentionOutputs outputs = gemma.Block.CreateOutputs(inputs);
        gemma.Block.Forward(inputs, outputs);
        return outputs.Output!.ToFloatArray();
    }

    private static NDManager NewManager(ContextOptions options) => NDManager.NewBaseManager(Device.Cpu(), options);
}
