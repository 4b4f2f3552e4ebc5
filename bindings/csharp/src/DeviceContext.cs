// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The context of a device that the managers of one base manager share.</summary>
internal sealed class DeviceContext
{
    internal DeviceContext(Contexts all, Device device, NativeContext native)
    {
        All = all;
        Device = device;
        Native = native;
    }

    /// <summary>All contexts of the same base manager.</summary>
    internal Contexts All { get; }

    internal Device Device { get; }

    internal NativeContext Native { get; }
}
