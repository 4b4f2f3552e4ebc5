// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>What a block, or a part of it, is and is made of, as its native layer says.</summary>
internal sealed unsafe class LayerPart
{
    private LayerPart(string name, string nameOfParameters, NativeLayer layer)
    {
        Name = name;
        NameOfParameters = nameOfParameters;
        Kind = layer.Kind();
        Inputs = new ListInputs(HeedNative.ListOfInputs(layer));
        Options = NativeText.Of(layer.Options);
    }

    /// <summary>The name among the children of the whole that it is a part of.</summary>
    internal string Name { get; }

    /// <summary>What the names of its parameters begin with: the name of the first child that is the same
    /// layer.</summary>
    internal string NameOfParameters { get; }

    internal List<LayerPart> Children { get; } = new List<LayerPart>();

    /// <summary>The kind of layer, as C names it.</summary>
    internal string Kind { get; }

    internal ListInputs Inputs { get; }

    /// <summary>The options, as <see cref="SaidOptions"/> reads them.</summary>
    internal string Options { get; }

    /// <summary>The parts of a whole.</summary>
    internal static LayerPart Of(NativeLayer layer)
    {
        var whole = new LayerPart(string.Empty, string.Empty, layer);
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

    /// <summary>Reads the children.</summary>
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
            var part = new LayerPart(name, last, child);
            part.Read(child, prefix + last + ".", prefixes);
            Children.Add(part);
        }
    }

    private static NativeLayer ChildOf(NativeLayer layer, string name)
    {
        fixed (byte* start = NativeText.ToNative(name, nameof(name)))
        {
            return layer.Child(start);
        }
    }
}
