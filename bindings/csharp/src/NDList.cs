// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Heed;

/// <summary>A list of arrays: what a block takes and gives. Elements may be null where the block says so.</summary>
public sealed class NDList : List<NDArray>, IDisposable
{
    /// <summary>Makes an empty list.</summary>
    public NDList()
    {
    }

    /// <summary>Makes an empty list.</summary>
    /// <param name="capacity">How many arrays it takes without growing.</param>
    /// <exception cref="ArgumentOutOfRangeException">The capacity is negative.</exception>
    public NDList(int capacity)
        : base(capacity)
    {
    }

    /// <summary>Makes a list.</summary>
    /// <param name="arrays">Its elements.</param>
    public NDList(params NDArray?[] arrays)
        : base((arrays ?? throw new ArgumentNullException(nameof(arrays)))!)
    {
    }

    /// <summary>Makes a list.</summary>
    /// <param name="arrays">Its elements.</param>
    public NDList(IEnumerable<NDArray?> arrays)
        : base((arrays ?? throw new ArgumentNullException(nameof(arrays)))!)
    {
    }

    /// <summary>The first array.</summary>
    /// <exception cref="InvalidOperationException">The list is empty, or the first element is null.</exception>
    public NDArray Head =>
        (Count > 0 ? this[0] : null) ?? throw new InvalidOperationException("the list has no first array");

    /// <summary>The first array of that <see cref="NDArray.Name"/>; null if there is none.</summary>
    /// <param name="name">The name.</param>
    public NDArray? this[string name]
    {
        get
        {
            _ = name ?? throw new ArgumentNullException(nameof(name));
            return Find(array => array?.Name == name);
        }
    }

    /// <summary>The manager of the first array, which may be disposed.</summary>
    /// <exception cref="InvalidOperationException">The list has no array.</exception>
    public NDManager Manager =>
        Find(array => array is not null)?.Manager
        ?? throw new InvalidOperationException("the list has no array, and so no manager");

