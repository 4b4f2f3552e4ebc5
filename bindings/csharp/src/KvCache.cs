// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The projected keys and values of sequences that grow row by row, such as texts that are generated. A
/// <see cref="MultiHeadAttention"/> whose inputs have a <see cref="AttentionInputs.Cache"/> appends the rows of the
/// call to it and attends to all rows of the sequence, so that earlier rows are not projected again. It belongs to a
/// manager, like an array.</summary>
/// <remarks>Row i of a sequence is the i-th that was appended, from 0; every layer has keys and values of its own for
/// it. A row also has a position: its index, unless <see cref="AttentionInputs.Positions"/> or <see cref="Discard"/>
/// say otherwise. Rotary positions, ALiBi, relative bias and windows use the position, causal masks the index. Calls
/// that only read run together. One call at a time changes a cache: another call meanwhile throws
/// <see cref="InvalidOperationException"/>, and changes nothing. All memory is allocated by the constructor, and freed
/// by <see cref="Dispose"/> or with the manager. Every member but Dispose, Manager and ToString throws
/// <see cref="ObjectDisposedException"/> once the cache or its manager is disposed.</remarks>
public sealed unsafe partial class KvCache : IDisposable
{
    private readonly NDManager manager;
    private readonly KvCacheOptions options;
    private readonly NativeCache cache;
    private readonly long numBytes;

    /// <summary>Makes an empty cache for blocks on the manager's device.</summary>
    /// <param name="manager">The manager that the cache belongs to.</param>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range, has no meaning for the layout, or the size
    /// overflows.</exception>
    /// <exception cref="NotSupportedException">UnrotatedKeys is set for a ring.</exception>
    /// <exception cref="OutOfMemoryException">There is not enough memory.</exception>
    /// <exception cref="ObjectDisposedException">The manager is disposed.</exception>
    public KvCache(NDManager manager, KvCacheOptions options)
    {
        this.manager = manager ?? throw new ArgumentNullException(nameof(manager));
        this.options = (options ?? throw new ArgumentNullException(nameof(options))).Copy();
        NativeContext context = manager.OpenContext();
        numBytes = this.options.NumBytes();
        cache = this.options.NewCache(context);
        cache.SafeHandle.Keep(SharedMemory.OfHeed(numBytes));
        manager.Own(cache.SafeHandle, nameof(KvCache));
    }

    /// <summary>The manager that the cache belongs to, which may be disposed.</summary>
    public NDManager Manager => manager;

    /// <summary>The number of bytes of the cache's memory, all of them allocated when it was made.</summary>
    public long NumBytes
    {
        get
        {
            CheckOpen();
            return numBytes;
        }
    }

    /// <summary>The number of pages that no sequence has. In a contiguous cache and in a ring a page has all rows of a
    /// sequence, and there are MaxSequences of them.</summary>
    public long FreePages => NumberOf(Native.FreePages());

    /// <summary>The native cache. Throws if it is disposed.</summary>
    internal NativeCache Native
    {
        get
        {
            CheckOpen();
            return cache;
        }
    }

    /// <summary>Copies sequences, as <see cref="Reorder(long[])"/> does.</summary>
    /// <param name="sources">A sequence, 0 to MaxSequences - 1, for each of the first sequences.</param>
    /// <exception cref="ArgumentException">There are more sources than sequences, or a source is no
    /// sequence.</exception>
    /// <exception cref="InvalidOperationException">Another call uses the cache.</exception>
    public void Reorder(ReadOnlySpan<long> sources)
    {
        NativeCache open = Native;
        long none = 0;
        fixed (long* numbers = sources)
        {
            open.Reorder(numbers == null ? &none : numbers, sources.Length);
        }
    }

    /// <summary>Keeps some of the last rows of a sequence, as <see cref="Accept(long, long, long[])"/> does.</summary>
    /// <param name="sequence">The sequence, 0 to MaxSequences - 1.</param>
    /// <param name="from">The first row that may be dropped.</param>
    /// <param name="kept">The rows that are kept, counted from there, in rising order.</param>
    /// <exception cref="ArgumentException">There is no such sequence or row, a ring has dropped it, the numbers do not
    /// rise, or layers have different lengths.</exception>
    /// <exception cref="CacheFullException">Pages that are shared with a fork must be copied, and there are too few
    /// free ones.</exception>
    /// <exception cref="InvalidOperationException">Another call uses the cache.</exception>
    public void Accept(long sequence, long from, ReadOnlySpan<long> kept)
    {
        NativeCache open = Native;
        long none = 0;
        fixed (long* numbers = kept)
        {
            open.Accept(sequence, from, numbers == null ? &none : numbers, kept.Length);
        }
    }

