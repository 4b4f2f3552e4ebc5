// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>What a model, or a part of it, is made of, as its native layer says: the parts with their names, and the
/// inputs that follow from these. The options are known to the native library alone.</summary>
internal sealed class ModelPart
{
    private const string FirstLayer = "layers.0";
    private const string Embedding = "embedding";

    private readonly Dictionary<string, ModelPart> byName = new Dictionary<string, ModelPart>();

    private ModelPart(string name, string first)
    {
        Name = name;
        First = first;
    }

    /// <summary>The name among the children of the whole that it is a part of.</summary>
    internal string Name { get; }

    /// <summary>The name of the first child that is the same layer.</summary>
    internal string First { get; }

    internal List<ModelPart> Children { get; } = new List<ModelPart>();

    internal ListInputs Inputs { get; private set; } = ListInputs.Single;

    private bool ReadsIds => Has(Embedding);

    /// <summary>The parts of a model.</summary>
    internal static ModelPart Of(NativeLayer layer)
    {
        var parameters = new List<string>();
        for (long index = 0; index < layer.ParameterCount(); index++)
        {
            parameters.Add(layer.ParameterName(index));
        }
        var whole = new ModelPart(string.Empty, string.Empty);
        whole.Read(layer, string.Empty, parameters);
        return whole;
    }

    private bool Has(string child) => byName.ContainsKey(child);

    /// <summary>Reads the children, and sets what follows from them.</summary>
    /// <param name="layer">The layer of this part.</param>
    /// <param name="prefix">What its parameters' names begin with among those of the model.</param>
    /// <param name="parameters">The names of the model's parameters.</param>
    private void Read(NativeLayer layer, string prefix, List<string> parameters)
    {
        string last = string.Empty;
        for (long index = 0; index < layer.ChildCount(); index++)
        {
            string name = layer.ChildName(index);
            using NativeLayer child = ChildOf(layer, name);
            string path = prefix + name + ".";
            // A layer that is there twice has its parameters once, under its first name.
            bool isRepeated = child.ParameterCount() > 0
                && !parameters.Exists(parameter => parameter.StartsWith(path, StringComparison.Ordinal));
            if (!isRepeated)
            {
                last = name;
            }
            var part = new ModelPart(name, last);
            part.Read(child, prefix + last + ".", parameters);
            Children.Add(part);
            byName.Add(name, part);
        }
        Inputs = InputsOf(layer.Kind());
    }

    private static unsafe NativeLayer ChildOf(NativeLayer layer, string name)
    {
        fixed (byte* start = NativeText.ToNative(name, nameof(name)))
        {
            return layer.Child(start);
        }
    }

    private ListInputs InputsOf(string kind) => kind switch
    {
        "transformer" => ListInputs.Transformer(
            ReadsIds || byName["decoder"].ReadsIds, ReadsIds || byName["encoder"].ReadsIds),
        "encoder" => ReadsIds ? ListInputs.EncoderOfIds : ListInputs.Encoder,
        "decoder" => !ReadsIds ? ListInputs.Decoder
            : byName[FirstLayer].Has("cross_attention") ? ListInputs.CrossDecoderOfIds : ListInputs.DecoderOfIds,
        "encoder_layer" => ListInputs.Encoder,
        "decoder_layer" => ListInputs.Decoder,
        "multi_head_attention" => ListInputs.Attention,
        Embedding => ListInputs.Ids,
        _ => ListInputs.Single,
    };
}
