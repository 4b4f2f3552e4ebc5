// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A context, and what it was opened with.</summary>
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

    /// <summary>Which nobody changes.</summary>
    internal ContextOptions Options { get; }

    /// <summary>The one that all blocks begin in.</summary>
    internal static Place First() => new Place(Library.Context, Device.Cpu(), Defaults);

    /// <summary>Whether the same is computed in both.</summary>
    internal bool IsLike(Place other) => Device.Equals(other.Device) && Options.HasValuesOf(other.Options);
}
