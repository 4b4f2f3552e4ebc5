// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <content>What a gradient tape records of a forward, and the gradients of the parameters.</content>
public abstract unsafe partial class NativeBlock
{
    private const string WeightsName = "attention weights";

    /// <summary>Locked while the sets of gradients of the whole and of its children are used. Of a child that of the
    /// whole.</summary>
    private readonly object gradientLock;

    /// <summary>The gradients of the parameters of this block's layer; null: none were needed yet. Each child has a set of
    /// its own, of zeros but during a backward: its layer is another one.</summary>
    private NativeGradients? gradients;

    /// <summary>The layer that the set is of.</summary>
    private NativeLayer? layerOfGradients;

    /// <summary>The number of <see cref="freezes"/> when the set was made.</summary>
    private long freezesOfGradients;

    private static long orders;

    /// <summary>How often parameters of the whole were frozen or the opposite.</summary>
    private long freezes;

    /// <summary>How often parameters of the whole were changed.</summary>
    private long writes;

    /// <summary>The number of the block, by which locks of several blocks are taken.</summary>
    internal long Order { get; } = Interlocked.Increment(ref orders);

    /// <summary>The parameters of the layer.</summary>
    internal NativeParameter[] OwnParameters => parameters;

    /// <summary>Whether a parameter is trained.</summary>
    private bool HasTrainable => Array.Exists(parameters, parameter => parameter.RequiresGradient);

    /// <summary>The context of the layer.</summary>
    internal NativeContext OpenContext()
    {
        CheckNotDisposed();
        return OpenLayerContext().Context;
    }

    /// <summary>Throws if a parameter has changed since a forward.</summary>
    internal void CheckSameParameters(long before)
    {
        CheckNotDisposed();
        if (Volatile.Read(ref whole.writes) != before)
        {
            throw new InvalidOperationException(
                $"a parameter of {Kind} has been written since: expected the same elements until backward");
        }
    }

