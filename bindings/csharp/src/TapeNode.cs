// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>One operation that a tape has recorded. It depends on no array of the program's: what its gradient reads, it
/// holds as views, which belong to the tape's manager.</summary>
internal abstract class TapeNode : GradientTarget
{
    private static readonly Input[] NoInputs = Array.Empty<Input>();

    /// <summary>The gradient with respect to the result, as far as it has been added up; null: none yet.</summary>
    private NDArray? gradient;
    private Input[] inputs;
    private bool isWalked;

    /// <summary>A node whose inputs are these arrays; null for those that are not there.</summary>
    private protected TapeNode(Tape tape, string operation, params NDArray?[] arrays)
    {
        Tape = tape;
        Operation = operation;
        inputs = new Input[arrays.Length];
        for (int index = 0; index < arrays.Length; index++)
        {
            inputs[index] = new Input(arrays[index]);
        }
    }

    internal Tape Tape { get; }

    /// <summary>The name of the operation, for exceptions.</summary>
    internal string Operation { get; }

    /// <summary>The place in the order of recording.</summary>
    internal int Index { get; set; }

    /// <summary>The number of the last backward that needs this node.</summary>
    internal int Backward { get; set; }

    internal sealed override void Take(NDArray gradient)
    {
        NDArray? before = this.gradient;
        if (before is null)
        {
            this.gradient = gradient;
            return;
        }
        this.gradient = null;
        using (before)
        using (gradient)
        {
            this.gradient = before.Add(gradient);
        }
    }

    /// <summary>Throws unless an operation may read the result as a tracked array.</summary>
    internal virtual void CheckUse(string operation)
    {
    }

    /// <summary>Throws unless the gradients of the inputs can be computed, and marks the nodes that they are given
    /// to.</summary>
    internal void Check(int backward)
    {
        if (isWalked)
        {
            throw new InvalidOperationException(
                $"backward has been computed through {Operation} already: expected another forward before it");
        }
        CheckHeld();
        foreach (Input input in inputs)
        {
            if (input.Target is TapeNode node)
            {
                node.Backward = backward;
            }
            else if (input.Target is GradientLeaf leaf)
            {
                leaf.Check();
            }
        }
    }

    /// <summary>Gives the inputs their gradients, and frees what the node holds.</summary>
    internal void Walk()
    {
        isWalked = true;
        try
        {
            if (gradient is { } given)
            {
                gradient = null;
                using (given)
                {
                    GiveGradients(given);
                }
            }
        }
        finally
        {
            Release();
            inputs = NoInputs;
        }
    }

    /// <summary>Frees a gradient that a backward has not used, since it failed.</summary>
    internal void DropGradient()
    {
        gradient?.Dispose();
        gradient = null;
    }

    /// <summary>Drops all references, once the tape's manager is disposed.</summary>
    internal void Forget()
    {
        gradient = null;
        inputs = NoInputs;
        Release();
    }

    /// <summary>Whether an input is tracked, so that its gradient is wanted.</summary>
    internal bool Wants(int index) => inputs[index].Target != null;

    private protected Shape ShapeOf(int index) => inputs[index].Shape!;

    private protected DataType TypeOf(int index) => inputs[index].Type;

    /// <summary>Computes the gradients of the tracked inputs of that of the result, which is not changed.</summary>
    private protected abstract void GiveGradients(NDArray gradient);

    /// <summary>Throws if an array that the node holds has been written since.</summary>
    private protected virtual void CheckHeld()
    {
    }

    /// <summary>Frees what the node holds.</summary>
    private protected virtual void Release()
    {
    }

    /// <summary>Gives an input its gradient: the node's own, or one that is made of it and is disposed. Axes along which
    /// the input was repeated are summed.</summary>
    private protected void Give(int index, NDArray own, NDArray made)
    {
        Input input = inputs[index];
        NDArray fitted = made;
        try
        {
            fitted = GradientShapes.Fitted(made, input.Shape!, input.Type);
            if (ReferenceEquals(fitted, own))
            {
                fitted = own.Shared(Tape.Manager);
            }
        }
        finally
        {
            if (!ReferenceEquals(made, own) && !ReferenceEquals(made, fitted))
            {
                made.Dispose();
            }
        }
        input.Target!.Take(fitted);
    }

    /// <summary>What a gradient of an input is given to, and what it looks like.</summary>
    private readonly struct Input
    {
        internal Input(NDArray? array)
        {
            Target = Tape.TargetOf(array);
            Shape = Target is null ? null : array!.Shape;
            Type = array?.ElementType ?? default;
        }

        internal GradientTarget? Target { get; }

        internal Shape? Shape { get; }

        internal DataType Type { get; }
    }
}
