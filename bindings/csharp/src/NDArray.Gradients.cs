// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Gradients, and what a <see cref="GradientTape"/> knows of an array.</content>
public sealed partial class NDArray
{
    /// <summary>Whether gradient tapes compute the gradient with respect to this array, and add it to <see
    /// cref="Gradient"/>; false by default. Setting it to true makes a gradient of zeros, which belongs to this array's
    /// manager; false drops it. Of a parameter's array it is that of the parameter, <see
    /// cref="Parameter.RequiresGradient"/>.</summary>
    /// <exception cref="ArgumentException">It is set to true, and the array is neither of Float32 nor of
    /// Float64.</exception>
    /// <exception cref="InvalidOperationException">It is set to true, and the array is computed under an open
    /// tape.</exception>
    public bool RequiresGradient
    {
        get
        {
            CheckOpen();
            return Leaf is { RequiresGradient: true };
        }

        set
        {
            CheckOpen();
            if (Leaf is { } leaf)
            {
                leaf.RequiresGradient = value;
            }
            else if (value)
            {
                Leaf = ArrayLeaf.Of(this);
            }
        }
    }

    /// <summary>Whether the array has a <see cref="Gradient"/>: it, or the parameter that it is of, requires one.</summary>
    public bool HasGradient => RequiresGradient;

    /// <summary>The sum of the gradients of all backwards since it was zero: zeros before the first one. Always the same
    /// memory, which the program may read and write: <c>array.Gradient.Multiply(0.5, array.Gradient)</c>.</summary>
    /// <exception cref="InvalidOperationException">The array requires no gradient.</exception>
    public NDArray Gradient
    {
        get
        {
            CheckOpen();
            return Leaf is { RequiresGradient: true } leaf ? leaf.Gradient : throw GradientLeaf.NotRequired("the array");
        }
    }

    /// <summary>How the array was computed under a tape, which may be closed; null: under none.</summary>
    internal TapeNode? Node { get; set; }

    /// <summary>Where its gradients are added up; null: nowhere.</summary>
    internal GradientLeaf? Leaf { get; set; }

    /// <summary>How often the elements have been written, through this array or another one that shares its
    /// memory.</summary>
    internal int Version => tensor.SafeHandle.Version;

    /// <summary>A view of all elements, which no tape follows: what is computed from it gives this array no
    /// gradient.</summary>
    /// <returns>A view, which shares this array's memory.</returns>
    public NDArray StopGradient() => Shared(manager);

    /// <summary>Whether elements stand in memory from the last to the first along an axis, as those of a flipped
    /// array.</summary>
    internal bool IsBackwards => Array.IndexOf(StridedView.Whole(Tensor, shape).Backwards(), true) >= 0;

    /// <summary>Counts a write of elements.</summary>
    internal void CountWrite() => tensor.SafeHandle.CountWrite();

    /// <summary>A view of all elements that belongs to another manager, or to its scope.</summary>
    internal NDArray Shared(NDManager owner)
    {
        NativeTensor source = Tensor;
        return owner.Adopt(StridedView.Whole(source, shape).Of(source));
    }
}
