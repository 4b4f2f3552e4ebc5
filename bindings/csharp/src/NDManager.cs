// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>Makes arrays and owns them. Disposing the manager disposes its arrays, its sub-managers, its workspaces,
/// its caches and the parameters of blocks that were initialized with it. Many threads may use it at the same
/// time.</summary>
/// <remarks>Memory should be freed by Dispose. The garbage collector frees arrays and managers that are not disposed,
/// at some later time. With the environment variable HEED_LEAKS=1, or the AppContext switch Heed.Leaks, a warning of
/// System.Diagnostics.Trace then says where each such object was made. Every method but <see cref="Dispose"/> and
/// <see cref="ToString"/> throws <see cref="ObjectDisposedException"/> once the manager is disposed.</remarks>
public sealed partial class NDManager : IDisposable
{
    private readonly DeviceContext context;
    private readonly NDManager? parent;

    /// <summary>Null for a manager that owns nothing.</summary>
    private readonly Registry? registry;

    /// <summary>The manager for which <see cref="On"/> made this one; for all other managers this one itself.</summary>
    private readonly NDManager home;

    /// <summary>Of a manager of a scope: the one whose arrays the scope takes. For all other managers null.</summary>
    private readonly NDManager? scoped;

    /// <summary>The managers that <see cref="On"/> has made. Locked by itself.</summary>
    private readonly Dictionary<Device, NDManager> elsewhere = new();

    /// <summary>Makes a manager of arrays that no manager disposes.</summary>
    internal NDManager(DeviceContext context, NDManager? home = null)
    {
        this.context = context;
        this.home = home ?? this;
    }

    private NDManager(
        DeviceContext context, Registry registry, NDManager? parent, NDManager? home = null, NDManager? scoped = null)
        : this(context, home)
    {
        this.registry = registry;
        this.parent = parent;
        this.scoped = scoped;
    }

    /// <summary>False once the manager is disposed.</summary>
    public bool IsOpen => registry == null || registry.IsOpen;

    /// <summary>The device of the manager's arrays.</summary>
    public Device Device => context.Device;

    /// <summary>The manager that made this one; null for a base manager.</summary>
    public NDManager? ParentManager => parent;

    /// <summary>The manager that this one belongs to: of a scope's, the one that the scope is of.</summary>
    internal NDManager Base => home.scoped ?? home;

    /// <summary>The manager for which <see cref="On"/> made this one, or this one.</summary>
    internal NDManager Home => home;

    /// <summary>A manager, for this device, of arrays that no manager disposes.</summary>
    internal NDManager Unowned => registry is null ? this : context.All.Unowned(Device);

    /// <summary>Makes a base manager, which no other manager disposes.</summary>
    /// <param name="device">The device of its arrays; null: the CPU.</param>
    /// <param name="options">The options with which the device is opened; null: the defaults.</param>
    /// <returns>A manager, which the caller has to dispose.</returns>
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

    /// <summary>Makes a manager that is disposed with this one, or earlier. Arrays of managers for different devices
    /// cannot be used together: <see cref="NDArray.ToDevice"/> copies them.</summary>
    /// <param name="device">The device of its arrays; null: this one's.</param>
    /// <returns>A manager with the same options, which the caller may dispose.</returns>
    /// <exception cref="HeedException">With <see cref="Status.DeviceUnavailable"/>: driver, plugin or device is
    /// missing; the sentence says which.</exception>
    public NDManager NewSubManager(Device? device = null) => NewSubManager(device ?? Device, null);

    /// <summary>Opens a scope on this thread: arrays that this manager makes, and results and views of its arrays, then
    /// belong to the scope and are freed when it is disposed, except those that it keeps.</summary>
    /// <returns>A scope, which the caller disposes: <c>using NDScope scope = manager.NewScope();</c>.</returns>
    public NDScope NewScope()
    {
        OpenContext();
        NDManager outside = Current;
        return new NDScope(Base, outside, outside.NewSubManager(context, null, Base));
    }

    /// <summary>Opens a gradient tape on this thread: it records what is computed from parameters, and from arrays that
    /// require a gradient.</summary>
    /// <returns>A tape, which the caller disposes: <c>using GradientTape tape = manager.NewGradientTape();</c>. All that it
    /// holds belongs to this manager, too.</returns>
    /// <exception cref="InvalidOperationException">A tape is open on this thread already.</exception>
    public GradientTape NewGradientTape() => new GradientTape(this);

    /// <summary>Makes a workspace, the memory of one Forward of a block.</summary>
    /// <param name="numBytes">The size in bytes, 0 or more, as the block's WorkspaceSize returns it.</param>
    /// <returns>A workspace, which belongs to this manager.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The size is negative.</exception>
    /// <exception cref="OutOfMemoryException">There is not enough memory.</exception>
    public Workspace NewWorkspace(long numBytes)
    {
        if (numBytes < 0)
        {
            throw new ArgumentOutOfRangeException(nameof(numBytes), $"{numBytes}", "expected 0 or more");
        }
        NativeWorkspace workspace = NativeWorkspace.Create(OpenContext(), (ulong)numBytes);
        workspace.SafeHandle.Keep(SharedMemory.OfHeed(numBytes));
        Own(workspace.SafeHandle, nameof(Workspace));
        return new Workspace(workspace);
    }

