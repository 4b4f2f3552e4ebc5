// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Makes arrays and owns them: disposing the manager disposes its arrays, its sub-managers, and the blocks
/// that were initialized with it. May be used from many threads.</summary>
/// <remarks>Every method throws <see cref="ObjectDisposedException"/> once the manager is disposed.</remarks>
public sealed class NDManager : IDisposable
{
    private readonly NativeContext context;
    private readonly Registry registry = new Registry();
    private readonly Registry? parent;

    private NDManager(NativeContext context, Registry? parent)
    {
        this.context = context;
        this.parent = parent;
    }

    private unsafe delegate void Filler(NativeTensor tensor);

    /// <summary>False once the manager is disposed.</summary>
    public bool IsOpen => registry.IsOpen;

    /// <summary>Makes a manager for the CPU.</summary>
    /// <returns>A manager, which the caller disposes.</returns>
    /// <exception cref="DllNotFoundException">The native library cannot be loaded.</exception>
    public static NDManager NewBaseManager() => new NDManager(Library.Context, null);

    /// <summary>Makes a manager that is disposed with this one, if not before.</summary>
    /// <returns>A manager, which the caller may dispose.</returns>
    public NDManager NewSubManager()
    {
        var manager = new NDManager(context, registry);
        return registry.Add(manager.registry) ? manager : throw Closed();
    }

    /// <summary>Makes a scalar.</summary>
    /// <param name="data">Its value.</param>
    /// <returns>A Float32 array of shape ().</returns>
    public NDArray Create(float data) => Create(new[] { data }, new Shape());

    /// <summary>Makes an array.</summary>
    /// <param name="data">The elements in row-major order, which are copied.</param>
    /// <param name="shape">A shape with as many elements; null: one axis.</param>
    /// <returns>A Float32 array of that shape.</returns>
    /// <exception cref="ArgumentException">The shape has another number of elements.</exception>
    public unsafe NDArray Create(float[] data, Shape? shape = null)
    {
        _ = data ?? throw new ArgumentNullException(nameof(data));
        return Filled(shape ?? new Shape(data.Length), DataType.Float32, tensor =>
        {
            fixed (float* elements = data)
            {
                Write(tensor, elements, data.Length, sizeof(float));
            }
        });
    }

    /// <summary>Makes an array.</summary>
    /// <param name="data">The elements in row-major order, which are copied.</param>
    /// <param name="shape">A shape with as many elements; null: one axis.</param>
    /// <returns>An Int32 array of that shape.</returns>
    /// <exception cref="ArgumentException">The shape has another number of elements.</exception>
    public unsafe NDArray Create(int[] data, Shape? shape = null)
    {
        _ = data ?? throw new ArgumentNullException(nameof(data));
        return Filled(shape ?? new Shape(data.Length), DataType.Int32, tensor =>
        {
            fixed (int* elements = data)
            {
                Write(tensor, elements, data.Length, sizeof(int));
            }
        });
    }

    /// <summary>Makes an array.</summary>
    /// <param name="data">The elements in row-major order, which are copied.</param>
    /// <param name="shape">A shape with as many elements; null: one axis.</param>
    /// <returns>An Int64 array of that shape.</returns>
    /// <exception cref="ArgumentException">The shape has another number of elements.</exception>
    public unsafe NDArray Create(long[] data, Shape? shape = null)
    {
        _ = data ?? throw new ArgumentNullException(nameof(data));
        return Filled(shape ?? new Shape(data.Length), DataType.Int64, tensor =>
        {
            fixed (long* elements = data)
            {
                Write(tensor, elements, data.Length, sizeof(long));
            }
        });
    }

    /// <summary>Makes an array of zeros.</summary>
    /// <param name="shape">Its shape.</param>
    /// <param name="dataType">The type of its elements.</param>
    /// <returns>An array of that type.</returns>
    public NDArray Zeros(Shape shape, DataType dataType = DataType.Float32) =>
        Filled(shape, dataType, tensor => { });

    /// <summary>Makes an array of ones.</summary>
    /// <param name="shape">Its shape.</param>
    /// <param name="dataType">The type of its elements.</param>
    /// <returns>An array of that type.</returns>
    public NDArray Ones(Shape shape, DataType dataType = DataType.Float32) => Full(shape, 1, dataType);

    /// <summary>Makes an array whose elements are all the same.</summary>
    /// <param name="shape">Its shape.</param>
    /// <param name="value">The value of every element, converted to the type.</param>
    /// <param name="dataType">The type of its elements.</param>
    /// <returns>An array of that type.</returns>
    public NDArray Full(Shape shape, float value, DataType dataType = DataType.Float32) =>
        Filled(shape, dataType, tensor => tensor.Fill(value));

    /// <summary>Reads one array of a .safetensors file.</summary>
    /// <param name="path">The file.</param>
    /// <param name="name">The array's name in it.</param>
    /// <returns>An array of the file's type and shape.</returns>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: the file cannot be read; <see
    /// cref="Status.CorruptFile"/>: it is not what its format says; <see cref="Status.NotFound"/>: it has no array
    /// of that name.</exception>
    public unsafe NDArray Load(string path, string name)
    {
        fixed (byte* file = NativeText.ToNative(path, nameof(path)), tensor = NativeText.ToNative(name, nameof(name)))
        {
            return Adopt(NativeTensor.LoadSafetensors(OpenContext(), file, tensor));
        }
    }

    /// <summary>Disposes all that belongs to the manager. Arrays in use by a call on another thread are freed after
    /// it. Doing so twice does nothing.</summary>
    public void Dispose()
    {
        registry.Close();
        parent?.Remove(registry);
    }

    /// <summary>Says what the manager is.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => IsOpen ? "NDManager cpu()" : "NDManager (closed)";

    internal NativeContext OpenContext() => IsOpen ? context : throw Closed();

    /// <summary>Makes this manager the owner of a new native object, which is disposed if the manager is.</summary>
    internal void Own(NativeHandle handle)
    {
        if (!handle.Attach(registry))
        {
            handle.Dispose();
            throw Closed();
        }
    }

    internal NDArray Adopt(NativeTensor tensor)
    {
        Own(tensor.SafeHandle);
        return new NDArray(this, tensor);
    }

    private static ObjectDisposedException Closed() =>
        new ObjectDisposedException(nameof(NDManager), "the manager is closed");

    private static unsafe void Write(NativeTensor tensor, void* elements, int count, int size) =>
        tensor.Write(elements, (ulong)count * (ulong)size);

    private unsafe NDArray Filled(Shape shape, DataType dataType, Filler fill)
    {
        _ = shape ?? throw new ArgumentNullException(nameof(shape));
        NativeTensor tensor;
        fixed (long* dims = shape.Dims)
        {
            tensor = NativeTensor.Create(OpenContext(), (int)dataType, shape.Dimension, dims);
        }
        try
        {
            fill(tensor);
        }
        catch
        {
            tensor.Dispose();
            throw;
        }
        return Adopt(tensor);
    }
}
