// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The gradient of a parameter of one of heed's own blocks, which is in the set of the block's layer.</summary>
internal sealed class NativeParameterLeaf : GradientLeaf
{
    private readonly NativeParameter parameter;

    internal NativeParameterLeaf(NativeParameter parameter)
    {
        this.parameter = parameter;
    }

    internal override bool RequiresGradient
    {
        get => parameter.RequiresGradient;
        set => parameter.Freeze(!value);
    }

    internal override NDArray Gradient => parameter.Gradient;

    /// <summary>Makes the set of gradients, which fails for parameters that have no gradients.</summary>
    internal override void Check()
    {
        if (!RequiresGradient)
        {
            throw NotRequired(parameter.Name);
        }
        parameter.Block.WithSet(set => true);
    }

    internal override void Take(NDArray gradient)
    {
        using (gradient)
        {
            parameter.Block.AddGradient(parameter, gradient.Tensor);
        }
    }
}
