// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>An output beside the output of a block, such as attention weights, through which no gradient goes
/// back.</summary>
internal sealed class OutputNode : TapeNode
{
    internal OutputNode(Tape tape, string output)
        : base(tape, output)
    {
    }

    internal override void CheckUse(string operation) => throw new NotSupportedException(
        $"{Operation} have no gradient here, and {operation} reads them under a gradient tape: expected StopGradient() of "
        + "the array");

    private protected override void GiveGradients(NDArray gradient) => CheckUse("Backward");
}
