// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Heed;

/// <summary>A list of arrays: the inputs or outputs of a block. An element may be null if the block allows
/// it.</summary>
public sealed class NDList : List<NDArray>, IDisposable
{
    /// <summary>Makes an empty list.</summary>
    public NDList()
    {
    }

    /// <summary>Makes an empty list.</summary>
    /// <param name="capacity">How many arrays the list can hold without growing.</param>
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

    /// <summary>The first array with that <see cref="NDArray.Name"/>; null if there is none.</summary>
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

    /// <summary>Reads the bytes that <see cref="Encode()"/> returns in C# or Java, or DJL's encode: versions 1 to 3 of
    /// its format.</summary>
    /// <param name="manager">The manager of the arrays.</param>
    /// <param name="bytes">The bytes of one list.</param>
    /// <returns>A new list of new arrays, with their names.</returns>
    /// <exception cref="EndOfStreamException">The bytes end within the list; the message says what is
    /// missing.</exception>
    /// <exception cref="InvalidDataException">The bytes are no list, or more than one; the message says
    /// where.</exception>
    /// <exception cref="NotSupportedException">An array is sparse, or of a type that heed does not have.</exception>
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

    /// <summary>Reads the bytes that <see cref="Encode(Stream)"/> writes in C# or Java, or DJL's encode: versions 1 to
    /// 3 of its format.</summary>
    /// <param name="manager">The manager of the arrays.</param>
    /// <param name="stream">The stream. Only the bytes of one list are read; it stays open.</param>
    /// <returns>A new list of new arrays, with their names.</returns>
    /// <exception cref="EndOfStreamException">The stream ends within the list; the message says what is
    /// missing.</exception>
    /// <exception cref="InvalidDataException">The stream has no list; the message says where.</exception>
    /// <exception cref="NotSupportedException">An array is sparse, or of a type that heed does not have.</exception>
    public static NDList Decode(NDManager manager, Stream stream) => EncodedList.Read(
        manager ?? throw new ArgumentNullException(nameof(manager)),
        stream ?? throw new ArgumentNullException(nameof(stream)));

    /// <summary>Encodes the arrays, with their names, in DJL's format, which DJL's NDList.decode and Java's
    /// read.</summary>
    /// <returns>The bytes.</returns>
    /// <exception cref="InvalidOperationException">An array is null, or has more than 2147483647 bytes.</exception>
    /// <exception cref="NotSupportedException">A name takes more than 65535 bytes.</exception>
    /// <exception cref="IOException">There are more bytes than a .NET array can hold; <see cref="Encode(Stream)"/> has
    /// no such limit.</exception>
    public byte[] Encode()
    {
        using var stream = new MemoryStream();
        Encode(stream);
        return stream.ToArray();
    }

    /// <summary>Writes the arrays, with their names, in DJL's format, which DJL's NDList.decode and Java's
    /// read.</summary>
    /// <param name="stream">The stream to write to; it is flushed and stays open.</param>
    /// <exception cref="InvalidOperationException">An array is null (then nothing is written), or has more than
    /// 2147483647 bytes.</exception>
    /// <exception cref="NotSupportedException">A name takes more than 65535 bytes.</exception>
    /// <exception cref="ObjectDisposedException">An array is disposed; nothing is written.</exception>
    public void Encode(Stream stream) =>
        EncodedList.Write(this, stream ?? throw new ArgumentNullException(nameof(stream)));

    /// <summary>Tells whether an array has a name.</summary>
    /// <param name="name">The name, compared with <see cref="NDArray.Name"/>.</param>
    /// <returns>True if one of the arrays has the name.</returns>
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
    /// <exception cref="InvalidOperationException">The list does not have exactly one element, or the element is
    /// null.</exception>
    public NDArray SingletonOrThrow() =>
        Count == 1 ? Head : throw new InvalidOperationException("the list has " + Count + " arrays, expected 1");

    /// <summary>The shapes of the arrays.</summary>
    /// <returns>The shape of each array; null for a null element.</returns>
    public Shape?[] GetShapes() => OpenArrays().Select(array => array?.Shape).ToArray();

    /// <summary>Adds the arrays of another list at the end.</summary>
    /// <param name="other">The other list, which may be this one.</param>
    /// <returns>This list.</returns>
    public NDList AddAll(NDList other)
    {
        AddRange(other ?? throw new ArgumentNullException(nameof(other)));
        return this;
    }

    /// <summary>Returns the arrays from an index on.</summary>
    /// <param name="fromIndex">The first index, from 0 to Count.</param>
    /// <returns>A new list of the same arrays.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The index is out of range.</exception>
    public NDList SubNDList(int fromIndex) => fromIndex >= 0 && fromIndex <= Count
        ? new NDList(this.Skip(fromIndex))
        : throw new ArgumentOutOfRangeException(nameof(fromIndex), $"{fromIndex}", $"expected 0 to {Count}");

    /// <summary>Copies the arrays to a device, as <see cref="NDArray.ToDevice"/> does.</summary>
    /// <param name="device">The device.</param>
    /// <param name="copy">Whether to copy arrays even if they are already on that device.</param>
    /// <returns>A new list; null elements stay null.</returns>
    public NDList ToDevice(Device device, bool copy = false)
    {
        _ = device ?? throw new ArgumentNullException(nameof(device));
        return new NDList(OpenArrays().Select(array => array?.ToDevice(device, copy)).ToArray());
    }

    /// <summary>Moves the arrays to another manager, as <see cref="NDArray.Attach"/> does.</summary>
    /// <param name="manager">The new owner.</param>
    public void Attach(NDManager manager)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        foreach (NDArray? array in OpenArrays())
        {
            array?.Attach(manager);
        }
    }

    /// <summary>Removes the arrays from their managers, as <see cref="NDArray.Detach"/> does.</summary>
    public void Detach()
    {
        foreach (NDArray? array in OpenArrays())
        {
            array?.Detach();
        }
    }

    /// <summary>Disposes the arrays, which stay in the list.</summary>
    public void Dispose() => ForEach(array => array?.Dispose());

    /// <summary>Describes the arrays, as DJL and heed for Java do.</summary>
    /// <returns>A line with the list's size, and one line for each array with its index, name, shape and type, and
    /// whether it is disposed.</returns>
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
