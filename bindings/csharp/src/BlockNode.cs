// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed;

/// <summary>A forward of one of heed's own blocks that a tape has recorded: its inputs, and what its layer has saved for
/// the backward.</summary>
internal sealed class BlockNode : TapeNode
{
    /// <summary>The names of the inputs that are arrays, by their places.</summary>
    internal static readonly string[] Names = AttentionInputs.Members.Select(member => member.Name)
        .Concat(AttentionInputs.SequenceMembers.Select(member => member.Name))
        .Concat(AttentionInputs.DecoderMembers.Select(member => member.Name))
        .ToArray();

    private readonly NativeBlock block;

    /// <summary>How often the parameters had been changed at the forward.</summary>
    private readonly bool training;
    private readonly long seed;
    private readonly long numLastRows;

    /// <summary>All inputs of the call, by their places.</summary>
    private readonly HeldArray[] held = new HeldArray[Names.Length];
    private NativeSaved? saved;

    internal BlockNode(
        Tape tape, NativeBlock block, NDArray?[] inputs, long writes, bool training, long seed, long numLastRows)
        : base(tape, block.Kind, Differentiable(inputs))
    {
        this.block = block;
        Writes = writes;
        this.training = training;
        this.seed = seed;
        this.numLastRows = numLastRows;
        try
        {
            for (int place = 0; place < inputs.Length; place++)
            {
                held[place] = inputs[place] is { } array ? new HeldArray(array, tape.Manager) : default;
            }
        }
        catch
        {
            Release();
            throw;
        }
    }

    /// <summary>What the forward has saved; null: the backward computes it again.</summary>
    internal NativeSaved? Saved => saved;

    /// <summary>Makes the memory in which the forward saves what a backward reads, and which the tape's manager
    /// owns.</summary>
    internal NativeSaved NewSaved(NativeContext context, long numBytes)
    {
        NativeSaved made = NativeSaved.Create(context, (ulong)numBytes);
        made.SafeHandle.Keep(SharedMemory.OfHeed(numBytes));
        Tape.Manager.Own(made.SafeHandle, kind: null);
        saved = made;
        return made;
    }

    /// <summary>Frees what the node of a forward that failed holds.</summary>
    internal void Drop() => Release();

    /// <summary>How often the parameters had been written when the forward began.</summary>
    internal long Writes { get; }

    /// <summary>Sets the inputs of the call again.</summary>
    internal void Read(LayerCall call)
    {
        var tensors = new NativeTensor?[held.Length];
        for (int place = 0; place < tensors.Length; place++)
        {
            tensors[place] = held[place].Array?.Tensor;
        }
        call.Read(tensors).LastRows(numLastRows).Dropout(training, seed);
    }

    private protected override void CheckHeld()
    {
        for (int place = 0; place < held.Length; place++)
        {
            held[place].Check(Operation, Names[place]);
        }
        block.CheckSameParameters(Writes);
    }

    private protected override void GiveGradients(NDArray gradient)
    {
        var made = new NDArray?[BackwardCall.Inputs.Length];
        int given = 0;
        try
        {
            for (int index = 0; index < made.Length; index++)
            {
                if (Wants(index))
                {
                    made[index] = gradient.Manager.NewArray(ShapeOf(index), TypeOf(index));
                }
            }
            using NDArray? forwards = gradient.IsBackwards ? gradient.Duplicate() : null;
            block.ComputeGradients(this, (forwards ?? gradient).Tensor, made);
            for (; given < made.Length; given++)
            {
                if (made[given] is { } each)
                {
                    made[given] = null;
                    Give(given, gradient, each);
                }
            }
        }
        catch
        {
            Array.ForEach(made, each => each?.Dispose());
            throw;
        }
    }

    private protected override void Release()
    {
        for (int place = 0; place < held.Length; place++)
        {
            held[place].Release();
        }
        saved?.Dispose();
        saved = null;
    }

    private static NDArray?[] Differentiable(NDArray?[] inputs) =>
        Array.ConvertAll(BackwardCall.Inputs, place => place < inputs.Length ? inputs[place] : null);
}
