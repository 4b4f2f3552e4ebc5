// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>The layers and tensors of one step of an optimizer, as C's structs. What they point to is held until
/// Dispose.</summary>
internal sealed unsafe class StepParts : IDisposable
{
    private readonly NativeStructs structs = new NativeStructs();
    private readonly List<NativeStepPart> parts = new();
    private readonly List<NativeHandle> held = new();

    /// <summary>Adds a part.</summary>
    /// <param name="prefix">What stands before the names of its parameters.</param>
    /// <param name="layer">The layer; null: the gradients are of a tensor.</param>
    /// <param name="gradients">The gradients.</param>
    internal void Add(string prefix, NativeLayer? layer, NativeGradients gradients)
    {
        NativeStepPart part = structs.Add(new NativeStepPart());
        part.Prefix = structs.Pin(NativeText.ToNative(prefix, nameof(prefix)));
        part.Layer = layer is null ? IntPtr.Zero : Held(layer.SafeHandle);
        part.Gradients = Held(gradients.SafeHandle);
        parts.Add(part);
    }

    internal void Step(NativeOptimizer optimizer) => optimizer.StepParts(structs.AddressesOf(parts), parts.Count);

    public void Dispose()
    {
        structs.Dispose();
        held.ForEach(handle => handle.DangerousRelease());
    }

    private IntPtr Held(NativeHandle handle)
    {
        try
        {
            bool isHeld = false;
            handle.Open.DangerousAddRef(ref isHeld);
        }
        catch (ObjectDisposedException error)
        {
            throw Errors.Closed(error);
        }
        held.Add(handle);
        return handle.DangerousGetHandle();
    }
}
