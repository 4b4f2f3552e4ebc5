// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A device as the managers that come from one base manager use it.</summary>
internal sealed class DeviceContext
{
    internal DeviceContext(Contexts all, Device device, NativeContext native)
    {
        All = all;
        Device = device;
        Native = native;
    }

    /// <summary>Those of the same base manager.</summary>
    internal Contexts All { get; }

    internal Device Device { get; }

    internal NativeContext Native { get; }
}
