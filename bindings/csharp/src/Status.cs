// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The result of a call of the native library. <see cref="HeedException"/> has it if .NET has no exception
/// type of its own for it. Later versions may add values.</summary>
public enum Status
{
    /// <summary>The call succeeded.</summary>
    Ok = 0,

    /// <summary>An argument is wrong, or does not fit another one.</summary>
    InvalidArgument = 1,

    /// <summary>Host or device memory could not be allocated.</summary>
    OutOfMemory = 2,

    /// <summary>The call is valid, but this library or device does not support it; the sentence says what
    /// would.</summary>
    Unsupported = 3,

    /// <summary>Parameters of the block have no values.</summary>
    NotInitialized = 4,

    /// <summary>A workspace is smaller than the call needs; the sentence names both sizes.</summary>
    WorkspaceTooSmall = 5,

    /// <summary>A workspace or a cache is in use by another call.</summary>
    Busy = 6,

    /// <summary>A file could not be opened, read or written.</summary>
    IO = 7,

    /// <summary>A file does not follow its format.</summary>
    CorruptFile = 8,

    /// <summary>No array or parameter has that name.</summary>
    NotFound = 9,

    /// <summary>A cache has no room for the rows of a call; <see cref="CacheFullException"/> has the
    /// numbers.</summary>
    CacheFull = 10,

    /// <summary>Driver, plugin or device is missing; the sentence says which.</summary>
    DeviceUnavailable = 11,

    /// <summary>The device failed.</summary>
    DeviceLost = 12,

    /// <summary>The call would not take the fastest path, and the manager's <see cref="ContextOptions"/> are
    /// strict.</summary>
    NotFastest = 13,

    /// <summary>A defect of heed.</summary>
    Internal = 14,

    /// <summary>The call was stopped, which throws an <see cref="System.OperationCanceledException"/>.</summary>
    Cancelled = 15,
}
