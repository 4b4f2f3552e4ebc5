// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>The named arrays of a .safetensors file, or of all files of a model in several files. It lists the arrays,
/// and many blocks can be loaded from it with the files opened once. It belongs to no manager: the program disposes it.
/// Many threads may use it at the same time.</summary>
public sealed unsafe class Weights : IDisposable
{
    private readonly NativeWeights weights;
    private readonly string path;
    private readonly string[] names;
    private readonly Dictionary<string, long> indices = new Dictionary<string, long>(StringComparer.Ordinal);

    private Weights(NativeWeights weights, string path)
    {
        this.weights = weights;
        this.path = path;
        names = new string[checked((int)weights.Count())];
        for (int i = 0; i < names.Length; i++)
        {
            names[i] = weights.Name(i);
            indices.Add(names[i], i);
        }
    }

    /// <summary>The names of all arrays, sorted by their bytes in UTF-8.</summary>
    /// <exception cref="ObjectDisposedException">The weights are disposed.</exception>
    public IReadOnlyList<string> Names
    {
        get
        {
            CheckOpen();
            return Array.AsReadOnly(names);
        }
    }

    /// <summary>The native weights. Throws if they are disposed.</summary>
    internal NativeWeights Native
    {
        get
        {
            CheckOpen();
            return weights;
        }
    }

    /// <summary>Opens a file, or all files of a model, and reads the list of their arrays, but no elements. The files
    /// stay open; they must not be written meanwhile.</summary>
    /// <param name="path">A .safetensors file; for a model in several files the index (model.safetensors.index.json),
    /// or any of the files with the index beside it.</param>
    /// <returns>The weights, which the caller disposes.</returns>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: a file cannot be read;
    /// <see cref="Status.CorruptFile"/>: a file does not follow its format, or has another format, such as PyTorch's
    /// .bin: the message says which, and what to do.</exception>
    public static Weights Open(string path)
    {
        fixed (byte* file = NativeText.ToNative(path, nameof(path)))
        {
            NativeWeights opened = NativeWeights.Open(Library.Context, file);
            try
            {
                opened.SafeHandle.Attach(null, nameof(Weights));
                return new Weights(opened, path);
            }
            catch
            {
                opened.Dispose();
                throw;
            }
        }
    }

    /// <summary>The type of an array's elements.</summary>
    /// <param name="name">The array's name.</param>
    /// <returns>The type; null for a type that heed does not have, which <see cref="GetDataTypeName"/> names.</returns>
    /// <exception cref="ArgumentException">There is no array of that name.</exception>
    /// <exception cref="ObjectDisposedException">The weights are disposed.</exception>
    public DataType? GetDataType(string name)
    {
        int code = weights.Dtype(IndexOf(name));
        return code < 0 ? null : (DataType)code;
    }

    /// <summary>The type of an array's elements, by its name in the file.</summary>
    /// <param name="name">The array's name.</param>
    /// <returns>The type's name, such as "F32" or "F8_E4M3".</returns>
    /// <exception cref="ArgumentException">There is no array of that name.</exception>
    /// <exception cref="ObjectDisposedException">The weights are disposed.</exception>
    public string GetDataTypeName(string name)
    {
        return weights.DtypeName(IndexOf(name));
    }

    /// <summary>The shape of an array.</summary>
    /// <param name="name">The array's name.</param>
    /// <returns>The shape.</returns>
    /// <exception cref="ArgumentException">There is no array of that name.</exception>
    /// <exception cref="NotSupportedException">The array has more than eight axes.</exception>
    /// <exception cref="ObjectDisposedException">The weights are disposed.</exception>
    public Shape GetShape(string name)
    {
        long index = IndexOf(name);
        int rank = weights.Rank(index);
        if (rank > 8)
        {
            throw new NotSupportedException($"\"{name}\" has {rank} axes, expected at most 8");
        }
        var dims = new long[Math.Max(rank, 0)];
        for (int axis = 0; axis < dims.Length; axis++)
        {
            dims[axis] = weights.Dim(index, axis);
        }
        return new Shape(dims);
    }

    /// <summary>Opens weights from bytes, which must not change until the weights are disposed.</summary>
    internal static NativeWeights Of(NativeBytes bytes) =>
        NativeWeights.OpenMemory(Library.Context, bytes.Data, (ulong)bytes.Length);

    /// <summary>Closes the files. If a call on another thread uses them, they are closed after that call. A second call
    /// does nothing.</summary>
    public void Dispose() => weights.Dispose();

    /// <summary>Describes the weights.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"Weights of {path}, {names.Length} arrays{(weights.SafeHandle.IsDisposed ? " (closed)" : string.Empty)}";

    private long IndexOf(string name)
    {
        CheckOpen();
        _ = name ?? throw new ArgumentNullException(nameof(name));
        return indices.TryGetValue(name, out long index)
            ? index
            : throw new ArgumentException($"name is \"{name}\", which is no array of {path}", nameof(name));
    }

    private void CheckOpen()
    {
        if (weights.SafeHandle.IsDisposed)
        {
            throw Errors.ClosedWeights();
        }
    }
}
