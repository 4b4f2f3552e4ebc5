// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>An array of elements of one type. Its memory is outside the managed heap, and it belongs to a manager.
/// Methods that reorder or select elements return views, which share the array's memory: writing to one writes to the
/// other. All other methods return new arrays. Both belong to this array's manager. Many threads may read an array at
/// the same time.</summary>
/// <remarks>Every member but Dispose, Manager, Name, IsReleased and ToString throws
/// <see cref="ObjectDisposedException"/> once the array or its manager is disposed. Memory is freed with the last array
/// that uses it. Two arrays are equal only if they are the same object: see <see cref="ContentEquals"/>.</remarks>
public sealed partial class NDArray : IDisposable
{
    private readonly DataType dataType;
    private readonly Shape shape;

    /// <summary>Only for a snapshot of a parameter: sets the parameter, and returns its new snapshot.</summary>
    private readonly Func<NativeTensor, NativeTensor>? write;
    private volatile NativeTensor tensor;
    private volatile NDManager manager;

    internal NDArray(NDManager manager, NativeTensor tensor, Func<NativeTensor, NativeTensor>? write = null)
    {
        this.manager = manager;
        this.tensor = tensor;
        this.write = write;
        dataType = (DataType)tensor.Dtype();
        shape = ShapeOf(tensor);
    }

    /// <summary>With the type and the shape of the native array, which native calls would tell too.</summary>
    internal NDArray(NDManager manager, NativeTensor tensor, Shape shape, DataType dataType)
    {
        this.manager = manager;
        this.tensor = tensor;
        this.shape = shape;
        this.dataType = dataType;
    }

    /// <summary>The manager that the array belongs to, which may be disposed.</summary>
    public NDManager Manager => manager;

    /// <summary>The device that the elements are on.</summary>
    public Device Device
    {
        get
        {
            CheckOpen();
            return manager.Device;
        }
    }

    /// <summary>The sizes of the axes.</summary>
    public Shape Shape
    {
        get
        {
            CheckOpen();
            return shape;
        }
    }

    /// <summary>The type of the elements.</summary>
    public DataType DataType
    {
        get
        {
            CheckOpen();
            return dataType;
        }
    }

    /// <summary>The number of elements: the product of the sizes of the axes.</summary>
    public long Size => Shape.Size;

    /// <summary>A name that the program sets; null by default.</summary>
    public string? Name { get; set; }

    /// <summary>Whether the array or its manager is disposed.</summary>
    public bool IsReleased => tensor.SafeHandle.IsDisposed;

    /// <summary>The native array. Throws if it is disposed.</summary>
    internal NativeTensor Tensor
    {
        get
        {
            CheckOpen();
            return tensor;
        }
    }

    /// <summary>The type of the elements, also of a disposed array.</summary>
    internal DataType ElementType => dataType;

    /// <summary>Shape and type, and whether the array is disposed.</summary>
    internal string Description =>
        $"{shape} {dataType.ToString().ToLowerInvariant()}{(IsReleased ? " (closed)" : string.Empty)}";

    /// <summary>The size of one axis.</summary>
    /// <param name="axis">The axis; negative ones count from the end.</param>
    /// <returns>The size.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such axis.</exception>
    public long GetSize(int axis) => Shape[AxisOf(axis, shape.Dimension, nameof(axis))];

    /// <summary>Moves the array to another manager, which disposes the array when it is disposed; the previous manager
    /// no longer does.</summary>
    /// <param name="manager">The new owner.</param>
    /// <exception cref="ArgumentException">The manager is of another device.</exception>
    /// <exception cref="ObjectDisposedException">The array or the manager is disposed; nothing has changed.</exception>
    public void Attach(NDManager manager)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        if (!manager.Device.Equals(Device))
        {
            throw new ArgumentException(
                $"manager is of {manager.Device}, but the array is of {Device}", nameof(manager));
        }
        bool isTaken;
        try
        {
            isTaken = manager.TakeOver(tensor.SafeHandle);
        }
        catch (ObjectDisposedException)
        {
            throw Errors.ClosedArray();
        }
        this.manager = isTaken ? manager : throw Errors.ClosedManager();
        Leaf?.Attach(manager);
    }

    /// <summary>Removes the array from its manager. The program then has to dispose it; if it does not, the garbage
    /// collector frees it. <see cref="Manager"/> is then a manager that disposes neither this array nor arrays made
    /// from it.</summary>
    public void Detach() => Attach(manager.Unowned);

    /// <summary>Frees the array. If a call on another thread uses it, it is freed after that call. Its memory is freed
    /// once its views are freed, too. A second call does nothing.</summary>
    public void Dispose()
    {
        tensor.Dispose();
        Leaf?.Dispose();
    }

    /// <summary>Describes the array with its elements as NumPy prints them, in columns: with at most 8 digits after the
    /// point, and with exponents if the magnitudes of the numbers differ much. Of an array with more than 1000
    /// elements, the first 3 and the last 3 along each axis are shown. For an array on another device, the call waits
    /// for its elements and copies them; an error of the device is thrown, as by <see cref="ToFloatArray"/>.</summary>
    /// <returns>A line with shape, type and, except for the CPU, the device, and then the elements; for a disposed
    /// array only the line, which says that it is disposed.</returns>
    public override string ToString() => ArrayText.Of(this);

    /// <summary>The native array of an argument with that name; null for null.</summary>
    /// <exception cref="ObjectDisposedException">The argument is disposed.</exception>
    internal static NativeTensor? TensorOf(NDArray? array, string argument) =>
        array is { IsReleased: true } ? throw Errors.ClosedArray(argument) : array?.tensor;

    private static Shape ShapeOf(NativeTensor tensor)
    {
        var dims = new long[tensor.Rank()];
        for (int axis = 0; axis < dims.Length; axis++)
        {
            dims[axis] = tensor.Dim(axis);
        }
        return new Shape(dims);
    }

    /// <summary>The axis, counted from 0.</summary>
    internal static int AxisOf(int axis, int rank, string name) => axis >= -rank && axis < rank
        ? axis < 0 ? axis + rank : axis
        : throw new ArgumentOutOfRangeException(name, $"{axis}", $"expected an axis of {rank}: {-rank} to {rank - 1}");

    private void CheckOpen()
    {
        if (IsReleased)
        {
            throw Errors.ClosedArray();
        }
    }

    /// <summary>Writes the elements to the array's memory, or, for a snapshot, to the parameter.</summary>
    private void Fill(Action<NativeTensor> fill)
    {
        NativeTensor target = Tensor;
        if (write is null)
        {
            fill(target);
            CountWrite();
            return;
        }
        using NativeTensor values = manager.NewHostTensor(shape, dataType);
        fill(values);
        Replace(values);
    }

    /// <summary>Sets the parameter of which this is a snapshot.</summary>
    private void Replace(NativeTensor values)
    {
        NativeTensor next = write!(values);
        manager.Own(next);
#pragma warning disable CS0420 // The exchange is as good as a volatile write.
        Interlocked.Exchange(ref tensor, next).Dispose();
#pragma warning restore CS0420
    }
}
