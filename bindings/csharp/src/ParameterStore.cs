// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>DJL's store of parameters on several devices, which Forward takes. heed keeps a block's parameters on
/// its own device, so nothing is kept or copied here.</summary>
public sealed class ParameterStore
{
    /// <summary>Makes a store.</summary>
    /// <param name="manager">The manager that <see cref="Manager"/> returns.</param>
    /// <param name="copy">Without effect.</param>
    public ParameterStore(NDManager? manager = null, bool copy = false)
    {
        Manager = manager;
    }

    /// <summary>What the store was made with.</summary>
    public NDManager? Manager { get; }
}
