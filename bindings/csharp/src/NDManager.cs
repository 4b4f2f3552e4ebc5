// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>Makes arrays and owns them: disposing the manager disposes its arrays, its sub-managers, its workspaces and
/// the parameters of blocks that were initialized with it. May be used from many threads.</summary>
/// <remarks>To dispose is the way to free memory. What the program forgets, arrays and whole managers, the collector
/// frees in its own time; with the environment variable HEED_LEAKS=1, or the AppContext switch Heed.Leaks, a warning of
/// System.Diagnostics.Trace then tells where each such object was made. Every method but <see cref="Dispose"/> and <see
/// cref="ToString"/> throws <see cref="ObjectDisposedException"/> once the manager is
/// disposed.</remarks>
public sealed partial class NDManager : IDisposable
{
    private readonly DeviceContext context;
    private readonly NDManager? parent;

    /// <summary>Null in a manager that owns nothing.</summary>
    private readonly Registry? registry;

    /// <summary>The manager whose arrays are copied to this one by <see cref="On"/>; for all others this
    /// one.</summary>
    private readonly NDManager home;

    /// <summary>What <see cref="On"/> has made. Under its own lock.</summary>
    private readonly Dictionary<Device, NDManager> elsewhere = new();

    /// <summary>Makes a manager of arrays that no manager disposes.</summary>
    internal NDManager(DeviceContext context, NDManager? home = null)
    {
        this.context = context;
        this.home = home ?? this;
    }

    private NDManager(DeviceContext context, Registry registry, NDManager? parent, NDManager? home = null)
        : this(context, home)
    {
        this.registry = registry;
        this.parent = parent;
    }

    /// <summary>False once the manager is disposed.</summary>
    public bool IsOpen => registry == null || registry.IsOpen;

    /// <summary>The device of its arrays.</summary>
    public Device Device => context.Device;

    /// <summary>The manager that this one was made by; null for a base manager.</summary>
    public NDManager? ParentManager => parent;

    /// <summary>A manager of arrays of this device that no manager disposes.</summary>
    internal NDManager Unowned => registry is null ? this : context.All.Unowned(Device);

    /// <summary>Makes a manager that no other disposes.</summary>
    /// <param name="device">The device of its arrays; null: the CPU.</param>
    /// <param name="options">How the device is opened; null: the defaults.</param>
    /// <returns>A manager, which the caller disposes.</returns>
    /// <exception cref="ArgumentException">An option, or the device's index, is out of range.</exception>
    /// <exception cref="HeedException">With <see cref="Status.DeviceUnavailable"/>: driver, plugin or device is
    /// missing; the sentence says which.</exception>
    /// <exception cref="DllNotFoundException">The native library cannot be loaded.</exception>
    public static NDManager NewBaseManager(Device? device = null, ContextOptions? options = null)
    {
        Registry registry = Registry.NewRoot();
        var contexts = new Contexts(options ?? new ContextOptions(), registry);
        return new NDManager(contexts.Of(device ?? Device.Cpu()), registry, null);
    }

    /// <summary>Makes a manager that is disposed with this one, if not before. Where the devices differ, arrays of the
    /// two cannot be used together: <see cref="NDArray.ToDevice"/> copies them.</summary>
    /// <param name="device">The device of its arrays; null: this one's.</param>
    /// <returns>A manager of the same options, which the caller may dispose.</returns>
    /// <exception cref="HeedException">With <see cref="Status.DeviceUnavailable"/>: driver, plugin or device is
    /// missing; the sentence says which.</exception>
    public NDManager NewSubManager(Device? device = null) => NewSubManager(device ?? Device, null);

    /// <summary>Makes memory for a block's Forward to compute in.</summary>
    /// <param name="numBytes">Its size in bytes, 0 or more, as the block's WorkspaceSize tells it.</param>
    /// <returns>A workspace, which belongs to this manager.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The size is negative.</exception>
    /// <exception cref="OutOfMemoryException">There is not so much memory.</exception>
    public Workspace NewWorkspace(long numBytes)
    {
        if (numBytes < 0)
        {
            throw new ArgumentOutOfRangeException(nameof(numBytes), numBytes, "expected 0 or more");
        }
        NativeWorkspace workspace = NativeWorkspace.Create(OpenContext(), (ulong)numBytes);
        workspace.SafeHandle.Keep(SharedMemory.OfHeed(numBytes));
        Own(workspace.SafeHandle, nameof(Workspace));
        return new Workspace(workspace);
    }

    /// <summary>Waits until all that was asked of the device is done. On the CPU it always is.</summary>
    /// <exception cref="HeedException">A call that had returned before has failed; each failure is told
    /// once.</exception>
    public void Synchronize() => OpenContext().Synchronize();

    /// <summary>Gives back the scratch memory that heed keeps for later calls and that no call uses. Without a
    /// <see cref="Workspace"/> a context keeps as much as its largest call took, once for each that ran at the same
    /// time. May be called at any time, from any thread; later calls allocate anew. All managers below the same base
    /// manager share it.</summary>
    /// <exception cref="HeedException">The device failed.</exception>
    public void Trim() => OpenContext().Trim();

