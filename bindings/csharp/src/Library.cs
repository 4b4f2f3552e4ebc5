// SPDX-License-Identifier: Apache-2.0
using System.Runtime.CompilerServices;

namespace Heed;

/// <summary>Opens devices.</summary>
internal static unsafe class Library
{
    private static readonly object Gate = new object();
    private static NativeContext? context;

    /// <summary>The shared context for the CPU with the default options. Throws the full exception each time, not only
    /// the first time.</summary>
    internal static NativeContext Context
    {
        get
        {
            lock (Gate)
            {
                return context ??= OpenNew(Device.Cpu(), new ContextOptions());
            }
        }
    }

    /// <summary>Opens the device with these options.</summary>
    internal static NativeContext Open(Device device, ContextOptions options) =>
        device.IsCpu && options.IsDefault ? Context : OpenNew(device, options);

    private static NativeContext OpenNew(Device device, ContextOptions options)
    {
        NativeLoader.Load();
        return OpenLoaded(device, options);
    }

    /// <remarks>Not inlined: Mono loads the library when it compiles the method that calls it.</remarks>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static NativeContext OpenLoaded(Device device, ContextOptions options)
    {
        using var structs = new NativeStructs();
        NativeContextOptions members = options.ToNative(structs);
        members.Device = device.NativeType;
        members.DeviceIndex = device.DeviceId;
        if (options.Sink is null)
        {
            return NativeContext.Create(members);
        }
        HeedNative.ReportTo(MessageSink.Function);
        return HeedNative.OpenReporting(members, options.Sink.Number);
    }
}
