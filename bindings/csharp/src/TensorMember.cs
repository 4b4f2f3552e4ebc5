// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A member of one of C's structs that points to a tensor.</summary>
/// <typeparam name="TStruct">The proxy of the struct.</typeparam>
internal sealed class TensorMember<TStruct>
    where TStruct : NativeStruct
{
    internal TensorMember(string name, Action<TStruct, IntPtr> set)
    {
        Name = name;
        Set = set;
    }

    /// <summary>The name of the array in exceptions.</summary>
    internal string Name { get; }

    /// <summary>The generated setter.</summary>
    internal Action<TStruct, IntPtr> Set { get; }
}
