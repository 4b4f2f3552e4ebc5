// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <summary>The options of a <see cref="LayerNorm"/>, which copies them.</summary>
public sealed class LayerNormOptions
{
    /// <summary>What is added to the variance, or to the mean of the squares, above 0; 0, the default, means 1e-5, as
    /// in PyTorch. Files of weights do not contain it: docs/blocks.md lists those of the families of models.</summary>
    public float Epsilon { get; set; }

    /// <summary>What is computed; a layer norm by default.</summary>
    public NormKind Kind { get; set; }

    /// <summary>Whether a layer norm adds a bias, DJL's name; true by default. NormKind.Rms never adds one.</summary>
    public bool Center { get; set; } = true;

    internal LayerNormOptions Copy() => (LayerNormOptions)MemberwiseClone();

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"LayerNorm(epsilon={Epsilon}, kind={Kind}, center={Center})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedLayerNormCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeLayerNormOptions ToNative(NativeStructs structs)
    {
        NativeLayerNormOptions members = structs.Add(new NativeLayerNormOptions());
        members.Epsilon = Epsilon;
        members.Kind = (int)Kind;
        members.NoBias = Center ? 0 : 1;
        return members;
    }
}