    /// <summary>Describes the device and the options with which it was opened.</summary>
    /// <returns>A JSON object with "device", "device_index", "isa", "num_threads", "strict",
    /// "allow_reduced_precision", "flush_subnormals", "allocator", "executor", "logger", "version" and
    /// "description".</returns>
    public unsafe string Describe()
    {
        NativeContext native = OpenContext();
        return NativeText.Of((text, capacity) => native.Describe(text, capacity));
    }

    /// <summary>Sets the seed of the random numbers of this manager, its base manager, and all managers that come from
    /// that base manager. The same seed gives the same arrays. Each base manager begins with a different seed; the
    /// first of a process always has the same one.</summary>
    /// <param name="seed">Any number.</param>
    public void SetSeed(long seed)
    {
        OpenContext();
        context.All.SetSeed(seed);
    }

    /// <summary>Disposes all objects of the manager. If a call on another thread uses an array, it is freed after that
    /// call. A second call does nothing; for the manager of detached arrays, no call does anything.</summary>
    public void Dispose() => registry?.Close();

    /// <summary>Describes the manager.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => IsOpen ? $"NDManager {Device}" : "NDManager (closed)";

    /// <summary>The manager of arrays that are copied from an array of this manager to a device: this one, or one that
    /// is disposed with it.</summary>
    internal NDManager On(Device device) => device.Equals(Device) ? this : home.Elsewhere(device);

    /// <summary>The context of the manager's arrays, for blocks.</summary>
    internal LayerContext OpenLayerContext() => new LayerContext(OpenContext(), Device, Options);

    /// <summary>The options, which never change.</summary>
    internal ContextOptions Options => context.All.Options;

    internal NativeContext OpenContext() => IsOpen ? context.Native : throw Errors.ClosedManager();

    /// <summary>Makes this manager the owner of a new native object, which is disposed if the manager is disposed
    /// already. Leak reports name the kind; null: there is no report.</summary>
    internal void Own(NativeHandle handle, string? kind = "a block's parameters")
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

    /// <summary>Makes this manager the new owner of an object. Returns false if this manager is disposed.</summary>
    internal bool TakeOver(NativeHandle handle) => handle.Attach(registry, nameof(NDArray));

    /// <summary>Makes the array of a new native array; it is disposed with this manager, or with a scope of it that is
    /// open. A snapshot of a parameter belongs to no scope.</summary>
    /// <param name="tensor">The native array.</param>
    /// <param name="write">Only for a snapshot of a parameter, which is read-only: sets the parameter to the values of
    /// an array of the same shape and type, and returns a new snapshot, which replaces this one.</param>
    internal NDArray Adopt(NativeTensor tensor, Func<NativeTensor, NativeTensor>? write = null)
    {
        NDManager owner = write is null ? Current : this;
        owner.Own(tensor);
        return new NDArray(owner, tensor, write);
    }

    /// <summary>Makes this manager itself the owner of an array that it has made in an open scope.</summary>
    internal NDArray OutOfScope(NDArray array)
    {
        if (array.Manager != this && array.Manager.Base == Base)
        {
            array.Attach(this);
        }
        return array;
    }

    /// <summary>Makes this manager the owner of a new native array.</summary>
    internal void Own(NativeTensor tensor)
    {
        if (!tensor.SafeHandle.HasKept)
        {
            tensor.SafeHandle.Keep(SharedMemory.OfHeed(tensor.NumBytes()));
        }
        Own(tensor.SafeHandle, nameof(NDArray));
    }

    /// <summary>Makes a native array of zeros, which no manager owns yet.</summary>
    internal NativeTensor NewTensor(Shape shape, DataType dataType) => NewTensor(OpenContext(), shape, dataType);

    /// <summary>Makes such an array in the processor's memory, for data that is only read and need not be copied to the
    /// device.</summary>
    internal NativeTensor NewHostTensor(Shape shape, DataType dataType) =>
        NewTensor(Device.IsCpu ? OpenContext() : Library.Context, shape, dataType);

    /// <summary>Makes an array of zeros.</summary>
    internal NDArray NewArray(Shape shape, DataType dataType)
    {
        NativeTensor tensor = NewTensor(shape, dataType);
        Own(tensor);
        return new NDArray(this, tensor, shape, dataType);
    }

    /// <summary>Makes an array and fills it.</summary>
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

    /// <summary>What owns the arrays that this manager makes now on this thread.</summary>
    private NDManager Current => NDScope.Innermost(Base)?.On(Device) ?? this;

    private NDManager NewSubManager(Device device, NDManager? home)
    {
        OpenContext();
        return NewSubManager(context.All.Of(device), home, null);
    }

    private NDManager NewSubManager(DeviceContext there, NDManager? home, NDManager? scoped)
    {
        Registry child = registry == null ? Registry.NewRoot() : registry.NewChild() ?? throw Errors.ClosedManager();
        return new NDManager(there, child, this, home, scoped);
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