    /// <summary>Copies the rows of a layer that are kept, in their order. Keys are as they are kept: rotated, unless
    /// UnrotatedKeys is set.</summary>
    /// <param name="layer">The layer, 0 to NumLayers - 1.</param>
    /// <param name="sequence">The sequence, 0 to MaxSequences - 1.</param>
    /// <returns>New arrays of the cache's manager: keys (NumKvHeads, rows, HeadSize) and values (NumKvHeads, rows,
    /// ValueHeadSize), of the cache's type, or of Float32 if that is Int8.</returns>
    /// <exception cref="ArgumentException">There is no such layer or sequence.</exception>
    /// <exception cref="InvalidOperationException">Another call changes the cache.</exception>
    public (NDArray Keys, NDArray Values) Read(long layer, long sequence)
    {
        NativeCache open = Native;
        long numRows = NumberOf(open.NumRows(layer, sequence));
        DataType type = options.DataType == DataType.Int8 ? DataType.Float32 : options.DataType;
        long valueHeadSize = options.ValueHeadSize == 0 ? options.HeadSize : options.ValueHeadSize;
        NDArray? keys = null;
        NDArray? values = null;
        try
        {
            keys = manager.Create(new Shape(options.NumKvHeads, numRows, options.HeadSize), type);
            values = manager.Create(new Shape(options.NumKvHeads, numRows, valueHeadSize), type);
            open.Read(layer, sequence, keys.Tensor, values.Tensor);
            return (keys, values);
        }
        catch
        {
            keys?.Dispose();
            values?.Dispose();
            throw;
        }
    }

    private void SaveTo(long sequence, string path)
    {
        NativeCache open = Native;
        fixed (byte* file = NativeText.ToNative(path, nameof(path)))
        {
            open.Save(sequence, file);
        }
    }

    private void LoadFrom(long sequence, string path)
    {
        NativeCache open = Native;
        fixed (byte* file = NativeText.ToNative(path, nameof(path)))
        {
            open.Load(sequence, file);
        }
    }

    /// <summary>Returns the bytes that <see cref="Save"/> writes to a file.</summary>
    /// <param name="sequence">The sequence, 0 to MaxSequences - 1.</param>
    /// <returns>The bytes, for <see cref="Load(long, ReadOnlySpan{byte})"/>.</returns>
    /// <exception cref="ArgumentException">There is no such sequence.</exception>
    /// <exception cref="InvalidOperationException">Another call changes the cache.</exception>
    /// <exception cref="NotSupportedException">There are more bytes than a .NET array can hold.</exception>
    public byte[] ToBytes(long sequence)
    {
        NativeCache open = Native;
        long needed = open.SaveMemory(sequence, null, 0);
        if (needed > NDArray.MaxManagedArray)
        {
            throw new NotSupportedException(
                $"sequence {sequence} takes {needed} bytes, more than a .NET array can hold: use Save");
        }
        var bytes = new byte[needed];
        fixed (byte* destination = bytes)
        {
            needed = open.SaveMemory(sequence, destination, (ulong)bytes.Length);
        }

        // Another thread may have dropped rows meanwhile.
        Array.Resize(ref bytes, (int)needed);
        return bytes;
    }

    /// <summary>Replaces the rows of a sequence by those that <see cref="ToBytes"/> has returned, as
    /// <see cref="Load(long, string)"/> does.</summary>
    /// <param name="sequence">The sequence, 0 to MaxSequences - 1.</param>
    /// <param name="bytes">The bytes, which are only read during the call.</param>
    /// <exception cref="ArgumentException">There is no such sequence, or the bytes are of a cache with other layers,
    /// heads, head sizes, data type, UnrotatedKeys or rotary positions; the sentence names both.</exception>
    /// <exception cref="CacheFullException">There is no room for the rows.</exception>
    /// <exception cref="InvalidOperationException">Another call uses the cache.</exception>
    /// <exception cref="HeedException">With <see cref="Status.CorruptFile"/>: the bytes do not follow their format;
    /// <see cref="Status.NotFound"/>: they are not those of a cache.</exception>
    public void Load(long sequence, ReadOnlySpan<byte> bytes)
    {
        NativeCache open = Native;
        byte none = 0;
        fixed (byte* data = bytes)
        {
            open.LoadMemory(sequence, data == null ? &none : data, (ulong)bytes.Length);
        }
    }

    /// <summary>Frees the memory. If a call on another thread uses the cache, it is freed after that call. A second
    /// call does nothing.</summary>
    public void Dispose() => cache.Dispose();

    /// <summary>Describes the cache.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"KvCache {options.Layout} {options.DataType} {numBytes} bytes"
        + (cache.SafeHandle.IsDisposed ? " (closed)" : string.Empty);

    /// <summary>What a native getter returns: a number, or -1 after an error of this thread.</summary>
    private static long NumberOf(long result)
    {
        if (result < 0)
        {
            Errors.Check((int)Status.InvalidArgument);
        }
        return result;
    }

    private void CheckOpen()
    {
        if (cache.SafeHandle.IsDisposed)
        {
            throw Errors.ClosedCache();
        }
    }
}
