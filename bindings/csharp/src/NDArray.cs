// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>An array of elements of one type, which lives outside the managed heap and belongs to a manager. Methods
/// that reorder or select give views, which share its memory: what is written to one is in the other. All others give
/// new arrays. Both belong to the manager of the array that they are made from. May be read from many
/// threads.</summary>
/// <remarks>Everything but Dispose, Manager, Name, IsReleased and ToString throws <see cref="ObjectDisposedException"/>
/// once the array or its manager is disposed. Memory is freed with the last array that uses it. Two arrays are equal
/// only if they are the same object: see <see cref="ContentEquals"/>.</remarks>
public sealed partial class NDArray : IDisposable
{
    private readonly DataType dataType;
    private readonly Shape shape;

    /// <summary>For a snapshot of a parameter: sets the parameter, and gives the next snapshot.</summary>
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

    /// <summary>The manager that the array belongs to, which may be disposed.</summary>
    public NDManager Manager => manager;

    /// <summary>Where the array lies.</summary>
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

    /// <summary>A name that the program gives; null at first.</summary>
    public string? Name { get; set; }

    /// <summary>Whether the array, or its manager, is disposed.</summary>
    public bool IsReleased => tensor.SafeHandle.IsDisposed;

    /// <summary>The native array, which is open.</summary>
    internal NativeTensor Tensor
    {
        get
        {
            CheckOpen();
            return tensor;
        }
    }

    /// <summary>The type of the elements, of a disposed array too.</summary>
    internal DataType ElementType => dataType;

    /// <summary>Shape and type, and that the array is disposed if it is.</summary>
    internal string Description =>
        $"{shape} {dataType.ToString().ToLowerInvariant()}{(IsReleased ? " (closed)" : string.Empty)}";

    /// <summary>The size of one axis.</summary>
    /// <param name="axis">The axis; negative ones count from the end.</param>
    /// <returns>The number of elements along it.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such axis.</exception>
    public long GetSize(int axis) => Shape[AxisOf(axis, shape.Dimension, nameof(axis))];

    /// <summary>Hands the array to another manager, which disposes it with itself; the one before no longer
    /// does.</summary>
    /// <param name="manager">The owner from now on.</param>
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
    }

    /// <summary>Takes the array from its manager: nobody disposes it but the program, or, if that forgets it, the
    /// collector. <see cref="Manager"/> is then one that disposes nothing, nor what is made from the array.</summary>
    public void Detach() => Attach(manager.Unowned);

    /// <summary>Frees the array; if a call on another thread uses it, after that call. Its memory is freed when its
    /// views are, too. Doing so twice does nothing.</summary>
    public void Dispose() => tensor.Dispose();

    /// <summary>Describes the array with its elements as NumPy prints them, in columns: 8 digits after the point, where
    /// more digits would tell no more, with exponents where the numbers' sizes differ much. Of more than 1000 elements
    /// the first and last 3 along each axis are shown. For an array on another device, the call waits for its
    /// elements and copies them; an error of the device is thrown, as by <see cref="ToFloatArray"/>.</summary>
    /// <returns>One line with shape, type and, other than the CPU, device, and then the elements; for a disposed array
    /// only the line, which says so.</returns>
    public override string ToString() => ArrayText.Of(this);

    /// <summary>The native array of an argument of that name, null for null.</summary>
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
    private static int AxisOf(int axis, int rank, string name) => axis >= -rank && axis < rank
        ? axis < 0 ? axis + rank : axis
        : throw new ArgumentOutOfRangeException(name, axis, $"expected an axis of {rank}: {-rank} to {rank - 1}");

    private void CheckOpen()
    {
        if (IsReleased)
        {
            throw Errors.ClosedArray();
        }
    }

    /// <summary>Writes the elements: in place, or, of a snapshot, into the parameter.</summary>
    private void Fill(Action<NativeTensor> fill)
    {
        NativeTensor target = Tensor;
        if (write is null)
        {
            fill(target);
            return;
        }
        using NativeTensor values = manager.NewHostTensor(shape, dataType);
        fill(values);
        NativeTensor next = write(values);
        manager.Own(next, isSnapshot: true);
#pragma warning disable CS0420 // The exchange is as good as a volatile write.
        Interlocked.Exchange(ref tensor, next).Dispose();
#pragma warning restore CS0420
    }
}
