// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>The attention weights and log-sum-exps of attentions inside a block, in one call of the whole block, by the
/// names of its children, such as "layers.0.self_attention" in a <see cref="TransformerEncoder"/> and
/// "decoder.layers.0.cross_attention" in a <see cref="Transformer"/>. The names are those of <see
/// cref="Block.Children"/>, joined by dots. The block keeps nothing, and its output has the same bits with and without
/// taps.</summary>
/// <remarks>Calls with <see cref="AttentionInputs"/>, such as those with a cache, take taps in <see
/// cref="AttentionOutputs.Taps"/>, with arrays that <see cref="NativeBlock.CreateTaps"/> has made. The arrays belong to
/// the manager of the call's inputs. A later call that makes arrays replaces them in the taps and does not dispose them.
/// Used by one call at a time.</remarks>
/// <example><code>
/// var taps = new Taps("layers.0.self_attention", "layers.1.self_attention");
/// NDList result = encoder.Forward(store, inputs, taps);
/// NDArray weights = taps.Weights["layers.1.self_attention"];   // (B, H, Q, K)
/// </code></example>
public sealed class Taps : IDisposable
{
    private const Wanted All = Wanted.Weights | Wanted.LogSumExp;

    private readonly List<Tap> taps = new List<Tap>();

    /// <summary>Makes taps that return the attention weights of these children. <see cref="Add"/> adds further
    /// ones.</summary>
    /// <param name="children">Their names, such as "layers.0.self_attention".</param>
    public Taps(params string[] children)
    {
        foreach (string child in children ?? throw new ArgumentNullException(nameof(children)))
        {
            Add(child);
        }
    }

    /// <summary>The names of the children, in the order in which they were added.</summary>
    public IReadOnlyList<string> Children => taps.ConvertAll(tap => tap.Child);

    /// <summary>The attention weights before dropout, (B, H, Q, K) of Float32 each, by the names of the children; empty
    /// before a call has made arrays, and without children whose log-sum-exps alone are wanted.</summary>
    public IReadOnlyDictionary<string, NDArray> Weights => Arrays(Wanted.Weights);

    /// <summary>The log-sum-exps of each query's scores, (B, H, Q) of Float32 each, by the names of the children; empty
    /// before a call has made arrays, and without children whose weights alone are wanted.</summary>
    public IReadOnlyDictionary<string, NDArray> LogSumExps => Arrays(Wanted.LogSumExp);

    internal int Count => taps.Count;

    /// <summary>Adds a child, or replaces what was wanted of it and disposes nothing.</summary>
    /// <param name="child">Its name, such as "layers.0.self_attention".</param>
    /// <param name="wanted"><see cref="Wanted.Weights"/>, <see cref="Wanted.LogSumExp"/> or both.</param>
    /// <returns>This object.</returns>
    /// <exception cref="ArgumentException">The output is wanted, for which the child is called alone, or
    /// nothing.</exception>
    public Taps Add(string child, Wanted wanted = Wanted.Weights)
    {
        _ = child ?? throw new ArgumentNullException(nameof(child));
        if (wanted == 0 || (wanted & ~All) != 0)
        {
            throw new ArgumentException(
                $"wanted is {Spelled(wanted)} for the child \"{child}\", expected Wanted.Weights, Wanted.LogSumExp or "
                + "both",
                nameof(wanted));
        }
        var tap = new Tap(child, wanted);
        int index = taps.FindIndex(other => other.Child == child);
        if (index < 0)
        {
            taps.Add(tap);
        }
        else
        {
            taps[index] = tap;
        }
        return this;
    }

    /// <summary>Disposes the arrays, which stay set.</summary>
    public void Dispose() => taps.ForEach(tap => tap.Arrays.Dispose());

    /// <summary>New taps with what is wanted here, and with arrays for a call of a layer.</summary>
    internal Taps Made(LayerCall call, NativeLayer layer, NDManager manager)
    {
        var made = new Taps();
        try
        {
            foreach (Tap tap in taps)
            {
                var copy = new Tap(tap.Child, tap.Wanted);
                made.taps.Add(copy);
                foreach (Wanted one in new[] { Wanted.Weights, Wanted.LogSumExp })
                {
                    if ((tap.Wanted & one) != 0)
                    {
                        copy.Arrays[one] = manager.Adopt(call.CreateTap(layer, tap.Child, one));
                    }
                }
            }
            return made;
        }
        catch
        {
            made.Dispose();
            throw;
        }
    }

    /// <summary>Takes over the arrays of others.</summary>
    internal void Take(Taps made)
    {
        taps.Clear();
        taps.AddRange(made.taps);
    }

    /// <summary>Counts a write of each array.</summary>
    internal void CountWrites() => taps.ForEach(tap => tap.Arrays.CountWrites());

    /// <summary>Visits the children in order with their weights and log-sum-exps. Throws if one of them has no
    /// arrays.</summary>
    internal void ForEach(Action<string, NDArray?, NDArray?> visit)
    {
        foreach (Tap tap in taps)
        {
            AttentionOutputs arrays = tap.Arrays;
            if ((tap.Wanted & Wanted.Weights) != 0 ? arrays.Weights is null : arrays.LogSumExp is null)
            {
                throw new ArgumentException(
                    $"the taps have no array for \"{tap.Child}\", expected those of CreateTaps", "taps");
            }
            visit(tap.Child, arrays.Weights, arrays.LogSumExp);
        }
    }

    /// <summary>A set as C's sentences spell it: each member with the enumeration's name, other numbers as they
    /// are.</summary>
    private static string Spelled(Wanted wanted) => string.Join(
        ", ",
        wanted.ToString().Split(new[] { ", " }, StringSplitOptions.None)
            .Select(each => char.IsLetter(each[0]) ? $"Wanted.{each}" : each));

    private Dictionary<string, NDArray> Arrays(Wanted wanted) =>
        taps.Where(tap => tap.Arrays[wanted] != null).ToDictionary(tap => tap.Child, tap => tap.Arrays[wanted]!);

    /// <summary>What is wanted of a child, and its arrays, all or none of them.</summary>
    private sealed class Tap
    {
        internal Tap(string child, Wanted wanted)
        {
            Child = child;
            Wanted = wanted;
        }

        internal string Child { get; }

        internal Wanted Wanted { get; }

        internal AttentionOutputs Arrays { get; } = new AttentionOutputs();
    }
}
