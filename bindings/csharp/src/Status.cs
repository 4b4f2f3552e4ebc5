// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The result of a call of the native library. <see cref="HeedException"/> carries those that have no
/// exception of their own in .NET. Later versions may have more.</summary>
public enum Status
{
    /// <summary>The call succeeded.</summary>
    Ok = 0,

    /// <summary>An argument is wrong in itself or against another.</summary>
    InvalidArgument = 1,

    /// <summary>Host or device memory could not be had.</summary>
    OutOfMemory = 2,

    /// <summary>Valid, but not something this library or device does; the sentence says what would do.</summary>
    Unsupported = 3,

    /// <summary>The block lacks parameters.</summary>
    NotInitialized = 4,

    /// <summary>A workspace is smaller than the call needs; the sentence names both sizes.</summary>
    WorkspaceTooSmall = 5,

    /// <summary>A workspace is in use by another call.</summary>
    Busy = 6,

    /// <summary>A file could not be opened, read or written.</summary>
    IO = 7,

    /// <summary>A file is not what its format says.</summary>
    CorruptFile = 8,

    /// <summary>No array or parameter has that name.</summary>
    NotFound = 9,

    /// <summary>A key-value cache is full.</summary>
    CacheFull = 10,

    /// <summary>Driver, plugin or device is missing; the sentence says which.</summary>
    DeviceUnavailable = 11,

    /// <summary>The device failed.</summary>
    DeviceLost = 12,

    /// <summary>The call would not take the fastest path, which a strict context demands.</summary>
    NotFastest = 13,

    /// <summary>A defect of heed.</summary>
    Internal = 14,
}
