// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>What a native layer reads. Null: not given.</summary>
internal readonly struct LayerInputs
{
    internal LayerInputs(
        NativeTensor? queries, NativeTensor? keys, NativeTensor? values, NativeTensor? validLens,
        NativeTensor? mask = null, NativeTensor? bias = null)
    {
        Queries = queries;
        Keys = keys;
        Values = values;
        ValidLens = validLens;
        Mask = mask;
        Bias = bias;
    }

    internal NativeTensor? Queries { get; }

    internal NativeTensor? Keys { get; }

    internal NativeTensor? Values { get; }

    internal NativeTensor? ValidLens { get; }

    internal NativeTensor? Mask { get; }

    internal NativeTensor? Bias { get; }
}

/// <summary>What a native layer writes. Null: not wanted.</summary>
internal readonly struct LayerOutputs
{
    internal LayerOutputs(NativeTensor? output, NativeTensor? weights, NativeTensor? logSumExp)
    {
        Output = output;
        Weights = weights;
        LogSumExp = logSumExp;
    }

    internal NativeTensor? Output { get; }

    internal NativeTensor? Weights { get; }

    internal NativeTensor? LogSumExp { get; }
}

/// <summary>The calls of a native layer, which take their tensors one by one.</summary>
internal static unsafe class LayerCalls
{
    internal static void InitializeFor(this NativeLayer layer, in LayerInputs inputs, long seed) =>
        layer.InitializeFor(
            inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens, inputs.Mask, inputs.Bias, seed);

    internal static NativeTensor CreateOutput(this NativeLayer layer, in LayerInputs inputs, Wanted wanted) =>
        layer.CreateOutput(
            inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens, inputs.Mask, inputs.Bias, (int)wanted);

    internal static long WorkspaceBytes(this NativeLayer layer, in LayerInputs inputs, in LayerOutputs outputs) =>
        layer.WorkspaceBytes(
            inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens, inputs.Mask, inputs.Bias,
            outputs.Output, outputs.Weights, outputs.LogSumExp);

    internal static void Run(
        this NativeLayer layer, in LayerInputs inputs, long seed, bool training, NativeWorkspace? workspace,
        in LayerOutputs outputs) =>
        layer.Run(
            inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens, inputs.Mask, inputs.Bias,
            seed, training ? 1 : 0, workspace, outputs.Output, outputs.Weights, outputs.LogSumExp);

    internal static void ScaledDotProductAttention(
        this NativeContext context, AttentionOptions options, in LayerInputs inputs, long seed, bool training,
        in LayerOutputs outputs) =>
        context.ScaledDotProductAttention(
            options.Scale, options.SoftCap, options.Dropout, (int)options.Causal, (int)options.Window,
            options.WindowLeft, options.WindowRight, (int)options.EmptyRows, inputs.Queries, inputs.Keys, inputs.Values,
            inputs.ValidLens, inputs.Mask, inputs.Bias, seed, training ? 1 : 0, outputs.Output, outputs.Weights,
            outputs.LogSumExp);

    internal static string Explanation(
        this NativeLayer layer, in LayerInputs inputs, bool training, in LayerOutputs outputs)
    {
        long needed = layer.Explain(inputs, training, outputs, null, 0);
        while (true)
        {
            var text = new byte[needed];
            fixed (byte* start = text)
            {
                needed = layer.Explain(inputs, training, outputs, start, (ulong)text.Length);
                if (needed <= text.Length)
                {
                    return NativeText.ToManaged(start);
                }
            }
        }
    }

    /// <summary>The name of a parameter.</summary>
    internal static string NameOf(this NativeLayer layer, long index) =>
        NativeText.ToManaged(layer.ParameterName(index));

    internal static NativeTensor Parameter(this NativeLayer layer, NativeParameter parameter)
    {
        fixed (byte* name = parameter.NativeName)
        {
            return layer.Parameter(name);
        }
    }

    internal static void SetParameter(this NativeLayer layer, NativeParameter parameter, NativeTensor value)
    {
        fixed (byte* name = parameter.NativeName)
        {
            layer.SetParameter(name, value);
        }
    }

    internal static Shape ShapeOf(this NativeTensor tensor)
    {
        var dims = new long[tensor.Rank()];
        for (int axis = 0; axis < dims.Length; axis++)
        {
            dims[axis] = tensor.Dim(axis);
        }
        return new Shape(dims);
    }

    private static long Explain(
        this NativeLayer layer, in LayerInputs inputs, bool training, in LayerOutputs outputs, byte* text,
        ulong capacity) =>
        layer.Explanation(
            inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens, inputs.Mask, inputs.Bias,
            training ? 1 : 0, outputs.Output, outputs.Weights, outputs.LogSumExp, text, capacity);
}
