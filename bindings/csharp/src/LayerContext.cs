// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The open context that a layer lives in, with its device and options.</summary>
internal sealed class LayerContext
{
    private static readonly ContextOptions Defaults = new ContextOptions();

    internal LayerContext(NativeContext context, Device device, ContextOptions options)
    {
        Context = context;
        Device = device;
        Options = options;
    }

    internal NativeContext Context { get; }

    internal Device Device { get; }

    /// <summary>The options, which never change.</summary>
    internal ContextOptions Options { get; }

    /// <summary>The context of a layer that has not been moved to a device: the CPU, default options.</summary>
    internal static LayerContext Initial() => new LayerContext(Library.Context, Device.Cpu(), Defaults);

    /// <summary>Whether device and options are equal.</summary>
    internal bool IsLike(LayerContext other) => Device.Equals(other.Device) && Options.HasValuesOf(other.Options);

    /// <summary>Whether calls on a device with options are computed as in this context; a logger computes
    /// nothing.</summary>
    internal bool ComputesLike(Device device, ContextOptions options) =>
        Device.Equals(device) && Options.ComputesLike(options);
}
