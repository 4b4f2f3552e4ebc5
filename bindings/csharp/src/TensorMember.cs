// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A member of one of C's structs that points to a tensor, or to another object.</summary>
/// <typeparam name="TStruct">The proxy of the struct.</typeparam>
internal sealed class TensorMember<TStruct>
    where TStruct : NativeStruct
{
    internal TensorMember(string name, Action<TStruct, IntPtr> set)
    {
        Name = name;
        Set = set;
    }

    /// <summary>The name of an array in exceptions.</summary>
    internal string Name { get; }

    /// <summary>The generated setter.</summary>
    internal Action<TStruct, IntPtr> Set { get; }
}
