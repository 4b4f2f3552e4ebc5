// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The numbers of the sequences of a call with a cache, and the native array that has them. The first call
/// makes the array; later ones make another one only for another number of sequences or another device. It belongs to a
/// cache's manager; if the collector frees it earlier, that is no leak.</summary>
internal sealed class SequenceNumbers
{
    private long[]? numbers;
    private NativeTensor? tensor;

    /// <summary>The device of the array, and how many numbers it has room for.</summary>
    private Device? device;
    private int count;

    /// <summary>Whether the array has the numbers.</summary>
    private bool isWritten;

    internal bool AreSet => numbers != null;

    /// <summary>A copy of the numbers; null: none are set.</summary>
    internal long[]? Values
    {
        get => (long[]?)numbers?.Clone();
        set
        {
            if (value != null && numbers?.Length == value.Length)
            {
                value.CopyTo(numbers, 0);
            }
            else
            {
                numbers = (long[]?)value?.Clone();
            }
            isWritten = false;
        }
    }

    /// <summary>The array for a call with a cache of this manager, Int64 of (B); null if no numbers are set.</summary>
    internal unsafe NativeTensor? For(NDManager manager)
    {
        if (numbers is null)
        {
            return null;
        }
        if (tensor is null || tensor.SafeHandle.IsDisposed || count != numbers.Length
            || !manager.Device.Equals(device))
        {
            tensor?.Dispose();
            tensor = manager.NewTensor(new Shape(numbers.Length), DataType.Int64);
            manager.Own(tensor.SafeHandle, kind: null);
            device = manager.Device;
            count = numbers.Length;
            isWritten = false;
        }
        if (!isWritten)
        {
            fixed (long* source = numbers)
            {
                tensor.Write(source, (ulong)numbers.Length * sizeof(long));
            }
            isWritten = true;
        }
        return tensor;
    }
}
