// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using Heed;

/// <summary>What a training needs to go on with the same bits, in a folder: the parameters, what the optimizer knows of
/// earlier steps, and the losses, of which there is one for each step.</summary>
internal sealed class TrainingState
{
    private readonly string folder;

    internal TrainingState(string folder) => this.folder = folder;

    /// <summary>Whether there is something to go on with.</summary>
    internal bool Exists => File.Exists(Losses);

    private string Parameters => Path.Combine(folder, "parameters.safetensors");

    private string Optimizer => Path.Combine(folder, "optimizer.safetensors");

    /// <summary>Written last: without it the folder has no state.</summary>
    private string Losses => Path.Combine(folder, "losses.txt");

    internal void Save(Transformer transformer, Optimizer optimizer, IEnumerable<float> losses)
    {
        Directory.CreateDirectory(folder);
        File.Delete(Losses);
        transformer.Save(Parameters);
        optimizer.Save(Optimizer);
        WriteLosses(Losses, losses);
    }

    /// <summary>Loads the parameters, then the optimizer, and returns the losses of the steps so far.</summary>
    internal float[] Load(Transformer transformer, Optimizer optimizer)
    {
        transformer.Load(Parameters);
        optimizer.Load(Optimizer);
        return File.ReadLines(Losses)
            .Select(bits => BitConverter.Int32BitsToSingle(int.Parse(bits, NumberStyles.HexNumber)))
            .ToArray();
    }

    /// <summary>Writes the bits of each loss, in hexadecimal, one on each line.</summary>
    internal static void WriteLosses(string file, IEnumerable<float> losses) =>
        File.WriteAllLines(file, losses.Select(loss => BitConverter.SingleToInt32Bits(loss).ToString("x8")));
}
