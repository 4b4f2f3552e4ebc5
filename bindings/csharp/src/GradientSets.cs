// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>Sets of gradients, as wholes.</summary>
internal static unsafe class GradientSets
{
    /// <summary>The bytes of all gradients.</summary>
    internal static long SizeOf(NativeGradients set)
    {
        long size = 0;
        for (long index = 0; index < set.Count(); index++)
        {
            fixed (byte* name = NativeText.ToNative(set.Name(index), nameof(set)))
            {
                using NativeTensor tensor = set.Tensor(name);
                size += tensor.NumBytes();
            }
        }
        return size;
    }

    /// <summary>Copies the gradients that both sets have.</summary>
    internal static void Copy(NativeGradients from, NativeGradients to)
    {
        var names = new HashSet<string>(StringComparer.Ordinal);
        for (long index = 0; index < from.Count(); index++)
        {
            names.Add(from.Name(index));
        }
        for (long index = 0; index < to.Count(); index++)
        {
            string name = to.Name(index);
            if (names.Contains(name))
            {
                fixed (byte* native = NativeText.ToNative(name, nameof(to)))
                {
                    using NativeTensor before = from.Tensor(native);
                    using NativeTensor after = to.Tensor(native);
                    after.Copy(before);
                }
            }
        }
    }
}
