// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A scalar that was computed together with its gradient, which a backward multiplies by that of the
/// scalar.</summary>
internal sealed class ScaledNode : TapeNode
{
    private NDArray? ready;

    internal ScaledNode(Tape tape, string operation, NDArray input, NDArray ready, NDArray? opposite)
        : base(tape, operation, input, opposite)
    {
        this.ready = ready;
    }

    private protected override void GiveGradients(NDArray gradient)
    {
        NDArray scaled = ready!.Multiply(gradient);
        if (Wants(1))
        {
            Give(1, gradient, scaled.Negate());
        }
        if (Wants(0))
        {
            Give(0, gradient, scaled);
        }
        else
        {
            scaled.Dispose();
        }
    }

    private protected override void Release()
    {
        ready?.Dispose();
        ready = null;
    }
}
