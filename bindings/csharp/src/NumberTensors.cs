// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Native arrays of one element, to which the numbers of calls are written. A thread uses the same ones from
/// call to call; a call within a call gets others.</summary>
internal sealed unsafe class NumberTensors
{
    private const int Types = (int)DataType.Boolean + 1;
    private static readonly Shape ScalarShape = new Shape();

    [ThreadStatic]
    private static NumberTensors? free;

    /// <summary>In the processor's memory; null until a number of the type is written.</summary>
    private readonly NativeTensor?[] tensors = new NativeTensor?[Types];
    private readonly IntPtr[] memory = new IntPtr[Types];

    /// <summary>The copies of a call on another device.</summary>
    private NativeTensor? copy;

    private NumberTensors? second;

    /// <summary>Others, for the second number of a call.</summary>
    internal NumberTensors Second => second ??= new NumberTensors();

    internal static NumberTensors Take()
    {
        NumberTensors taken = free ?? new NumberTensors();
        free = null;
        return taken;
    }

    internal void Give()
    {
        DisposeCopies();
        free = this;
    }

    /// <summary>A native array with a number of a type, for arrays of a manager, which is valid until the next one is
    /// asked for.</summary>
    /// <exception cref="ArgumentException">It is an integer type that does not hold the number, which the sentence
    /// calls by this name.</exception>
    internal NativeTensor Of(NDManager manager, string name, Scalar number, DataType type)
    {
        DataType written = type is DataType.Float16 or DataType.BFloat16 ? DataType.Float64 : type;
        long whole = type.IsInteger() ? Whole(name, number, type) : 0;
        void* element = MemoryOf(written);
        switch (written)
        {
            case DataType.Float32:
                *(float*)element = number.ToFloat();
                break;
            case DataType.Float64:
                *(double*)element = number.Value;
                break;
            case DataType.Int64:
                *(long*)element = whole;
                break;
            case DataType.Int32:
                *(int*)element = (int)whole;
                break;
            case DataType.Int8:
                *(sbyte*)element = (sbyte)whole;
                break;
            case DataType.UInt8:
                *(byte*)element = (byte)whole;
                break;
            default:
                *(bool*)element = number.Value != 0;
                break;
        }
        NativeTensor host = tensors[(int)written]!;
        if (written != type)
        {
            MemoryOf(type);
            tensors[(int)type]!.Copy(host);
            host = tensors[(int)type]!;
        }
        if (manager.Device.IsCpu)
        {
            return host;
        }
        NativeTensor there = manager.NewTensor(ScalarShape, type);
        copy?.Dispose();
        copy = there;
        there.Copy(host);
        return there;
    }

    /// <summary>A number as an integer of a type.</summary>
    /// <exception cref="ArgumentException">The type does not hold the number, which the sentence calls by this
    /// name.</exception>
    internal static long Whole(string name, Scalar number, DataType type) => type switch
    {
        DataType.Int64 => number.ToWhole(name, type, long.MinValue, long.MaxValue),
        DataType.Int32 => number.ToWhole(name, type, int.MinValue, int.MaxValue),
        DataType.Int8 => number.ToWhole(name, type, sbyte.MinValue, sbyte.MaxValue),
        _ => number.ToWhole(name, type, byte.MinValue, byte.MaxValue),
    };

    private void DisposeCopies()
    {
        copy?.Dispose();
        copy = null;
        second?.DisposeCopies();
    }

    private void* MemoryOf(DataType type)
    {
        if (tensors[(int)type] is null)
        {
            NativeTensor made = NativeTensor.Create(Library.Context, (int)type, 0, null);
            memory[(int)type] = (IntPtr)made.Data();
            tensors[(int)type] = made;
        }
        return (void*)memory[(int)type];
    }
}
