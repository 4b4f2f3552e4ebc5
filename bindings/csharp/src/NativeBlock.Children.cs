// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <content>The children, and the part of the whole's layer that a child has.</content>
public abstract unsafe partial class NativeBlock
{
    /// <summary>The path to this block in its parent; null: it is no child.</summary>
    private readonly ChildPath? childPath;

    /// <summary>Locked for the fields that follow. No other lock is taken meanwhile, except a manager's.</summary>
    private readonly object childLock = new object();

    /// <summary>Null until the program asks for the children.</summary>
    private BlockList? children;

    /// <summary>The native layer of a child; null until it is used, and once the whole's layer is replaced.</summary>
    private NativeLayer? part;

    /// <inheritdoc/>
    /// <remarks>They have names such as "self_attention" and "layers.0", and share their parameters with this block:
    /// what one of them sets or loads, the other has too. A child computes, loads and saves as any block; the attention
    /// weights that it keeps are those of its own calls. Only the outermost block initializes, casts and clears the
    /// parameters. It disposes its children; disposing a child leaves all others as they are.</remarks>
    public sealed override BlockList Children
    {
        get
        {
            var copy = new BlockList();
            lock (childLock)
            {
                copy.AddAll(children ??= NewChildren());
            }
            return copy;
        }
    }

    /// <inheritdoc/>
    public sealed override ParameterList Parameters => DirectParameters;

    /// <summary>The layer with which a call computes. Only in a call that holds the gate.</summary>
    private NativeLayer Current => childPath is null ? layer : Part(childPath);

    /// <summary>The children, as C has them.</summary>
    private protected LayerPart Composition { get; }

    /// <summary>Makes a child of what its native layer is.</summary>
    private protected virtual NativeBlock MakeChild(ChildPath at) => ChildBlocks.Make(at);

    /// <summary>Counts the memory of a layer that has its parameters from the start. Only in the constructor of a
    /// whole.</summary>
    private protected void CountMemory() => AddMemoryPressure(layer);

    private BlockList NewChildren()
    {
        var list = new BlockList();
        foreach (LayerPart child in Composition.Children)
        {
            list.Add(child.Name, MakeChild(new ChildPath(this, child)));
        }
        return list;
    }

    private NativeLayer Part(ChildPath at)
    {
        lock (childLock)
        {
            CheckNotDisposed();
            if (part is null)
            {
                NativeLayer made = at.In(whole.layer);
                // Otherwise it would keep the parameters alive that their manager disposes.
                whole.owner?.Own(made.SafeHandle, kind: null);
                part = made;
            }
            return part;
        }
    }

    /// <summary>Disposes the native layer of a child. A later call takes another one.</summary>
    private void GiveBack()
    {
        lock (childLock)
        {
            part?.Dispose();
            part = null;
        }
        DropGradients();
    }

    private void GiveBackChildren()
    {
        foreach (NativeBlock child in MadeChildren())
        {
            child.GiveBack();
            child.GiveBackChildren();
        }
    }

    private void DisposeChildren()
    {
        foreach (NativeBlock child in MadeChildren())
        {
            child.Dispose();
        }
    }

    private NativeBlock[] MadeChildren()
    {
        lock (childLock)
        {
            return children is null ? Array.Empty<NativeBlock>() : children.Values.Cast<NativeBlock>().ToArray();
        }
    }

    private void CheckIsWhole()
    {
        if (childPath != null)
        {
            throw new InvalidOperationException(
                $"the block is the child \"{childPath.Name}\" of another block, which is initialized, cast, cleared and "
                + "read by LoadParameters as a whole");
        }
    }

    /// <summary>The path to a child: its parent, and the names that lead to it from the outermost block.</summary>
    internal sealed class ChildPath
    {
        /// <summary>The names from the outermost block on, with dots; of layers that are the same that of the first,
        /// which the names of parameters begin with.</summary>
        private readonly string path;
        private readonly byte[] nativePath;

        internal ChildPath(NativeBlock parent, LayerPart part)
        {
            Parent = parent;
            Part = part;
            path = parent.childPath is null
                ? part.NameOfParameters
                : parent.childPath.path + "." + part.NameOfParameters;
            nativePath = NativeText.ToNative(path, nameof(part));
        }

        internal NativeBlock Parent { get; }

        internal LayerPart Part { get; }

        internal string Name => Part.Name;

        internal bool Has(NativeParameter parameter) =>
            parameter.Name.StartsWith(path + ".", StringComparison.Ordinal);

        internal string NameOf(NativeParameter parameter) => parameter.Name.Substring(path.Length + 1);

        /// <summary>Takes the child's layer out of the outermost block's.</summary>
        internal NativeLayer In(NativeLayer outermost)
        {
            fixed (byte* start = nativePath)
            {
                return outermost.Child(start);
            }
        }
    }
}
