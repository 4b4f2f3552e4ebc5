// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>An operation on arrays that a tape has recorded.</summary>
internal sealed class OperationNode : TapeNode
{
    private readonly ArrayOperation operation;
    private HeldArray first;
    private HeldArray second;
    private HeldArray third;
    private HeldArray result;

    internal OperationNode(
        Tape tape, ArrayOperation operation, NDArray result, NDArray a, NDArray? b, NDArray? c)
        : base(tape, operation.Name, a, b, c)
    {
        this.operation = operation;
        ArrayOperation.Held needs = operation.Needs(Wants(0), Wants(1), Wants(2));
        try
        {
            first = Hold(needs & ArrayOperation.Held.First, a);
            second = Hold(needs & ArrayOperation.Held.Second, b);
            third = Hold(needs & ArrayOperation.Held.Third, c);
            this.result = Hold(needs & ArrayOperation.Held.Result, result);
        }
        catch
        {
            Release();
            throw;
        }
    }

    /// <summary>The first input, for the rules that read it.</summary>
    internal NDArray First => first.Array!;

    internal NDArray Second => second.Array!;

    internal NDArray Third => third.Array!;

    /// <summary>The result, for the rules that read it.</summary>
    internal NDArray Result => result.Array!;

    /// <summary>A number of the operation, such as an exponent.</summary>
    internal Scalar Number { get; set; }

    /// <summary>Other arguments, as the rules of the operation know them.</summary>
    internal object? Arguments { get; set; }

    /// <summary>The shape of a tracked input.</summary>
    internal Shape Shape(int index) => ShapeOf(index);

    private protected override void GiveGradients(NDArray gradient)
    {
        // By the first input first: an array that is there twice gets the sum in this order.
        Apply(0, operation.First, gradient);
        Apply(1, operation.Second, gradient);
        Apply(2, operation.Third, gradient);
    }

    private protected override void CheckHeld()
    {
        first.Check(Operation, "the array");
        second.Check(Operation, "the second array");
        third.Check(Operation, "the third array");
        result.Check(Operation, "the result");
    }

    private protected override void Release()
    {
        first.Release();
        second.Release();
        third.Release();
        result.Release();
        Arguments = null;
    }

    private void Apply(int index, GradientRule? rule, NDArray gradient)
    {
        if (Wants(index) && rule != null)
        {
            Give(index, gradient, rule(this, gradient));
        }
    }

    private HeldArray Hold(ArrayOperation.Held need, NDArray? array) =>
        need == ArrayOperation.Held.None ? default : new HeldArray(array!, Tape.Manager);
}
