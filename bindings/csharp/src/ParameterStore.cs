// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>DJL's store of parameters on several devices, which is an argument of Forward. heed keeps a block's
/// parameters on one device, so this store has and copies nothing.</summary>
public sealed class ParameterStore
{
    /// <summary>Makes a store.</summary>
    /// <param name="manager">The manager that <see cref="Manager"/> returns.</param>
    /// <param name="copy">Without effect.</param>
    public ParameterStore(NDManager? manager = null, bool copy = false)
    {
        Manager = manager;
    }

    /// <summary>The manager that the store was made with.</summary>
    public NDManager? Manager { get; }

    /// <summary>Returns a parameter's values, like <see cref="Parameter.Array"/>, which may take memory of its
    /// own.</summary>
    /// <param name="parameter">The parameter.</param>
    /// <param name="device">Without effect: a parameter is on the device of its block.</param>
    /// <param name="training">Without effect.</param>
    /// <returns>The values.</returns>
    /// <exception cref="InvalidOperationException">The parameter has no values.</exception>
    public NDArray GetValue(Parameter parameter, Device? device = null, bool training = false) =>
        (parameter ?? throw new ArgumentNullException(nameof(parameter))).Array;

    /// <summary>If the store has a manager, waits until its device has finished all calls.</summary>
    public void Sync() => Manager?.Synchronize();
}
