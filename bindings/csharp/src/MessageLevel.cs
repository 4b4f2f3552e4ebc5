// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The level of a message to <see cref="ContextOptions.Logger"/>.</summary>
public enum MessageLevel
{
    /// <summary>A call failed: the name of the C function, and the sentence of the exception.</summary>
    Error = 1,

    /// <summary>A call does not take the fastest path, with the reason; tensors of a model are not read; a block was loaded
    /// from one of several files without their index, or from names that several models have.</summary>
    Warning = 2,

    /// <summary>A device was opened; a model or a block was loaded.</summary>
    Info = 3,

    /// <summary>The kernel of each operation that runs.</summary>
    Debug = 4,
}
