// SPDX-License-Identifier: Apache-2.0
using System;
using System.Text.RegularExpressions;

namespace Heed;

/// <summary>A parameter of a native layer.</summary>
internal sealed class NativeParameter : Parameter
{
    internal NativeParameter(NativeBlock block, string name, bool isOfNorm)
        : base(name, TypeOf(name, isOfNorm))
    {
        Block = block;
        NativeName = NativeText.ToNative(name, nameof(name));
        Leaf = new NativeParameterLeaf(this);
    }

    public override bool IsInitialized => Block.HasParameter(this);

    public override Shape? Shape => Block.ShapeOf(this);

    public override NDArray Array => Block.ArrayOf(this);

    /// <summary>The type of the values; null if there are none.</summary>
    internal DataType? DataType => Block.DataTypeOf(this);

    internal NativeBlock Block { get; }

    /// <summary>Where gradients of snapshots go.</summary>
    internal NativeParameterLeaf Leaf { get; }

    /// <summary>The name in UTF-8 with a terminating zero.</summary>
    internal byte[] NativeName { get; }

    private protected override NDArray GradientArray => Block.GradientOf(this);

    public override void SetArray(NDArray array) =>
        Block.SetParameter(this, array ?? throw new ArgumentNullException(nameof(array)));

    public override void SetShape(Shape shape)
    {
        _ = shape ?? throw new ArgumentNullException(nameof(shape));
        if (!shape.Equals(Shape))
        {
            throw new InvalidOperationException($"{Name} belongs to a block of heed, which knows its shape: {Shape}");
        }
    }

    public override void Initialize(NDManager manager, DataType dataType) =>
        throw new InvalidOperationException(
            $"{Name} belongs to a block of heed, which draws all its parameters at once");

    private protected override void Frozen() => Block.SetTrainable(this, RequiresGradient);

    internal override string DescribeValues() => Block.DescribeValuesOf(this);

    /// <summary>Removes the values of all parameters of the block.</summary>
    internal override void ReleaseArray() => Block.Clear();

    private static ParameterType TypeOf(string name, bool isOfNorm)
    {
        bool EndsWith(string end) => name.EndsWith(end, StringComparison.Ordinal);
        if (isOfNorm || IsInNorm(name))
        {
            return EndsWith("weight") ? ParameterType.Gamma : ParameterType.Beta;
        }
        if (EndsWith("bias") || EndsWith("bias_k") || EndsWith("bias_v"))
        {
            return ParameterType.Bias;
        }
        return EndsWith("sinks") || EndsWith("relative_bias.weight") ? ParameterType.Other : ParameterType.Weight;
    }

    /// <summary>Whether the parameter is that of a norm inside the block, as "q_norm.weight",
    /// "layers.0.norm_1.bias", "output_norm_2.weight".</summary>
    private static bool IsInNorm(string name) => Regex.IsMatch(name, @"(^|[._])norm(_\d)?\.(weight|bias)$");
}
