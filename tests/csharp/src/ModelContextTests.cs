// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Xunit;

namespace Heed.Tests;

/// <summary>Where models compute, and that their folders are read once.</summary>
[Trait(TestDevice.Trait, "cpu")]
public class ModelContextTests
{
    [Fact]
    public void AManagerSaysWhereAModelComputes()
    {
        using var gpt2 = new ModelFolder("gpt2");
        NDArray ids = gpt2.Case("input_ids");
        float[] expected = gpt2.Block.Forward(ids)[0].ToFloatArray();
        using NDManager single = NewManager(new ContextOptions { NumThreads = 1 });
        using NDManager alike = NewManager(new ContextOptions { NumThreads = 1 });
        using NDManager below = single.NewSubManager();
        NDManager owner = single.NewSubManager();
        using var model = new Model("gpt2");
        model.Load(ModelFolder.Folder("gpt2"), owner);
        foreach (NDManager each in new[] { owner, single, alike, below })
        {
            NDArray copy = each.Create(ids.ToLongArray(), ids.Shape);
            Assert.Equal(expected, model.Block.Forward(copy)[0].ToFloatArray());
        }

        // The parameters are the manager's, and the folder is not read a second time.
        Parameter table = model.Block.Parameters["embedding.weight"];
        Assert.Same(owner, table.Array.Manager);
        table.SetArray(gpt2.Manager.Zeros(table.Shape!));
        owner.Dispose();
        Assert.Throws<ObjectDisposedException>(
            () => model.Block.Initialize(gpt2.Manager, DataType.Float32, ids.Shape));
        Assert.Throws<ObjectDisposedException>(
            () => model.Block.Load(Path.Combine(ModelFolder.Folder("gpt2"), "model.safetensors")));
        Assert.Throws<ObjectDisposedException>(() => new Model("closed").Load(ModelFolder.Folder("gpt2"), owner));
    }

    [Fact]
    public void AFolderIsReadOnce()
    {
        using var folder = new TestFolder();
        foreach (string name in new[] { "config.json", "model.safetensors" })
        {
            File.Copy(Path.Combine(ModelFolder.Folder("gpt2"), name), folder[name]);
        }
        using NDManager single = NewManager(new ContextOptions { NumThreads = 1 });
        using NDManager manager = NDManager.NewBaseManager();
        using var model = new Model("model");
        using var other = new Model("other");
        model.Load(folder.Path);
        other.Load(folder.Path, single);
        File.Delete(folder["config.json"]);
        File.Delete(folder["model.safetensors"]);
        long[] ids = { 1, 2, 3 };
        Assert.Equal(
            model.Block.Forward(manager.Create(ids, new Shape(1, 3)))[0].ToFloatArray(),
            other.Block.Forward(single.Create(ids, new Shape(1, 3)))[0].ToFloatArray());
        other.Block.Children["layers.0"].Forward(single.Ones(new Shape(1, 3, 32)));
    }

    /// <summary>Threads, strictness and the rest of the options are never ignored.</summary>
    [Fact]
    public void ManagersWithOtherOptionsAreRefused()
    {
        using var gpt2 = new ModelFolder("gpt2");
        ModelBlock block = gpt2.Block;
        var options = new[]
        {
            new ContextOptions { NumThreads = 1 }, new ContextOptions { Strict = true },
            new ContextOptions { AllowReducedPrecision = true }, new ContextOptions { FlushSubnormals = true },
        };
        foreach (ContextOptions each in options)
        {
            using NDManager other = NewManager(each);
            NDArray ids = other.Ones(new Shape(1, 3), DataType.Int32);
            var inputs = new AttentionInputs(ids);
            string sentence = $"inputs are of a manager for cpu() with {each}, but the model was loaded for cpu() with "
                + $"{new ContextOptions()}: expected that device and these options, as Load(folder, manager) takes them from a "
                + "manager";
            void Refused(Action call) =>
                Assert.StartsWith(sentence, Assert.Throws<ArgumentException>("inputs", call).Message);
            Refused(() => block.Forward(ids));
            Refused(() => block.CreateOutputs(inputs));
            Refused(() => block.WorkspaceSize(inputs, new AttentionOutputs()));
            Refused(() => block.Explain(inputs, new AttentionOutputs()));
            Refused(() => block.Explain(new NDList(ids)));
            Refused(() => block.Children["layers.0"].Forward(other.Ones(new Shape(1, 3, 32))));
        }

        // A logger computes nothing.
        using NDManager logging = NewManager(new ContextOptions { Logger = (_, _) => { } });
        block.Forward(logging.Ones(new Shape(1, 3), DataType.Int32));
    }

    /// <summary>Their inputs are compared with the context that the model was loaded in.</summary>
    [Fact]
    public void ReusedCallsAllocateNothing()
    {
        using NDManager manager = NewManager(new ContextOptions { NumThreads = 1 });
        using NDManager alike = NewManager(new ContextOptions { NumThreads = 1 });
        using var model = new Model("gpt2");
        model.Load(ModelFolder.Folder("gpt2"), manager);
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

    private static NDManager NewManager(ContextOptions options) => NDManager.NewBaseManager(Device.Cpu(), options);
}
