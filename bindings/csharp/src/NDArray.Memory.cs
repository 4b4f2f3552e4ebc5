// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>The memory of an array, without a copy.</content>
public sealed partial class NDArray
{
    /// <summary>Returns the memory of the elements, without a copy: writing to it writes to the array. The memory stays
    /// valid when the array is disposed, until nothing refers to the result. A span of it does not count as a
    /// reference: keep the result, or the array, in use for longer than its spans.</summary>
    /// <typeparam name="T">A type as for <see cref="ToArray{T}()"/>, except bool: the bytes of a Boolean array may be
    /// other than 0 and 1, so use byte.</typeparam>
    /// <returns>The elements in row-major order.</returns>
    /// <exception cref="InvalidOperationException">The array is of another type; its elements are not contiguous in
    /// row-major order (<see cref="Duplicate"/> makes an array that is); they are not in the processor's memory; it is
    /// a parameter, which is read-only; or it has more elements than a span can have.</exception>
    /// <exception cref="NotSupportedException">No array has elements of type T.</exception>
    public Memory<T> AsMemory<T>()
        where T : unmanaged
    {
        int count = ReachableCount<T>(nameof(AsMemory));
        if (count == 0)
        {
            return Memory<T>.Empty;
        }
        NativeTensor view = ViewOf(Tensor, shape.Dims);
        try
        {
            CheckWritable(view);
            return new ArrayMemory<T>(view, count).Memory;
        }
        catch
        {
            view.Dispose();
            throw;
        }
    }

    /// <summary>Returns the memory of the elements as a span, without a copy: writing to it writes to the array. The
    /// span is valid as long as the array is open; it does not keep the array: a using declaration of the array, or of
    /// its manager, that ends after the last use of the span does. <see cref="AsMemory"/> keeps the memory by
    /// itself.</summary>
    /// <typeparam name="T">A type as for <see cref="AsMemory"/>.</typeparam>
    /// <returns>The elements in row-major order.</returns>
    /// <exception cref="InvalidOperationException">As for <see cref="AsMemory"/>.</exception>
    /// <exception cref="NotSupportedException">No array has elements of type T.</exception>
    public unsafe Span<T> AsSpan<T>()
        where T : unmanaged
    {
        int count = ReachableCount<T>(nameof(AsSpan));
        if (count == 0)
        {
            return Span<T>.Empty;
        }
        CheckWritable(Tensor);
        return new Span<T>(Tensor.Data(), count);
    }

    private static unsafe void CheckWritable(NativeTensor tensor)
    {
        if (tensor.Data() == null)
        {
            throw new InvalidOperationException("the array is a parameter's, which is read-only: use ToArray");
        }
    }

    /// <summary>How many T the memory of the array holds, which a span can show: it is on the CPU and contiguous.</summary>
    private int ReachableCount<T>(string method)
        where T : unmanaged
    {
        long count = CountOf<T>(method, null);
        if (typeof(T) == typeof(bool))
        {
            throw new InvalidOperationException($"{method} does not give bool, take byte");
        }
        if (!Device.IsCpu)
        {
            throw new InvalidOperationException($"the array lies in the memory of {Device}: use ToArray");
        }
        if (!IsRowMajor())
        {
            throw new InvalidOperationException(
                $"the array does not lie in row-major order without gaps: use {method} of its Duplicate()");
        }
        return count <= int.MaxValue
            ? (int)count
            : throw new InvalidOperationException($"the array has {count} elements, more than a span can have");
    }
}
