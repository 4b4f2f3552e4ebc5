// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Where an operation writes: a new array, or the one that the program gives.</content>
public sealed partial class NDArray
{
    /// <summary>Writes a target, which is that of a result, or a new array if the result is null. The call gets what it
    /// needs as a state, so that it allocates nothing.</summary>
    private static NDArray Into<T>(NDArray? result, NDArray target, T state, Action<T, NativeTensor> call)
    {
        try
        {
            call(state, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    /// <summary>The array to write for a result that the program gives: itself, or a new one if it is a parameter; null
    /// if it gives none.</summary>
    private static NDArray? TargetOf(NDArray? result, string name = "result")
    {
        _ = TensorOf(result, name);
        return result?.write is null ? result : result.manager.NewArray(result.shape, result.dataType);
    }

    /// <summary>The end of a call that has written the target: the result that was given, or else the target.</summary>
    private static NDArray Finished(NDArray? result, NDArray target)
    {
        if (result is null)
        {
            return target;
        }
        if (result == target)
        {
            result.CountWrite();
            return result;
        }
        using NDArray values = target;
        result.Replace(values.tensor);
        return result;
    }

    /// <summary>The end of a call that has failed.</summary>
    private static void Drop(NDArray? result, NDArray? target)
    {
        if (result != target)
        {
            target?.Dispose();
        }
    }

    /// <summary>Refuses a result of another shape, where C sees it in another one.</summary>
    private static void CheckShape(NDArray? result, Shape expected, string name = "result")
    {
        if (result is not null && result.shape != expected)
        {
            throw new ArgumentException($"{name} has the shape {result.shape}, expected {expected}", name);
        }
    }

    /// <summary>Copies what is computed elsewhere into a result of its type.</summary>
    private static NDArray CopiedInto(NDArray computed, DataType type, NDArray result)
    {
        if (result.DataType != type)
        {
            throw new ArgumentException(
                $"result is {result.dataType}, expected {type}, the type of the result", nameof(result));
        }
        CheckShape(result, computed.shape);
        computed.CopyTo(result);
        return result;
    }
}
