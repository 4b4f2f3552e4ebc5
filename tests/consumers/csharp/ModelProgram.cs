// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Heed;

/// <summary>A whole model with a logger, forward of arrays, and a composed block's file, for .NET Standard 2.0.</summary>
public static class ModelProgram
{
    /// <summary>The shape of a BERT's hidden states, what heed said of its folder, and whether a file gave the same
    /// block.</summary>
    public static string Run(string folder)
    {
        var messages = new List<string>();
        var options = new ContextOptions { NumThreads = 2, Logger = (level, text) => messages.Add($"{level} {text}") };
        using NDManager manager = NDManager.NewBaseManager(Device.Cpu(), options);
        using var model = new Model("bert");
        model.Load(folder, manager);
        NDArray states = model.Block.Forward(manager.Ones(new Shape(1, 3), DataType.Int32))[0];
        int warnings = messages.Count(message => message.StartsWith("Warning ") && message.EndsWith(" are not read"));
        return $"{states.Shape}, {warnings} warning, {(SavedAndLoaded(manager, states) ? "the same" : "other")} block";
    }

    /// <summary>For programs that have a Main of their own.</summary>
    public static int Main(string[] args)
    {
        Console.WriteLine(Run(args[0]));
        return 0;
    }

    private static bool SavedAndLoaded(NDManager manager, NDArray x)
    {
        string file = Path.GetTempFileName();
        try
        {
            using SequentialBlock block = NewBlock();
            using SequentialBlock other = NewBlock();
            block.Initialize(manager, DataType.Float32, x.Shape);
            block.Save(file);
            other.Load(manager, file);
            return block.Forward(x)[0].ContentEquals(other.Forward(x)[0]);
        }
        finally
        {
            File.Delete(file);
        }
    }

    private static SequentialBlock NewBlock()
    {
        var block = new SequentialBlock();
        block.Add(new Linear(8)).Add(new LayerNorm(new LayerNormOptions()));
        return block;
    }
}
