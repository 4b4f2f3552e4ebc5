// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>An open context with its device and options.</summary>
internal sealed class Place
{
    private static readonly ContextOptions Defaults = new ContextOptions();

    internal Place(NativeContext context, Device device, ContextOptions options)
    {
        Context = context;
        Device = device;
        Options = options;
    }

    internal NativeContext Context { get; }

    internal Device Device { get; }

    /// <summary>The options, which are never changed.</summary>
    internal ContextOptions Options { get; }

    /// <summary>The context in which all blocks begin.</summary>
    internal static Place First() => new Place(Library.Context, Device.Cpu(), Defaults);

    /// <summary>Whether device and options are equal.</summary>
    internal bool IsLike(Place other) => Device.Equals(other.Device) && Options.HasValuesOf(other.Options);
}
