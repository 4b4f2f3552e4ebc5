// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The gradients of one backward of a layer, as C's struct, beside the structs of a <see cref="LayerCall"/>. They
/// are added to what their arrays hold.</summary>
internal sealed unsafe class BackwardCall
{
    /// <summary>The members that are the gradients of inputs, in the order of <see cref="Inputs"/>.</summary>
    private static readonly TensorMember<NativeLayerGradients>[] Members =
    {
        new(nameof(AttentionInputs.Queries), (gradients, tensor) => gradients.Queries = tensor),
        new(nameof(AttentionInputs.Keys), (gradients, tensor) => gradients.Keys = tensor),
        new(nameof(AttentionInputs.Values), (gradients, tensor) => gradients.Values = tensor),
        new(nameof(AttentionInputs.Bias), (gradients, tensor) => gradients.Bias = tensor),
        new(nameof(AttentionInputs.AlibiSlopes), (gradients, tensor) => gradients.AlibiSlopes = tensor),
        new(nameof(AttentionInputs.Sinks), (gradients, tensor) => gradients.Sinks = tensor),
        new(nameof(AttentionInputs.SelfBias), (gradients, tensor) => gradients.SelfBias = tensor),
        new(nameof(AttentionInputs.Memory), (gradients, tensor) => gradients.Memory = tensor),
    };

    private static readonly TensorMember<NativeLayerGradients>[] Others =
    {
        new(nameof(NativeLayerGradients.Output), (gradients, tensor) => gradients.Output = tensor),
        new(nameof(NativeLayerGradients.Parameters), (gradients, set) => gradients.Parameters = set),
    };

    private readonly NativeLayerGradients native = new NativeLayerGradients { Accumulate = 1 };
    private readonly TensorMembers members;

    internal BackwardCall()
    {
        members = new TensorMembers().Add(native, Members).Add(native, Others);
    }

    /// <summary>The places of the inputs that have a gradient among all inputs of a call.</summary>
    internal static int[] Inputs { get; } =
        Array.ConvertAll(Members, member => AttentionInputs.PlaceOf(member.Name));

    internal NativeLayerGradients Native => native;

    /// <summary>Sets the arrays of a call; null for those that are not wanted.</summary>
    internal void Set(NativeTensor output, NDArray?[] ofInputs, NativeGradients? ofParameters)
    {
        members.SetAll(ofInputs);
        members.Set(Members.Length, output);
        members.SetObject(Members.Length + 1, ofParameters?.SafeHandle);
    }

    internal void Release() => members.Release();
}
