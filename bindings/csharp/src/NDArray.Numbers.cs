// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;

namespace Heed;

/// <content>Numbers in the place of arrays, and arrays of one number.</content>
public sealed partial class NDArray
{
    /// <summary>The manager, which owns nothing, of the arrays that numbers become.</summary>
    private static readonly Lazy<NDManager> NumberManager = new(() => new NDManager(Contexts.OfNumbers().Of(Device.Cpu())));

    /// <summary>A scalar of Float64 on the CPU, which belongs to no manager, so that a number can be set:
    /// <c>array[0, ..] = 1.5</c>. It takes the type of that array, which refuses a number that it does not hold.</summary>
    /// <param name="number">The number.</param>
    public static implicit operator NDArray(double number) => Number(number, DataType.Float64);

    /// <summary>A scalar of Int64 on the CPU, which belongs to no manager, so that a number can be set:
    /// <c>array[0, ..] = 1</c>. It takes the type of that array, which refuses a number that it does not hold.</summary>
    /// <param name="number">The number.</param>
    public static implicit operator NDArray(long number) => Number(number, DataType.Int64);

    /// <summary>A scalar of Int64 or Float64 on the CPU, which belongs to no manager, where an array is wanted.</summary>
    /// <param name="number">The number.</param>
    public static implicit operator NDArray(Scalar number) => number.ToArray();

    /// <summary>A scalar of Boolean on the CPU, which belongs to no manager, so that it can be set:
    /// <c>mask[0, ..] = true</c>.</summary>
    /// <param name="value">The value.</param>
    public static implicit operator NDArray(bool value) => Number(value, DataType.Boolean);

    /// <summary>Returns the element of an array that has a single one.</summary>
    /// <typeparam name="T">The array's type, as for <see cref="ToArray{T}()"/>; float also for Float16 and BFloat16
    /// arrays.</typeparam>
    /// <returns>The element.</returns>
    /// <exception cref="InvalidOperationException">The array has more elements or none, or is of another
    /// type.</exception>
    /// <exception cref="NotSupportedException">No array has elements of type T.</exception>
    public T Item<T>()
        where T : unmanaged
    {
        bool isWidened = typeof(T) == typeof(float) && DataType is DataType.Float16 or DataType.BFloat16;
        if (!isWidened && (!ElementTypes.Holds<T>(DataType) || ElementTypes.CountOf<T>(1, dataType) != 1))
        {
            throw WrongType(nameof(Item), ElementTypes.NameOf<T>());
        }
        if (shape.Size != 1)
        {
            throw new InvalidOperationException($"Item needs an array of one element, this one has the shape {shape}");
        }
        Span<T> value = stackalloc T[1];
        if (isWidened)
        {
            MemoryMarshal.Cast<float, T>(Floats()).CopyTo(value);
        }
        else
        {
            Read(tensor, value);
        }
        return value[0];
    }

    /// <summary>Whether the array is what a number was converted to.</summary>
    private bool IsNumber => shape.IsScalar && NumberManager.IsValueCreated && manager == NumberManager.Value;

    private Scalar ToScalar() => dataType switch
    {
        DataType.Float64 => (Scalar)Item<double>(),
        DataType.Int64 => (Scalar)Item<long>(),
        _ => (Scalar)(Item<bool>() ? 1 : 0),
    };

    private static unsafe NDArray Number<T>(T number, DataType type)
        where T : unmanaged
    {
        NDManager owner = NumberManager.Value;
        NativeTensor made = owner.NewTensor(ScalarShape, type);
        made.Write(&number, (ulong)sizeof(T));
        return new NDArray(owner, made);
    }
}
