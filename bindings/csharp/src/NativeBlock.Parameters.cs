// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Threading;

namespace Heed;

/// <content>Reading, writing and changing the parameters.</content>
public abstract unsafe partial class NativeBlock
{
    /// <summary>Reads all parameters from a .safetensors file, which may be that of a whole model: W_q is read from
    /// "prefix.W_q.weight", its bias from "prefix.W_q.bias", and so on, or from the names of PyTorch, Hugging Face,
    /// Keras, DJL or d2l-java (docs/weights.md lists them). Sizes and types are the file's; on a block whose parameters
    /// are set, they stay as they are. A call that fails changes nothing. If the manager of <see cref="Initialize(NDManager, DataType, Shape?[])"/> is
    /// disposed, the new parameters belong to the block.</summary>
    /// <param name="path">The file; for a model in several files the index (model.safetensors.index.json), or any of
    /// the files with the index beside it.</param>
    /// <param name="prefix">The text before the names, with or without the separator after it; empty or null:
    /// none.</param>
    /// <param name="stop">Stops the call before it reads; then it runs to its end. A call with <see cref="Weights"/>, or with
    /// the names of accepted features, of which there may be none, ends while it reads.</param>
    /// <exception cref="ArgumentException">A parameter has another shape, the file has a bias and the block none, it
    /// has the parameters under the names of two frameworks, or the block's options are not those of the
    /// model.</exception>
    /// <exception cref="NotSupportedException">The file needs something that the block cannot do, such as clipped
    /// queries, keys and values (clip_qkv).</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: the file cannot be read;
    /// <see cref="Status.CorruptFile"/>: the file does not follow its format; <see cref="Status.NotFound"/>: a
    /// parameter is missing.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(string path, string? prefix = null, CancellationToken stop = default)
    {
        stop.ThrowIfCancellationRequested();
        StoppableCall.Check();
        byte[] file = NativeText.ToNative(path, nameof(path));
        byte[]? before = prefix is null ? null : NativeText.ToNative(prefix, nameof(prefix));
        Change(open =>
        {
            fixed (byte* nativeFile = file, nativeBefore = before)
            {
                open.Load(nativeFile, nativeBefore);
            }
            ForgetGradients();
        });
    }

    /// <summary>Reads all parameters as <see cref="Load(string, string?, CancellationToken)"/> does, from a model with features that the
    /// block does not compute: the program accepts them by name and computes them itself. All files of a model in
    /// several files must exist.</summary>
    /// <param name="path">The file.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    public void Load(string path, string? prefix, params string[] accept) =>
        Load(path, prefix, CancellationToken.None, accept);

    /// <summary>Reads all parameters as <see cref="Load(string, string?, string[])"/> does, and can be stopped: nothing is
    /// changed then.</summary>
    /// <param name="path">The file.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="stop">Stops the call.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(string path, string? prefix, CancellationToken stop, params string[] accept) =>
        Load(path, prefix, new LoadOptions(), stop, accept);

