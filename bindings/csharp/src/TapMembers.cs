// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>The taps of one call, as C's structs, to which the struct of outputs points. Their arrays are held from <see
/// cref="Set"/> to <see cref="Release"/>. Every call must use either <see cref="Set"/> or <see
/// cref="Clear"/>.</summary>
internal sealed unsafe class TapMembers
{
    private static readonly TensorMember<NativeLayerTap>[] Members =
    {
        new(nameof(AttentionOutputs.Weights), (tap, tensor) => tap.Weights = tensor),
        new(nameof(AttentionOutputs.LogSumExp), (tap, tensor) => tap.LogSumExp = tensor),
    };

    /// <summary>The members of the struct of outputs.</summary>
    private readonly long* pointer;
    private readonly long* count;

    private readonly List<TensorMembers> held = new List<TensorMembers>();

    /// <summary>Those of the present call; null without taps.</summary>
    private NativeStructs? structs;

    internal TapMembers(NativeLayerOutputs outputs)
    {
        pointer = outputs.AddressOf(value => outputs.Taps = new IntPtr(value));
        count = outputs.AddressOf(value => outputs.NumTaps = value);
    }

    /// <summary>Sets all taps of a call; null: there are none. Throws if one lacks its arrays.</summary>
    /// <exception cref="ObjectDisposedException">An array is disposed.</exception>
    internal void Set(Taps? taps)
    {
        Clear();
        if (taps != null && taps.Count > 0)
        {
            Release();
            Fill(taps);
        }
    }

    /// <summary>For a call without taps.</summary>
    internal void Clear()
    {
        *pointer = 0;
        *count = 0;
    }

    /// <summary>Releases the arrays.</summary>
    internal void Release()
    {
        held.ForEach(members => members.Release());
        held.Clear();
        structs?.Dispose();
        structs = null;
    }

    /// <summary>A function of its own, since it makes objects.</summary>
    private void Fill(Taps taps)
    {
        var made = structs = new NativeStructs();
        var each = new List<NativeLayerTap>();
        taps.ForEach((child, weights, logSumExp) =>
        {
            NativeLayerTap tap = made.Add(new NativeLayerTap());
            tap.Child = (byte*)made.Pin(NativeText.ToNative(child, nameof(child)));
            TensorMembers members = new TensorMembers().Add(tap, Members);
            held.Add(members);
            members.SetAll(new[] { weights, logSumExp });
            each.Add(tap);
        });
        *pointer = made.AddressesOf(each).ToInt64();
        *count = each.Count;
    }
}
