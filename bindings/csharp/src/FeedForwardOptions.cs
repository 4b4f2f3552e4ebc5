// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <summary>The options of a <see cref="FeedForward"/>, which copies them.</summary>
public sealed class FeedForwardOptions
{
    /// <summary>The size between the projections, 1 or more. Must be set.</summary>
    public long HiddenSize { get; set; }

    /// <summary>The size of the output's last axis; 0, the default, means that of the input.</summary>
    public long OutputSize { get; set; }

    /// <summary>The activation; <see cref="ActivationKind.Relu"/> by default.</summary>
    public ActivationKind Activation { get; set; }

    /// <summary>Whether W_1 x is multiplied by the activation of W_gate x, in place of being activated itself; false by
    /// default.</summary>
    public bool Gated { get; set; }

    /// <summary>Whether all projections add a bias; true by default.</summary>
    public bool Bias { get; set; } = true;

    /// <summary>The probability, from 0 to below 1, that an element of what W_2 reads is dropped when training; 0 by
    /// default.</summary>
    public float Dropout { get; set; }

    internal FeedForwardOptions Copy() => (FeedForwardOptions)MemberwiseClone();

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"FeedForward(hiddenSize={HiddenSize}, outputSize={OutputSize}, activation={Activation}, gated={Gated}, "
        + $"bias={Bias}, dropout={Dropout})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedFeedForwardCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeFeedForwardOptions ToNative(NativeStructs structs)
    {
        NativeFeedForwardOptions members = structs.Add(new NativeFeedForwardOptions());
        members.HiddenSize = HiddenSize;
        members.OutputSize = OutputSize;
        members.Activation = (int)Activation;
        members.Gated = Gated ? 1 : 0;
        members.NoBias = Bias ? 0 : 1;
        members.Dropout = Dropout;
        return members;
    }
}