    /// <summary>Reads all parameters as <see cref="Load(string, string?, CancellationToken, string[])"/> does, with options,
    /// such as whether parameters of 16 bits become Float32.</summary>
    /// <param name="path">The file.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="options">The options.</param>
    /// <param name="stop">Stops the call.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(
        string path, string? prefix, LoadOptions options, CancellationToken stop = default, params string[] accept)
    {
        using Weights weights = Weights.Open(path);
        Load(weights, prefix, options, stop, accept);
    }

    /// <summary>Reads all parameters as <see cref="Load(string, string?, CancellationToken)"/> does, from files that are already
    /// open.</summary>
    /// <param name="weights">The files, which stay open.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    /// <exception cref="ObjectDisposedException">The block or the weights are disposed.</exception>
    public void Load(Weights weights, string? prefix = null, params string[] accept) =>
        Load(weights, prefix, CancellationToken.None, accept);

    /// <summary>Reads all parameters as <see cref="Load(Weights, string?, string[])"/> does, and can be stopped: nothing is
    /// changed then.</summary>
    /// <param name="weights">The files, which stay open.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="stop">Stops the call.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    /// <exception cref="ObjectDisposedException">The block or the weights are disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(Weights weights, string? prefix, CancellationToken stop, params string[] accept) =>
        Load(weights, prefix, new LoadOptions(), stop, accept);

    /// <summary>Reads all parameters as <see cref="Load(Weights, string?, CancellationToken, string[])"/> does, with options,
    /// such as whether parameters of 16 bits become Float32.</summary>
    /// <param name="weights">The files, which stay open.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="options">The options.</param>
    /// <param name="stop">Stops the call.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    /// <exception cref="ObjectDisposedException">The block or the weights are disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(
        Weights weights, string? prefix, LoadOptions options, CancellationToken stop = default, params string[] accept)
    {
        _ = weights ?? throw new ArgumentNullException(nameof(weights));
        StoppableCall.With(stop, () => Load(weights.Native, prefix, options, accept));
    }

    /// <summary>Reads all parameters from a stream, from its position to its end: the bytes of a .safetensors file.
    /// Otherwise like <see cref="Load(string, string?, CancellationToken)"/>.</summary>
    /// <param name="stream">The stream to read from; it stays open. If it throws, nothing is changed.</param>
    /// <param name="prefix">The text before the names, with or without the separator after it; empty or null:
    /// none.</param>
    /// <param name="stop">Stops the call, until all bytes have been read from the stream.</param>
    /// <exception cref="ArgumentException">See <see cref="Load(string, string?, CancellationToken)"/>.</exception>
    /// <exception cref="NotSupportedException">See <see cref="Load(string, string?, CancellationToken)"/>.</exception>
    /// <exception cref="HeedException">See <see cref="Load(string, string?, CancellationToken)"/>.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(Stream stream, string? prefix = null, CancellationToken stop = default)
    {
        _ = stream ?? throw new ArgumentNullException(nameof(stream));
        byte[]? before = prefix is null ? null : NativeText.ToNative(prefix, nameof(prefix));
        StoppableCall.With(stop, () =>
        {
            using NativeBytes bytes = NativeBytes.Read(stream);
            StoppableCall.Check();
            Change(open =>
            {
                fixed (byte* nativeBefore = before)
                {
                    open.LoadMemory(bytes.Data, (ulong)bytes.Length, nativeBefore);
                }
                ForgetGradients();
            });
        });
    }

    /// <summary>Reads all parameters as <see cref="Load(Stream, string?, CancellationToken)"/> does, from a model with features that the
    /// block does not compute: the program accepts them by name and computes them itself.</summary>
    /// <param name="stream">The stream to read from; it stays open.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    public void Load(Stream stream, string? prefix, params string[] accept) =>
        Load(stream, prefix, CancellationToken.None, accept);

    /// <summary>Reads all parameters as <see cref="Load(Stream, string?, string[])"/> does, and can be stopped, but
    /// not while the stream reads: nothing is changed then.</summary>
    /// <param name="stream">The stream to read from; it stays open.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="stop">Stops the call.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(Stream stream, string? prefix, CancellationToken stop, params string[] accept) =>
        Load(stream, prefix, new LoadOptions(), stop, accept);

    /// <summary>Reads all parameters as <see cref="Load(Stream, string?, CancellationToken, string[])"/> does, with options,
    /// such as whether parameters of 16 bits become Float32.</summary>
    /// <param name="stream">The stream to read from; it stays open.</param>
    /// <param name="prefix">The text before the names; empty or null: none.</param>
    /// <param name="options">The options.</param>
    /// <param name="stop">Stops the call, but not while the stream reads.</param>
    /// <param name="accept">The names of the accepted features, as docs/weights.md lists them.</param>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(
        Stream stream, string? prefix, LoadOptions options, CancellationToken stop = default, params string[] accept)
    {
        _ = stream ?? throw new ArgumentNullException(nameof(stream));
        StoppableCall.With(stop, () =>
        {
            using NativeBytes bytes = NativeBytes.Read(stream);
            using NativeWeights weights = Weights.Of(bytes);
            Load(weights, prefix, options, accept);
        });
    }

    private void WriteFile(string path)
    {
        byte[] file = NativeText.ToNative(path, nameof(path));
        gate.EnterReadLock();
        try
        {
            fixed (byte* nativeFile = file)
            {
                Current.Save(nativeFile);
            }
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Writes to a stream the bytes that <see cref="Save(string)"/> writes to a file.</summary>
    /// <param name="stream">The stream to write to; it stays open.</param>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    public void Save(Stream stream)
    {
        _ = stream ?? throw new ArgumentNullException(nameof(stream));
        using NativeBytes bytes = SavedBytes();
        bytes.ForEachPiece((piece, count) => stream.Write(piece, 0, count));
    }

    /// <inheritdoc/>
    public sealed override void Cast(DataType dataType)
    {
        CheckFloat(dataType);
        lock (changing)
        {
            CheckNotDisposed();
            CheckIsWhole();
            CheckIsOfNoFolder();
            LayerContext same = OpenLayerContext();
            NativeLayer made = Converted(same.Context, dataType, Taken);
            try
            {
                AddMemoryPressure(made);
                owner?.Own(made.SafeHandle);
            }
            catch
            {
                made.Dispose();
                throw;
            }
            Replace(made, same, owner);
        }
    }

    /// <summary>The parameters as the bytes of a .safetensors file.</summary>
    internal NativeBytes SavedBytes()
    {
        gate.EnterReadLock();
        try
        {
            NativeLayer open = Current;
            long numBytes = open.SaveMemory(null, 0);
            var bytes = new NativeBytes(numBytes);
            try
            {
                bytes.Fill(open.SaveMemory(bytes.Data, (ulong)numBytes));
                return bytes;
            }
            catch
            {
                bytes.Dispose();
                throw;
            }
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    internal static void CheckFloat(DataType dataType)
    {
        if (dataType is not (DataType.Float32 or DataType.Float16 or DataType.BFloat16))
        {
            throw new ArgumentException(
                $"dataType is {dataType}, expected Float32, Float16 or BFloat16", nameof(dataType));
        }
    }

    internal bool HasParameter(NativeParameter parameter)
    {
        if (IsInitialized)
        {
            return true;
        }
        using NativeTensor? form = Form(parameter);
        return form != null;
    }

    internal Shape? ShapeOf(NativeParameter parameter)
    {
        using NativeTensor? form = Form(parameter);
        return form?.ShapeOf();
    }

    internal DataType? DataTypeOf(NativeParameter parameter)
    {
        using NativeTensor? form = Form(parameter);
        return form is null ? null : (DataType)form.Dtype();
    }

    /// <summary>Shape and type, or the reason why the parameter has none.</summary>
    internal string DescribeValuesOf(NativeParameter parameter)
    {
        try
        {
            using NativeTensor? form = Form(parameter);
            return form is null ? "(shape not known)" : $"{form.ShapeOf()} {(DataType)form.Dtype()}";
        }
        catch (ObjectDisposedException)
        {
            return "of a disposed block";
        }
    }

    internal NDArray ArrayOf(NativeParameter parameter)
    {
        gate.EnterReadLock();
        try
        {
            CheckNotDisposed();
            NDArray snapshot =
                (owner ?? SnapshotOwner()).Adopt(layer.Parameter(parameter), value => Write(parameter, value));
            snapshot.Leaf = parameter.Leaf;
            return snapshot;
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    internal void SetParameter(NativeParameter parameter, NDArray array)
    {
        Tape.Refuse(nameof(Parameter.SetArray), array);
        NativeTensor value = array.Tensor;
        lock (changing)
        {
            if (!IsOfFolder)
            {
                BindTo(array);
            }
            Change(open => open.SetParameter(parameter, value));
        }
    }

    internal ParameterFile.IStaged Stage(NDManager manager, Shape?[]? shapes, NativeBytes bytes) =>
        new Staged(this, manager, shapes, bytes);

    private static NativeTensor NewTensor(NativeContext context, DataType dataType, Shape shape)
    {
        fixed (long* dims = shape.Dims)
        {
            return NativeTensor.Create(context, (int)dataType, shape.Dimension, dims);
        }
    }

    /// <summary>Adds the size of a layer's parameters to the garbage collector's memory pressure, once for each
    /// layer.</summary>
    private static void AddMemoryPressure(NativeLayer layer)
    {
        NativeHandle handle = layer.SafeHandle;
        if (handle.HasKept || layer.IsInitialized() != 1)
        {
            return;
        }
        long numBytes = layer.SaveMemory(null, 0);
        bool isHeld = false;
        try
        {
            // Held, so that it is not destroyed before the memory pressure is added, which would then never be
            // removed.
            handle.DangerousAddRef(ref isHeld);
            handle.Keep(SharedMemory.OfHeed(numBytes));
        }
        catch (ObjectDisposedException error)
        {
            throw Errors.Closed(error);
        }
        finally
        {
            if (isHeld)
            {
                handle.DangerousRelease();
            }
        }
    }

    /// <summary>Makes a layer whose parameters heed has drawn, of this type: also where the type of the inputs, as ids,
    /// does not tell it.</summary>
    private NativeLayer Drawn(LayerCall call, NativeContext context, DataType dataType)
    {
        if (ListInputs.HasIds)
        {
            CheckFloat(dataType);
        }
        NativeLayer made = make(context);
        try
        {
            call.Initialize(made, NextSeed());
            if (!ListInputs.HasIds)
            {
                return made;
            }
        }
        catch
        {
            made.Dispose();
            throw;
        }
        using (made)
        {
            return Converted(context, dataType, made.Parameter);
        }
    }

    /// <summary>Makes a layer with these values, converted. They are disposed.</summary>
    private NativeLayer Converted(
        NativeContext context, DataType dataType, Func<NativeParameter, NativeTensor> valueOf)
    {
        NativeLayer made = make(context);
        try
        {
            foreach (NativeParameter parameter in parameters)
            {
                using NativeTensor before = valueOf(parameter);
                using NativeTensor converted = NewTensor(context, dataType, before.ShapeOf());
                converted.Copy(before);
                made.SetParameter(parameter, converted);
            }
            return made;
        }
        catch
        {
            made.Dispose();
            throw;
        }
    }

    /// <summary>Copies the parameters that are set to a layer in another context.</summary>
    private void CopyParameters(NativeLayer target)
    {
        foreach (NativeParameter parameter in parameters)
        {
            using NativeTensor? there = Snapshot(parameter);
            if (there != null)
            {
                target.SetParameter(parameter, there);
            }
        }
    }

    /// <summary>Sets the parameters that already have values to these, and others with an initializer to its values;
    /// all others keep those that heed has drawn.</summary>
    private void RunInitializers(NativeLayer made, NDManager manager)
    {
        foreach (NativeParameter parameter in parameters)
        {
            using NativeTensor? there = Snapshot(parameter);
            if (there != null)
            {
                made.SetParameter(parameter, there);
            }
            else if (parameter.Initializer != null)
            {
                using NativeTensor drawn = made.ParameterShape(parameter);
                using NDManager drawing = manager.NewSubManager();
                NDArray values =
                    parameter.Initializer.Initialize(drawing, drawn.ShapeOf(), (DataType)drawn.Dtype())
                    ?? throw new InvalidOperationException($"the initializer of {parameter.Name} gave null");
                made.SetParameter(parameter, values.Tensor);
            }
        }
    }

    /// <summary>Returns a snapshot of a parameter that has values.</summary>
    private NativeTensor Taken(NativeParameter parameter)
    {
        gate.EnterReadLock();
        try
        {
            return layer.Parameter(parameter);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Returns a snapshot of a parameter; null if it has no values.</summary>
    private NativeTensor? Snapshot(NativeParameter parameter) => IfSet(() => layer.Parameter(parameter));

    /// <summary>Returns the type and the shape of a parameter, as a tensor without values; null if it has no
    /// values.</summary>
    private NativeTensor? Form(NativeParameter parameter) => IfSet(() => layer.ParameterShape(parameter));

    private NativeTensor? IfSet(Func<NativeTensor> get)
    {
        gate.EnterReadLock();
        try
        {
            return IfSetWithLock(get);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Returns null if the parameter has no values, or the manager of its values is disposed.</summary>
    private NativeTensor? IfSetWithLock(Func<NativeTensor> get)
    {
        try
        {
            return MessageSink.WithoutMessages(get);
        }
        catch (InvalidOperationException)
        {
            CheckNotDisposed();
            return null;
        }
    }

    /// <summary>The type of the parameters; Float32 if none is set.</summary>
    private DataType TypeOfParameters(NativeLayer open)
    {
        foreach (NativeParameter parameter in parameters)
        {
            using NativeTensor? form = IfSetWithLock(() => open.ParameterShape(parameter));
            if (form != null)
            {
                return (DataType)form.Dtype();
            }
        }
        return DataType.Float32;
    }

    /// <summary>Sets a parameter through its snapshot, and returns the new snapshot.</summary>
    private NativeTensor Write(NativeParameter parameter, NativeTensor value)
    {
        lock (changing)
        {
            Change(open => open.SetParameter(parameter, value));
            return Taken(parameter);
        }
    }

    private NDManager SnapshotOwner()
    {
        lock (own)
        {
            CheckNotDisposed();
            LayerContext here = layerContext;
            NDManager? last = own.Count == 0 ? null : own[own.Count - 1];
            if (last is null || !last.OpenLayerContext().IsLike(here))
            {
                last = NDManager.NewBaseManager(here.Device, here.Options);
                own.Add(last);
            }
            return last;
        }
    }

    /// <summary>The names as C takes them.</summary>
    private protected static byte[] AcceptedNames(string[] accept)
    {
        _ = accept ?? throw new ArgumentNullException(nameof(accept));
        foreach (string name in accept)
        {
            _ = name ?? throw new ArgumentNullException(nameof(accept));
        }
        return NativeText.ToNative(string.Join(",", accept), nameof(accept));
    }

    private void Load(NativeWeights weights, string? prefix, LoadOptions options, string[] accept)
    {
        _ = options ?? throw new ArgumentNullException(nameof(options));
        byte[]? before = prefix is null ? null : NativeText.ToNative(prefix, nameof(prefix));
        byte[] accepted = AcceptedNames(accept);
        Change(open =>
        {
            fixed (byte* nativeBefore = before, nativeAccepted = accepted)
            {
                using var structs = new NativeStructs();
                NativeLoadOptions members = options.ToNative(structs);
                members.Accept = nativeAccepted;
                LoadFrom(open, weights, nativeBefore, members);
            }
            ForgetGradients();
        });
    }

    private static void LoadFrom(NativeLayer open, NativeWeights weights, byte* prefix, NativeLoadOptions members)
    {
        if (StoppableCall.Current is not { } stoppable)
        {
            open.LoadWeights(weights, prefix, members);
            return;
        }
        stoppable.Run(progress =>
        {
            members.Progress = progress;
            open.LoadWeights(weights, prefix, members);
        });
    }

    /// <summary>Parameters that have been read and checked, but not yet set in the block.</summary>
    private sealed class Staged : ParameterFile.IStaged
    {
        private readonly NativeBlock block;
        private readonly NDManager manager;
        private readonly LayerContext layerContext;
        private readonly Shape?[]? shapes;
        private NativeLayer? made;

        internal Staged(NativeBlock block, NDManager manager, Shape?[]? shapes, NativeBytes bytes)
        {
            block.CheckNotDisposed();
            block.CheckIsWhole();
            this.block = block;
            this.manager = manager;
            this.shapes = shapes;
            layerContext = manager.OpenLayerContext();
            made = block.make(layerContext.Context);
            try
            {
                made.LoadMemory(bytes.Data, (ulong)bytes.Length, null);
                AddMemoryPressure(made);
                if (block.parameters.Length > 0)
                {
                    manager.Own(made.SafeHandle);
                }
            }
            catch
            {
                made.Dispose();
                throw;
            }
        }

        public void Commit()
        {
            lock (block.changing)
            {
                block.Replace(made!, layerContext, manager);
                block.inputShapes = shapes;
            }
            made = null;
        }

        /// <summary>Disposes parameters that were not committed.</summary>
        public void Dispose() => made?.Dispose();
    }
}
