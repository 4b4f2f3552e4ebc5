// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The gradient of a parameter of a subclass of <see cref="AbstractBlock"/>.</summary>
internal sealed class OwnParameterLeaf : GradientLeaf
{
    /// <summary>Tapes of several threads may add to one parameter.</summary>
    private readonly object gate = new();
    private readonly Parameter parameter;

    internal OwnParameterLeaf(Parameter parameter)
    {
        this.parameter = parameter;
    }

    internal override bool RequiresGradient
    {
        get => parameter.RequiresGradient;
        set => parameter.Freeze(!value);
    }

    internal override NDArray Gradient => parameter.Gradient;

    internal override void Check() => _ = Gradient;

    internal override void Take(NDArray given)
    {
        using (given)
        {
            lock (gate)
            {
                NDArray sum = Gradient;
                sum.Add(given, sum);
            }
        }
    }
}
