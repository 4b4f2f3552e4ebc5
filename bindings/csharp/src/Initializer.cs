// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Makes the first values of a parameter. Derive from it to make other values.</summary>
public abstract class Initializer
{
    /// <summary>Sets every element to 0.</summary>
    public static readonly Initializer Zeros = new ConstantInitializer(0);

    /// <summary>Sets every element to 1.</summary>
    public static readonly Initializer Ones = new ConstantInitializer(1);

    /// <summary>Makes the values.</summary>
    /// <param name="manager">The manager that the array belongs to; random numbers are drawn from its seed.</param>
    /// <param name="shape">The parameter's shape.</param>
    /// <param name="dataType">The parameter's type.</param>
    /// <returns>An array of that shape and type.</returns>
    public abstract NDArray Initialize(NDManager manager, Shape shape, DataType dataType);
}
