// SPDX-License-Identifier: Apache-2.0
using System;

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

    /// <summary>A parameter's values, as <see cref="Parameter.Array"/>.</summary>
    /// <param name="parameter">The parameter.</param>
    /// <param name="device">Without effect: a parameter is on the device of its block.</param>
    /// <param name="training">Without effect.</param>
    /// <returns>The values.</returns>
    /// <exception cref="InvalidOperationException">The parameter has no values.</exception>
    public NDArray GetValue(Parameter parameter, Device? device = null, bool training = false) =>
        (parameter ?? throw new ArgumentNullException(nameof(parameter))).Array;

    /// <summary>Waits, if the store has a manager, until its device has done all that was asked of it.</summary>
    public void Sync() => Manager?.Synchronize();
}