    /// <summary>Reads what <see cref="Encode()"/> gives in C# or in Java, or DJL's encode: all versions of its format
    /// to 3.</summary>
    /// <param name="manager">The manager of the arrays.</param>
    /// <param name="bytes">The bytes of one list.</param>
    /// <returns>A new list of new arrays, with their names.</returns>
    /// <exception cref="EndOfStreamException">The bytes are cut short; the message says what is missing.</exception>
    /// <exception cref="InvalidDataException">They are more than one list, or not one; the message says
    /// where.</exception>
    /// <exception cref="NotSupportedException">An array is of a type that heed lacks, or sparse.</exception>
    public static NDList Decode(NDManager manager, byte[] bytes)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        using var stream = new MemoryStream(bytes ?? throw new ArgumentNullException(nameof(bytes)));
        NDList list = Decode(manager, stream);
        if (stream.Position < stream.Length)
        {
            list.Dispose();
            throw new InvalidDataException(
                $"bytes has {stream.Length - stream.Position} bytes after its list, expected none");
        }
        return list;
    }

    /// <summary>Reads what <see cref="Encode(Stream)"/> writes in C# or in Java, or DJL's encode: all versions of its
    /// format to 3.</summary>
    /// <param name="manager">The manager of the arrays.</param>
    /// <param name="stream">A stream, of which the bytes of one list are read; it stays open.</param>
    /// <returns>A new list of new arrays, with their names.</returns>
    /// <exception cref="EndOfStreamException">The stream ends within the list; the message says what is
    /// missing.</exception>
    /// <exception cref="InvalidDataException">The stream has no list; the message says where.</exception>
    /// <exception cref="NotSupportedException">An array is of a type that heed lacks, or sparse.</exception>
    public static NDList Decode(NDManager manager, Stream stream) => EncodedList.Read(
        manager ?? throw new ArgumentNullException(nameof(manager)),
        stream ?? throw new ArgumentNullException(nameof(stream)));

    /// <summary>Encodes the arrays, with their names, in DJL's format: its NDList.decode reads it, and so does
    /// Java's.</summary>
    /// <returns>The bytes.</returns>
    /// <exception cref="InvalidOperationException">An array is null, or has more than 2147483647 bytes.</exception>
    /// <exception cref="NotSupportedException">A name takes more than 65535 bytes.</exception>
    /// <exception cref="IOException">They are more bytes than a .NET array can hold: <see cref="Encode(Stream)"/> has no
    /// such limit.</exception>
    public byte[] Encode()
    {
        using var stream = new MemoryStream();
        Encode(stream);
        return stream.ToArray();
    }

    /// <summary>Writes the arrays, with their names, in DJL's format: its NDList.decode reads it, and so does
    /// Java's.</summary>
    /// <param name="stream">Gets the bytes; it is flushed and stays open.</param>
    /// <exception cref="InvalidOperationException">An array is null, and nothing is written then, or has more than
    /// 2147483647 bytes.</exception>
    /// <exception cref="NotSupportedException">A name takes more than 65535 bytes.</exception>
    /// <exception cref="ObjectDisposedException">An array is disposed, and nothing is written then.</exception>
    public void Encode(Stream stream) =>
        EncodedList.Write(this, stream ?? throw new ArgumentNullException(nameof(stream)));

    /// <summary>Tells whether an array has a name.</summary>
    /// <param name="name">The name, as <see cref="NDArray.Name"/> has it.</param>
    /// <returns>True if one of the arrays has it.</returns>
    public bool Contains(string name) => this[name] is not null;

    /// <summary>Removes the first array with this <see cref="NDArray.Name"/> from the list and returns it. It is
    /// not disposed.</summary>
    /// <param name="name">The name.</param>
    /// <returns>The array; null if none has the name.</returns>
    public NDArray? Remove(string name)
    {
        NDArray? found = this[name];
        if (found is not null)
        {
            Remove(found);
        }
        return found;
    }

    /// <summary>The only array.</summary>
    /// <returns>Element 0.</returns>
    /// <exception cref="InvalidOperationException">The list has no element or more than one, or it is
    /// null.</exception>
    public NDArray SingletonOrThrow() =>
        Count == 1 ? Head : throw new InvalidOperationException("the list has " + Count + " arrays, expected 1");

    /// <summary>The shape of each array.</summary>
    /// <returns>The shapes, null for a null element.</returns>
    public Shape?[] GetShapes() => OpenArrays().Select(array => array?.Shape).ToArray();

    /// <summary>Adds the arrays of another list at the end.</summary>
    /// <param name="other">The other list, which may be this one.</param>
    /// <returns>This list.</returns>
    public NDList AddAll(NDList other)
    {
        AddRange(other ?? throw new ArgumentNullException(nameof(other)));
        return this;
    }

    /// <summary>The arrays from one on.</summary>
    /// <param name="fromIndex">The first, from 0 to Count.</param>
    /// <returns>A new list of the same arrays.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The index is out of range.</exception>
    public NDList SubNDList(int fromIndex) => fromIndex >= 0 && fromIndex <= Count
        ? new NDList(this.Skip(fromIndex))
        : throw new ArgumentOutOfRangeException(nameof(fromIndex), fromIndex, "expected 0 to " + Count);

    /// <summary>The arrays on a device, as <see cref="NDArray.ToDevice"/> gives each.</summary>
    /// <param name="device">The device.</param>
    /// <param name="copy">Whether to copy arrays even if they are on it.</param>
    /// <returns>A new list, null where an element is null.</returns>
    public NDList ToDevice(Device device, bool copy = false)
    {
        _ = device ?? throw new ArgumentNullException(nameof(device));
        return new NDList(OpenArrays().Select(array => array?.ToDevice(device, copy)).ToArray());
    }

    /// <summary>Hands the arrays to another manager, as <see cref="NDArray.Attach"/> does.</summary>
    /// <param name="manager">Their owner from now on.</param>
    public void Attach(NDManager manager)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        foreach (NDArray? array in OpenArrays())
        {
            array?.Attach(manager);
        }
    }

    /// <summary>Takes the arrays from their managers, as <see cref="NDArray.Detach"/> does.</summary>
    public void Detach()
    {
        foreach (NDArray? array in OpenArrays())
        {
            array?.Detach();
        }
    }

    /// <summary>Disposes the arrays; the list keeps them.</summary>
    public void Dispose() => ForEach(array => array?.Dispose());

    /// <summary>Describes the arrays, as DJL and heed for Java do.</summary>
    /// <returns>A line with the list's size, and one for each array with its index, name, shape and type; a disposed
    /// array is said to be so.</returns>
    public override string ToString() => $"NDList size: {Count}\n" + string.Concat(
        this.Select((array, i) => $"{i} {array?.Name}: {array?.Description ?? "null"}\n"));

    /// <summary>Returns an element of the list; throws if it is null or a disposed array.</summary>
    internal NDArray OpenArray(int index)
    {
        NDArray? array = this[index];
        return array is null ? throw new InvalidOperationException($"array {index} of the list is null")
            : array.IsReleased ? throw new ObjectDisposedException(
                nameof(NDArray), $"array {index} of the list is closed")
            : array;
    }

    private IEnumerable<NDArray?> OpenArrays() =>
        Enumerable.Range(0, Count).Select(index => this[index] is null ? null : OpenArray(index));
}
