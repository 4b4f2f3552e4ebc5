// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Sets all elements of a parameter to the same value.</summary>
public sealed class ConstantInitializer : Initializer
{
    private readonly float value;

    /// <summary>Makes an initializer.</summary>
    /// <param name="value">The value of every element.</param>
    public ConstantInitializer(float value)
    {
        this.value = value;
    }

    /// <inheritdoc/>
    public override NDArray Initialize(NDManager manager, Shape shape, DataType dataType) =>
        (manager ?? throw new ArgumentNullException(nameof(manager))).Full(shape, value, dataType);
}
