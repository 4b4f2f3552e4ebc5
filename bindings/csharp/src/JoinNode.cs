// SPDX-License-Identifier: Apache-2.0
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>Arrays that were joined along an axis: each gets its part of the gradient.</summary>
internal sealed class JoinNode : TapeNode
{
    internal const string Name = "Concat";

    private readonly int axis;

    /// <summary>The size of each array along the axis.</summary>
    private readonly long[] sizes;

    internal JoinNode(Tape tape, IReadOnlyList<NDArray> arrays, int axis)
        : base(tape, Name, arrays.ToArray())
    {
        this.axis = axis;
        sizes = arrays.Select(array => array.Shape[axis]).ToArray();
    }

    private protected override void GiveGradients(NDArray gradient)
    {
        long begin = 0;
        for (int index = 0; index < sizes.Length; index++)
        {
            if (Wants(index))
            {
                Give(index, gradient, gradient.Slice(axis, begin, sizes[index]));
            }
            begin += sizes[index];
        }
    }
}