    /// <summary>Computes the gradients of a recorded forward, and adds them to those of the inputs and of the
    /// parameters.</summary>
    internal void ComputeGradients(BlockNode node, NativeTensor output, NDArray?[] ofInputs)
    {
        using LayerCall call = LayerCall.Begin();
        node.Read(call);
        gate.EnterReadLock();
        try
        {
            // Again, since another thread may have taken a step after the check of the whole tape.
            CheckSameParameters(node.Writes);
            NativeLayer open = Current;
            lock (gradientLock)
            {
                NativeGradients? set = HasTrainable ? SetOf(open) : null;
                call.Backward(open, node.Saved, output, ofInputs, set);
                set?.SafeHandle.CountWrite();
                if (set != null && childPath != null)
                {
                    AddToWhole(set);
                }
            }
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>The gradient of a parameter of this whole block, a view.</summary>
    internal NDArray GradientOf(NativeParameter parameter) => WithSet(set =>
    {
        fixed (byte* name = parameter.NativeName)
        {
            return (owner ?? SnapshotOwner()).Adopt(set.Tensor(name));
        }
    });

    /// <summary>Adds to the gradient of a parameter of this whole block.</summary>
    internal void AddGradient(NativeParameter parameter, NativeTensor added) => WithSet(set =>
    {
        fixed (byte* name = parameter.NativeName)
        {
            using NativeTensor sum = set.Tensor(name);
            HeedNative.HeedElementwise((int)ElementFunction.Add, sum, added, sum);
            set.SafeHandle.CountWrite();
            return true;
        }
    });

    /// <summary>Uses the set of gradients of the whole, which is made if there is none.</summary>
    internal T WithSet<T>(Func<NativeGradients, T> use)
    {
        gate.EnterReadLock();
        try
        {
            CheckNotDisposed();
            lock (gradientLock)
            {
                return use(SetOf(layer));
            }
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Begins a change of gradients or, by them, of parameters: no other call uses the block until <see
    /// cref="ExitStep"/>.</summary>
    internal void EnterStep()
    {
        Monitor.Enter(changing);
        try
        {
            gate.EnterWriteLock();
        }
        catch
        {
            Monitor.Exit(changing);
            throw;
        }
    }

    /// <summary>The layer and its set, for a step.</summary>
    internal (NativeLayer Layer, NativeGradients Set) ForStep()
    {
        CheckNotDisposed();
        lock (gradientLock)
        {
            return (layer, SetOf(layer));
        }
    }

    internal void ExitStep(bool hasWritten)
    {
        writes += hasWritten ? 1 : 0;
        gate.ExitWriteLock();
        Monitor.Exit(changing);
    }

    /// <summary>Says whether a parameter of this whole block is trained.</summary>
    internal void SetTrainable(NativeParameter parameter, bool isTrainable)
    {
        lock (changing)
        {
            gate.EnterWriteLock();
            try
            {
                if (!disposed && !layer.SafeHandle.IsDisposed)
                {
                    Tell(layer, parameter, isTrainable);
                    freezes++;
                }
            }
            finally
            {
                gate.ExitWriteLock();
            }
        }
    }

    /// <summary>The tape of a forward with these inputs; null: nothing is to be recorded.</summary>
    /// <exception cref="NotSupportedException">A tracked input has no gradient.</exception>
    private Tape? TapeOf(NDArray?[] inputs)
    {
        Tape? tape = Tape.For(Kind, inputs);
        for (int place = 0; tape != null && place < inputs.Length; place++)
        {
            if (Array.IndexOf(BackwardCall.Inputs, place) < 0)
            {
                Tape.Refuse($"{BlockNode.Names[place]} of {Kind}", inputs[place]);
            }
        }
        return tape ?? (HasTrainable ? Tape.OfThread() : null);
    }

    /// <summary>Refuses a call that a tape would have to record, and cannot.</summary>
    private void RefuseUnderTape(string call, AttentionInputs inputs, bool isInto)
    {
        if (TapeOf(inputs.Arrays) != null)
        {
            throw isInto ? Tape.IntoExisting(call) : Tape.WithoutGradient(call);
        }
    }

    /// <summary>Begins to record a forward, whose inputs the call has. Only in a call that holds the gate.</summary>
    private BlockNode Began(
        Tape tape, LayerCall call, NativeLayer open, NDArray?[] inputs, bool training, long seed, long numLastRows,
        bool isSaved)
    {
        if (HasTrainable)
        {
            lock (gradientLock)
            {
                SetOf(open);
            }
        }
        var node = new BlockNode(
            tape, this, inputs, Volatile.Read(ref whole.writes), training, seed, numLastRows);
        try
        {
            if (isSaved)
            {
                call.Saving(node.NewSaved(whole.layerContext.Context, call.SavedSize(open)));
            }
            return node;
        }
        catch
        {
            node.Drop();
            throw;
        }
    }

    /// <summary>The set of gradients of this block's layer, made anew where the layer, or what of it is trained, is another
    /// than before; gradients of parameters that are in both are kept. Under the lock of gradients.</summary>
    private NativeGradients SetOf(NativeLayer open)
    {
        bool isOfLayer = gradients != null && ReferenceEquals(layerOfGradients, open)
            && !gradients.SafeHandle.IsDisposed;
        if (isOfLayer && freezesOfGradients == whole.freezes)
        {
            return gradients!;
        }
        NativeGradients made = NativeGradients.Create(open);
        try
        {
            made.SafeHandle.Keep(SharedMemory.OfHeed(GradientSets.SizeOf(made)));
            if (isOfLayer)
            {
                GradientSets.Copy(gradients!, made);
            }
            whole.owner?.Own(made.SafeHandle, kind: null);
        }
        catch
        {
            made.Dispose();
            throw;
        }
        gradients?.Dispose();
        gradients = made;
        layerOfGradients = open;
        freezesOfGradients = whole.freezes;
        return made;
    }

    /// <summary>Adds a child's gradients to those of the whole, and sets them to 0.</summary>
    private void AddToWhole(NativeGradients set)
    {
        NativeGradients all = whole.SetOf(whole.layer);
        foreach (NativeParameter parameter in parameters)
        {
            if (parameter.RequiresGradient)
            {
                fixed (byte* full = parameter.NativeName,
                    name = NativeText.ToNative(childPath!.NameOf(parameter), nameof(set)))
                {
                    using NativeTensor sum = all.Tensor(full);
                    using NativeTensor added = set.Tensor(name);
                    HeedNative.HeedElementwise((int)ElementFunction.Add, sum, added, sum);
                }
            }
        }
        all.SafeHandle.CountWrite();
        set.Zero();
    }

    /// <summary>Tells a new layer which parameters are frozen.</summary>
    private void TellFrozen(NativeLayer made)
    {
        foreach (NativeParameter parameter in parameters)
        {
            if (!parameter.RequiresGradient)
            {
                Tell(made, parameter, false);
            }
        }
    }

    private static void Tell(NativeLayer layer, NativeParameter parameter, bool isTrainable)
    {
        fixed (byte* name = parameter.NativeName)
        {
            layer.SetTrainable(name, isTrainable ? 1 : 0);
        }
    }

    /// <summary>Begins with gradients of 0, for parameters that were loaded. Only in a change of the parameters.</summary>
    private void ForgetGradients()
    {
        if (childPath == null)
        {
            DropGradients();
            return;
        }
        lock (whole.gradientLock)
        {
            if (whole.gradients is not { } all)
            {
                return;
            }
            foreach (NativeParameter parameter in parameters)
            {
                if (parameter.RequiresGradient)
                {
                    fixed (byte* name = parameter.NativeName)
                    {
                        using NativeTensor sum = all.Tensor(name);
                        sum.Fill(0);
                    }
                }
            }
            all.SafeHandle.CountWrite();
        }
    }

    /// <summary>Frees the gradients, whose layer is replaced or disposed.</summary>
    private void DropGradients()
    {
        lock (gradientLock)
        {
            gradients?.Dispose();
            gradients = null;
            layerOfGradients = null;
        }
    }
}
