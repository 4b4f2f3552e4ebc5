// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;

namespace Heed;

/// <summary>A device, which stores arrays and on which blocks compute. Immutable.</summary>
public sealed class Device : IEquatable<Device>
{
    private const int NativeCpu = 0;
    private const int NativeAscend = 1;
    private static readonly Device TheCpu = new Device("cpu", NativeCpu, 0);

    private Device(string deviceType, int nativeType, int deviceId)
    {
        DeviceType = deviceType;
        NativeType = nativeType;
        DeviceId = deviceId;
    }

    /// <summary>"cpu" or "ascend".</summary>
    public string DeviceType { get; }

    /// <summary>The index among the devices of this kind, from 0; always 0 for the CPU.</summary>
    public int DeviceId { get; }

    /// <summary>The device's heed_device in heed.h.</summary>
    internal int NativeType { get; }

    internal bool IsCpu => NativeType == NativeCpu;

    /// <summary>The processor and its memory.</summary>
    /// <returns>The device.</returns>
    public static Device Cpu() => TheCpu;

    /// <summary>A Huawei Ascend NPU. It is not checked whether it exists: <see cref="NDManager.NewBaseManager"/> opens
    /// it.</summary>
    /// <param name="index">The index of the NPU, from 0.</param>
    /// <returns>The device.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The index is negative.</exception>
    public static Device Ascend(int index = 0) => index >= 0
        ? new Device("ascend", NativeAscend, index)
        : throw new ArgumentOutOfRangeException(nameof(index), $"{index}", "expected 0 or more");

    /// <summary>The device with a name, for example from a program's option.</summary>
    /// <param name="deviceName">"cpu", or "ascend", which an index may follow: "ascend1".</param>
    /// <returns>The device.</returns>
    /// <exception cref="ArgumentException">The name is none of these.</exception>
    public static Device FromName(string deviceName)
    {
        _ = deviceName ?? throw new ArgumentNullException(nameof(deviceName));
        if (deviceName == TheCpu.DeviceType)
        {
            return TheCpu;
        }
        Match ascend = Regex.Match(deviceName, "^ascend([0-9]{0,9})\\z");
        if (ascend.Success)
        {
            string index = ascend.Groups[1].Value;
            return Ascend(index.Length == 0 ? 0 : int.Parse(index, CultureInfo.InvariantCulture));
        }
        throw new ArgumentException(
            $"deviceName is \"{deviceName}\", expected \"cpu\", \"ascend\" or, with an index, \"ascend0\"",
            nameof(deviceName));
    }

    /// <summary>The number of devices of a kind that can be used.</summary>
    /// <param name="deviceType">"cpu" or "ascend".</param>
    /// <returns>1 for the CPU; for others 0 if driver, plugin or device is missing. The exception of
    /// <see cref="NDManager.NewBaseManager"/> then has the reason.</returns>
    /// <exception cref="ArgumentException">There is no such kind.</exception>
    /// <exception cref="DllNotFoundException">The native library cannot be loaded.</exception>
    public static int GetCount(string deviceType)
    {
        int nativeType = (deviceType ?? throw new ArgumentNullException(nameof(deviceType))) switch
        {
            "cpu" => NativeCpu,
            "ascend" => NativeAscend,
            _ => throw new ArgumentException(
                $"deviceType is \"{deviceType}\", expected \"cpu\" or \"ascend\"", nameof(deviceType)),
        };
        NativeLoader.Load();
        return CountLoaded(nativeType);
    }

    /// <summary>Tells whether both are the same device.</summary>
    /// <param name="other">Another device.</param>
    /// <returns>Whether they are equal.</returns>
    public bool Equals(Device? other) =>
        other is not null && NativeType == other.NativeType && DeviceId == other.DeviceId;

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as Device);

    /// <inheritdoc/>
    public override int GetHashCode() => unchecked((31 * NativeType) + DeviceId);

    /// <summary>The kind and the index, as in "cpu()" and "ascend(0)".</summary>
    /// <returns>The text.</returns>
    public override string ToString() => IsCpu ? DeviceType + "()" : $"{DeviceType}({DeviceId})";

    /// <remarks>Not inlined: Mono loads the library when it compiles the method that calls it.</remarks>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int CountLoaded(int nativeType) => Math.Max(0, HeedNative.HeedDeviceCount(nativeType));
}
