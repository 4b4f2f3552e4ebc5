// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>What a block, or a part of it, is made of, as its native layer says: the parts with their names, and the
/// inputs of a model that follow from these.</summary>
internal sealed class LayerPart
{
    private const string FirstLayer = "layers.0";
    private const string Embedding = "embedding";

    private readonly Dictionary<string, LayerPart> byName = new Dictionary<string, LayerPart>();

    private LayerPart(string name, string nameOfParameters)
    {
        Name = name;
        NameOfParameters = nameOfParameters;
    }

    /// <summary>The name among the children of the whole that it is a part of.</summary>
    internal string Name { get; }

    /// <summary>What the names of its parameters begin with: the name of the first child that is the same layer.</summary>
    internal string NameOfParameters { get; }

    internal List<LayerPart> Children { get; } = new List<LayerPart>();

    internal ListInputs Inputs { get; private set; } = ListInputs.Single;

    private bool ReadsIds => Has(Embedding);

    /// <summary>The parts of a whole.</summary>
    internal static LayerPart Of(NativeLayer layer)
    {
        var whole = new LayerPart(string.Empty, string.Empty);
        whole.Read(layer, string.Empty, layer.ChildCount() == 0 ? new HashSet<string>() : Prefixes(layer));
        return whole;
    }

    /// <summary>The beginnings of the parameters' names up to each dot: "norm." of "norm.weight".</summary>
    private static HashSet<string> Prefixes(NativeLayer layer)
    {
        var prefixes = new HashSet<string>(StringComparer.Ordinal);
        for (long index = 0; index < layer.ParameterCount(); index++)
        {
            string name = layer.ParameterName(index);
            for (int dot = name.IndexOf('.'); dot >= 0; dot = name.IndexOf('.', dot + 1))
            {
                prefixes.Add(name.Substring(0, dot + 1));
            }
        }
        return prefixes;
    }

    private bool Has(string child) => byName.ContainsKey(child);

    /// <summary>Reads the children, and sets what follows from them.</summary>
    /// <param name="layer">The layer of this part.</param>
    /// <param name="prefix">What its parameters' names begin with among those of the whole.</param>
    /// <param name="prefixes">Those of all parts with parameters.</param>
    private void Read(NativeLayer layer, string prefix, HashSet<string> prefixes)
    {
        string last = string.Empty;
        for (long index = 0; index < layer.ChildCount(); index++)
        {
            string name = layer.ChildName(index);
            using NativeLayer child = ChildOf(layer, name);
            // A layer that is there twice has its parameters once, under its first name.
            if (child.ParameterCount() == 0 || prefixes.Contains(prefix + name + "."))
            {
                last = name;
            }
            var part = new LayerPart(name, last);
            part.Read(child, prefix + last + ".", prefixes);
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
        "dot_product_attention" or "additive_attention" or "general_attention" or "multi_head_attention" => ListInputs.Attention,
        Embedding => ListInputs.Ids,
        _ => ListInputs.Single,
    };
}
