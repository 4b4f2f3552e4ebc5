// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Where the gradients of an array that no tape has computed are added up: of a parameter, or of an array that the
/// program has marked.</summary>
internal abstract class GradientLeaf : GradientTarget
{
    /// <summary>Whether gradients are added up.</summary>
    internal abstract bool RequiresGradient { get; set; }

    /// <summary>The sum so far, in an array that the program may write: of zeros before the first backward.</summary>
    /// <exception cref="InvalidOperationException">The leaf requires none.</exception>
    internal abstract NDArray Gradient { get; }

    /// <summary>Throws if no gradient can be added.</summary>
    internal abstract void Check();

    /// <summary>The array has moved to another manager.</summary>
    internal virtual void Attach(NDManager manager)
    {
    }

    /// <summary>The array is disposed.</summary>
    internal virtual void Dispose()
    {
    }

    internal static InvalidOperationException NotRequired(string what) => new InvalidOperationException(
        $"{what} requires no gradient: expected RequiresGradient set to true before");
}