    /// <summary>Says what the device is and with which options it was opened.</summary>
    /// <returns>A JSON object with "device", "device_index", "num_threads", "strict", "allow_reduced_precision",
    /// "allocator", "logger", "version" and "description".</returns>
    public unsafe string Describe()
    {
        NativeContext native = OpenContext();
        return NativeText.Of((text, capacity) => native.Describe(text, capacity));
    }

    /// <summary>Sets where the random numbers of this manager begin, and those of its base manager and of all that come
    /// from that one. The same seed repeats the same arrays. Without it each base manager begins with a seed of its
    /// own, the first of a process always with the same.</summary>
    /// <param name="seed">Any number.</param>
    public void SetSeed(long seed)
    {
        OpenContext();
        context.All.SetSeed(seed);
    }

    /// <summary>Disposes all that belongs to the manager. Arrays in use by a call on another thread are freed after
    /// it. Doing so twice does nothing, and so does doing so to the manager of detached arrays.</summary>
    public void Dispose() => registry?.Close();

    /// <summary>Says what the manager is.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => IsOpen ? $"NDManager {Device}" : "NDManager (closed)";

    /// <summary>The manager of what is copied to a device from an array of this one: this one, or one that goes with
    /// it.</summary>
    internal NDManager On(Device device) => device.Equals(Device) ? this : home.Elsewhere(device);

    /// <summary>Where the manager's arrays are, for blocks.</summary>
    internal LayerContext OpenLayerContext() => new LayerContext(OpenContext(), Device, context.All.Options);

    internal NativeContext OpenContext() => IsOpen ? context.Native : throw Errors.ClosedManager();

    /// <summary>Makes this manager the owner of a new native object, which is disposed if the manager is. The kind is
    /// what a leak is reported as.</summary>
    internal void Own(NativeHandle handle, string kind = "a block's parameters")
    {
        bool isOwned = false;
        try
        {
            isOwned = handle.Attach(registry, kind);
        }
        finally
        {
            if (!isOwned)
            {
                handle.Dispose();
            }
        }
        if (!isOwned)
        {
            throw Errors.ClosedManager();
        }
    }

    /// <summary>Makes this manager the owner of an object that has one. False if this manager is disposed.</summary>
    internal bool TakeOver(NativeHandle handle) => handle.Attach(registry, nameof(NDArray));

    /// <summary>The array of a new native one, which is disposed with this manager.</summary>
    /// <param name="tensor">The native array.</param>
    /// <param name="write">For a snapshot of a parameter, which is read-only: gives the parameter other values, an
    /// array of the same shape and type, and returns a new snapshot to take this one's place.</param>
    internal NDArray Adopt(NativeTensor tensor, Func<NativeTensor, NativeTensor>? write = null)
    {
        Own(tensor, isSnapshot: write != null);
        return new NDArray(this, tensor, write);
    }

    /// <summary>Makes this manager the owner of a new native array. The memory of a parameter's snapshot is not the
    /// array's own.</summary>
    internal void Own(NativeTensor tensor, bool isSnapshot)
    {
        if (!isSnapshot && !tensor.SafeHandle.HasKept)
        {
            tensor.SafeHandle.Keep(SharedMemory.OfHeed(tensor.NumBytes()));
        }
        Own(tensor.SafeHandle, nameof(NDArray));
    }

    /// <summary>A new native array of zeros, which has no owner yet.</summary>
    internal NativeTensor NewTensor(Shape shape, DataType dataType) => NewTensor(OpenContext(), shape, dataType);

    /// <summary>The same in the processor's memory: what is only read does not go to the device again.</summary>
    internal NativeTensor NewHostTensor(Shape shape, DataType dataType) =>
        NewTensor(Device.IsCpu ? OpenContext() : Library.Context, shape, dataType);

    /// <summary>A new array, filled.</summary>
    internal NDArray NewArray(Shape shape, DataType dataType, Action<NativeTensor> fill)
    {
        NativeTensor tensor = NewTensor(shape, dataType);
        try
        {
            fill(tensor);
            return Adopt(tensor);
        }
        catch
        {
            tensor.Dispose();
            throw;
        }
    }

    private static unsafe NativeTensor NewTensor(NativeContext native, Shape shape, DataType dataType)
    {
        _ = shape ?? throw new ArgumentNullException(nameof(shape));
        fixed (long* dims = shape.Dims)
        {
            return NativeTensor.Create(native, (int)dataType, shape.Dimension, dims);
        }
    }

    private NDManager NewSubManager(Device device, NDManager? home)
    {
        OpenContext();
        DeviceContext there = context.All.Of(device);
        Registry child = registry == null ? Registry.NewRoot() : registry.NewChild() ?? throw Errors.ClosedManager();
        return new NDManager(there, child, this, home);
    }

    private NDManager Elsewhere(Device device)
    {
        if (device.Equals(Device))
        {
            return this;
        }
        if (registry is null)
        {
            return new NDManager(context.All.Of(device), this);
        }
        lock (elsewhere)
        {
            if (!elsewhere.TryGetValue(device, out NDManager? manager) || !manager.IsOpen)
            {
                manager = NewSubManager(device, this);
                elsewhere[device] = manager;
            }
            return manager;
        }
    }
}
