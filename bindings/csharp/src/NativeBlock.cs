// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;

namespace Heed;

/// <summary>A block that is one layer of the native library: what heed's own blocks have in common.</summary>
public abstract unsafe class NativeBlock : Block
{
    /// <summary>How many blocks were made: each has its own seeds.</summary>
    private static long blocks = -1;

    /// <summary>Makes a layer without parameters, and checks the options.</summary>
    private readonly Func<NativeContext, NativeLayer> make;
    private readonly NativeParameter[] parameters;
    private readonly KeptWeights? kept;

    /// <summary>Held by whatever changes the layer, from its first look to the end. Users' initializers run under it,
    /// so it is taken before the other lock, under which nothing of theirs runs.</summary>
    private readonly object changing = new object();

    /// <summary>Read by calls that use the layer, written by those that change it or put another in its
    /// place.</summary>
    private readonly ReaderWriterLockSlim gate = new ReaderWriterLockSlim();
    private long nextSeed = Interlocked.Increment(ref blocks) << 32;
    private volatile NativeLayer layer;
    private volatile NativeContext context;
    private volatile Shape?[]? inputShapes;
    private volatile bool disposed;

    /// <summary>The owner of the parameters; null: the block.</summary>
    private NDManager? owner;

    /// <summary>The owner of snapshots where the block is that of the parameters.</summary>
    private NDManager? own;

    private protected NativeBlock(Func<NativeContext, NativeLayer> make, KeptWeights? kept = null)
    {
        this.make = make;
        this.kept = kept;
        context = Library.Context;
        layer = make(context);
        parameters = new NativeParameter[layer.ParameterCount()];
        for (int index = 0; index < parameters.Length; index++)
        {
            parameters[index] = new NativeParameter(this, layer.NameOf(index));
        }
    }

    /// <inheritdoc/>
    /// <remarks>False before the block is initialized or loaded, and once the manager of its parameters is
    /// disposed.</remarks>
    public sealed override bool IsInitialized
    {
        get
        {
            gate.EnterReadLock();
            try
            {
                return HasParameters();
            }
            finally
            {
                gate.ExitReadLock();
            }
        }
    }

    /// <inheritdoc/>
    public sealed override BlockList Children => new BlockList();

    /// <inheritdoc/>
    public sealed override ParameterList DirectParameters
    {
        get
        {
            var list = new ParameterList();
            foreach (NativeParameter parameter in parameters)
            {
                list.Add(parameter.Name, parameter);
            }
            return list;
        }
    }

    /// <inheritdoc/>
    public sealed override Shape?[] InputShapes =>
        (Shape?[])(ShapesOrNull ?? throw NotInitializedForShapes()).Clone();

    internal sealed override Shape?[]? ShapesOrNull => IsInitialized ? inputShapes : null;

    /// <summary>What the block is called in a stream of parameters.</summary>
    internal abstract string Kind { get; }

    /// <summary>What Forward takes, in this order; those from <see cref="NumRequired"/> on may be left out or
    /// null.</summary>
    private protected virtual string[] InputNames => Inputs.Attention;

    private protected virtual int NumRequired => 3;

    /// <summary>The output that takes the least memory, made to check whether inputs fit.</summary>
    private protected virtual Wanted Smallest => Wanted.LogSumExp;

    /// <inheritdoc/>
    public sealed override void Initialize(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        _ = inputShapes ?? throw new ArgumentNullException(nameof(inputShapes));
        NativeContext wanted = manager.OpenContext();
        CheckInputs(inputShapes, nameof(inputShapes), "shape");
        using var shapes = new Shapes(wanted, inputShapes, index => InputType(dataType, index));
        lock (changing)
        {
            FollowIfBare(manager);
            if (IsInitialized)
            {
                CheckFits(shapes.Native, dataType);
            }
            else
            {
                NativeLayer made = make(wanted);
                try
                {
                    made.InitializeFor(shapes.Native, NextSeed());
                    RunInitializers(made, manager);
                    Weigh(made);
                    manager.Own(made.SafeHandle);
                }
                catch
                {
                    made.Dispose();
                    throw;
                }
                Replace(made, wanted, manager);
            }
            this.inputShapes = (Shape?[])inputShapes.Clone();
        }
    }

    /// <inheritdoc/>
    public sealed override NDList Forward(
        ParameterStore parameterStore, NDList inputs, bool training = false,
        PairList<string, object>? parameters = null)
    {
        _ = parameterStore ?? throw new ArgumentNullException(nameof(parameterStore));
        LayerInputs given = Given(inputs);
        NDManager manager = inputs[0].Manager;
        FollowIfBare(manager);
        bool keep = kept is { On: true };
        NativeTensor? output = null;
        NativeTensor? weights = null;
        gate.EnterReadLock();
        try
        {
            NativeLayer open = layer;
            output = open.CreateOutput(given, Wanted.Output);
            weights = keep ? open.CreateOutput(given, Wanted.Weights) : null;
            var outputs = new LayerOutputs(output, weights, null);
            open.Run(given, training ? NextSeed() : 0, training, null, outputs);
            NDArray result = manager.Adopt(output);
            kept?.Keep(weights is null ? null : manager.Adopt(ToKeep(weights)));
            return new NDList(result);
        }
        catch
        {
            output?.Dispose();
            weights?.Dispose();
            throw;
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Computes into arrays that are there: .NET allocates nothing, nor, with a workspace, does heed. The
    /// attention weights are not kept: <see cref="AttentionOutputs.Weights"/> gets them.</summary>
    /// <param name="inputs">What is read.</param>
    /// <param name="outputs">What is written: at least one array.</param>
    /// <param name="workspace">Memory for this call alone, of <see cref="WorkspaceSize"/> bytes; null: heed keeps its
    /// own.</param>
    /// <exception cref="ArgumentException">Sizes, types or lengths do not fit, no output is given, or one shares memory
    /// with another array.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized, or the workspace is in
    /// use.</exception>
    /// <exception cref="HeedException">With <see cref="Status.WorkspaceTooSmall"/>: the workspace is too small; the
    /// sentence names both sizes.</exception>
    /// <exception cref="ObjectDisposedException">An array, the workspace or the block is disposed.</exception>
    public void Forward(AttentionInputs inputs, AttentionOutputs outputs, Workspace? workspace = null)
    {
        LayerInputs given = Given(inputs);
        LayerOutputs written = Written(outputs);
        NativeWorkspace? scratch = workspace?.Native;
        bool training = inputs.Training;
        FollowIfBare(inputs.Queries!.Manager);
        gate.EnterReadLock();
        try
        {
            long seed = training ? inputs.DropoutSeed ?? NextSeed() : 0;
            layer.Run(given, seed, training, scratch, written);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Makes arrays of the right shapes for <see cref="Forward(AttentionInputs, AttentionOutputs,
    /// Workspace?)"/>: output and weights of the inputs' type, LogSumExp of Float32.</summary>
    /// <param name="inputs">The inputs, of which only shapes and types are read.</param>
    /// <param name="wanted">Which outputs.</param>
    /// <returns>Outputs of new arrays, which belong to the queries' manager; null where not wanted.</returns>
    /// <exception cref="ArgumentException">The inputs do not fit each other or the block, it has no such output, or
    /// nothing is wanted.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    public AttentionOutputs CreateOutputs(AttentionInputs inputs, Wanted wanted = Wanted.Output)
    {
        const Wanted All = Wanted.Output | Wanted.Weights | Wanted.LogSumExp;
        LayerInputs given = Given(inputs);
        if (wanted == 0 || (wanted & ~All) != 0)
        {
            throw new ArgumentOutOfRangeException(nameof(wanted), wanted, "expected one output or more");
        }
        NDManager manager = inputs.Queries!.Manager;
        var made = new AttentionOutputs();
        gate.EnterReadLock();
        try
        {
            NDArray? Create(Wanted one) =>
                (wanted & one) == 0 ? null : manager.Adopt(layer.CreateOutput(given, one));
            made.Output = Create(Wanted.Output);
            made.Weights = Create(Wanted.Weights);
            made.LogSumExp = Create(Wanted.LogSumExp);
            return made;
        }
        catch
        {
            made.Dispose();
            throw;
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>How large a workspace <see cref="Forward(AttentionInputs, AttentionOutputs, Workspace?)"/> needs. One
    /// for the largest sizes serves all that are the same or smaller.</summary>
    /// <param name="inputs">The inputs, of which only shapes and types are read.</param>
    /// <param name="outputs">The outputs, likewise.</param>
    /// <returns>The number of bytes.</returns>
    /// <exception cref="ArgumentException">Inputs and outputs do not fit each other or the block.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array or the block is disposed.</exception>
    public long WorkspaceSize(AttentionInputs inputs, AttentionOutputs outputs)
    {
        LayerInputs given = Given(inputs);
        LayerOutputs written = Written(outputs);
        gate.EnterReadLock();
        try
        {
            return layer.WorkspaceBytes(given, written);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Tells how heed would compute a Forward, without computing it: its operations and their kernels, what
    /// they cost, and why it is not the fastest path where it is not.</summary>
    /// <param name="inputs">The inputs, of which shapes, types and lengths are read.</param>
    /// <param name="outputs">The outputs, of which shapes and types are read.</param>
    /// <returns>JSON text.</returns>
    /// <exception cref="ArgumentException">Inputs and outputs do not fit each other or the block.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array or the block is disposed.</exception>
    public string Explain(AttentionInputs inputs, AttentionOutputs outputs)
    {
        LayerInputs given = Given(inputs);
        LayerOutputs written = Written(outputs);
        gate.EnterReadLock();
        try
        {
            return layer.Explanation(given, inputs.Training, written);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Tells how heed would compute <see cref="Forward(ParameterStore, NDList, bool, PairList{string,
    /// object}?)"/> with these inputs, as <see cref="Explain(AttentionInputs, AttentionOutputs)"/>.</summary>
    /// <param name="inputs">The list that Forward takes.</param>
    /// <param name="training">Whether dropout is active.</param>
    /// <returns>JSON text.</returns>
    /// <exception cref="ArgumentException">The inputs do not fit each other or the block.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array or the block is disposed.</exception>
    public string Explain(NDList inputs, bool training = false)
    {
        LayerInputs given = Given(inputs);
        bool keep = kept is { On: true };
        gate.EnterReadLock();
        try
        {
            NativeLayer open = layer;
            using NativeTensor output = open.CreateOutput(given, Wanted.Output);
            using NativeTensor? weights = keep ? open.CreateOutput(given, Wanted.Weights) : null;
            return open.Explanation(given, training, new LayerOutputs(output, weights, null));
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <inheritdoc/>
    public sealed override Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null)
    {
        _ = inputShapes ?? throw new ArgumentNullException(nameof(inputShapes));
        CheckInputs(inputShapes, nameof(inputShapes), "shape");
        if (dataTypes != null && dataTypes.Length != inputShapes.Length)
        {
            throw new ArgumentException(
                $"dataTypes has {dataTypes.Length} types, expected {inputShapes.Length}, one for each shape",
                nameof(dataTypes));
        }
        gate.EnterReadLock();
        try
        {
            DataType first = dataTypes is null ? TypeOfParameters(layer) : default;
            using var shapes = new Shapes(context, inputShapes, index => dataTypes?[index] ?? InputType(first, index));
            using NativeTensor output = layer.CreateOutput(shapes.Native, Wanted.Output);
            return new[] { output.ShapeOf() };
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Reads all parameters from a .safetensors file, which may be a whole model's: W_q is read from
    /// "prefix.W_q.weight", its bias from "prefix.W_q.bias", and so on, or from the names of PyTorch, Hugging Face,
    /// Keras, DJL or d2l-java (docs/weights.md has all). Sizes and types are the file's, or, on a block that has its
    /// parameters, stay as they are. All or nothing. Once the manager of <see cref="Initialize"/> is disposed, the
    /// block gets parameters anew, which belong to the block.</summary>
    /// <param name="path">The file.</param>
    /// <param name="prefix">What stands before the names, without the separator; empty or null: nothing.</param>
    /// <exception cref="ArgumentException">A parameter has another shape, the file has a bias and the block none, or
    /// it has the parameters under the names of two frameworks.</exception>
    /// <exception cref="NotSupportedException">The file has what the block cannot do, as PyTorch's bias_k.</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: the file cannot be read; <see
    /// cref="Status.CorruptFile"/>: it is not what its format says; <see cref="Status.NotFound"/>: a parameter is
    /// missing.</exception>
    public void Load(string path, string? prefix = null)
    {
        byte[] file = NativeText.ToNative(path, nameof(path));
        byte[]? before = prefix is null ? null : NativeText.ToNative(prefix, nameof(prefix));
        Change(open =>
        {
            fixed (byte* nativeFile = file, nativeBefore = before)
            {
                open.Load(nativeFile, nativeBefore);
            }
        });
    }

    /// <summary>Reads all parameters from a stream, from where it is to its end: the bytes of a .safetensors file.
    /// Otherwise as <see cref="Load(string, string?)"/>.</summary>
    /// <param name="stream">Where from; it stays open. Nothing is changed if it throws.</param>
    /// <param name="prefix">What stands before the names, without the separator; empty or null: nothing.</param>
    /// <exception cref="ArgumentException">See <see cref="Load(string, string?)"/>.</exception>
    /// <exception cref="NotSupportedException">See <see cref="Load(string, string?)"/>.</exception>
    /// <exception cref="HeedException">See <see cref="Load(string, string?)"/>.</exception>
    public void Load(Stream stream, string? prefix = null)
    {
        _ = stream ?? throw new ArgumentNullException(nameof(stream));
        byte[]? before = prefix is null ? null : NativeText.ToNative(prefix, nameof(prefix));
        using NativeBytes bytes = NativeBytes.Read(stream);
        Change(open =>
        {
            fixed (byte* nativeBefore = before)
            {
                open.LoadMemory(bytes.Data, (ulong)bytes.Length, nativeBefore);
            }
        });
    }

    /// <summary>Writes all parameters to a .safetensors file, under the names that <see cref="Load(string, string?)"/>
    /// reads without a prefix. The file is replaced as a whole, or left as it was.</summary>
    /// <param name="path">The file.</param>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: the file cannot be written.</exception>
    public void Save(string path)
    {
        byte[] file = NativeText.ToNative(path, nameof(path));
        gate.EnterReadLock();
        try
        {
            fixed (byte* nativeFile = file)
            {
                layer.Save(nativeFile);
            }
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Writes to a stream what <see cref="Save(string)"/> writes to a file.</summary>
    /// <param name="stream">Where to; it stays open.</param>
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
            if (!Array.Exists(parameters, HasParameter))
            {
                return;
            }
            NativeContext same = context;
            NativeLayer made = make(same);
            try
            {
                foreach (NativeParameter parameter in parameters)
                {
                    using NativeTensor? before = Snapshot(parameter);
                    if (before != null)
                    {
                        using NativeTensor converted = NewTensor(same, dataType, before.ShapeOf());
                        converted.Copy(before);
                        made.SetParameter(parameter, converted);
                    }
                }
                Weigh(made);
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

    /// <inheritdoc/>
    public sealed override void Clear()
    {
        lock (changing)
        {
            CheckNotDisposed();
            inputShapes = null;
            Replace(make(context), context, null);
        }
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        disposed = true;
        layer.Dispose();
        Volatile.Read(ref own)?.Dispose();
    }

    internal sealed override void SetSeeds(ref long seed)
    {
        Interlocked.Exchange(ref nextSeed, seed);
        seed = unchecked(seed + (1L << 32));
    }

    internal sealed override void CheckNotDisposed()
    {
        if (disposed)
        {
            throw Errors.ClosedLayer();
        }
    }

    /// <summary>What a .safetensors file of the parameters holds.</summary>
    internal NativeBytes SavedBytes()
    {
        gate.EnterReadLock();
        try
        {
            NativeLayer open = layer;
            long numBytes = open.SaveBytes(null, 0);
            var bytes = new NativeBytes(numBytes);
            try
            {
                bytes.Fill(open.SaveBytes(bytes.Data, (ulong)numBytes));
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
        using NativeTensor? snapshot = Snapshot(parameter);
        return snapshot != null;
    }

    internal Shape? ShapeOf(NativeParameter parameter)
    {
        using NativeTensor? snapshot = Snapshot(parameter);
        return snapshot?.ShapeOf();
    }

    internal NDArray ArrayOf(NativeParameter parameter)
    {
        gate.EnterReadLock();
        try
        {
            CheckNotDisposed();
            return (owner ?? Own()).Adopt(layer.Parameter(parameter), value => Write(parameter, value));
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    internal void SetParameter(NativeParameter parameter, NDArray array)
    {
        NativeTensor value = array.Tensor;
        lock (changing)
        {
            if (!Array.Exists(parameters, HasParameter))
            {
                Follow(array.Manager.OpenContext());
            }
            Change(open => open.SetParameter(parameter, value));
        }
    }

    internal ParameterFile.IStaged Stage(NDManager manager, Shape?[]? shapes, NativeBytes bytes) =>
        new Staged(this, manager, shapes, bytes);

    /// <summary>What is to be kept of the weights of a Forward, in whose place it comes.</summary>
    private protected virtual NativeTensor ToKeep(NativeTensor weights) => weights;

    private static NativeTensor NewTensor(NativeContext context, DataType dataType, Shape shape)
    {
        fixed (long* dims = shape.Dims)
        {
            return NativeTensor.Create(context, (int)dataType, shape.Dimension, dims);
        }
    }

    /// <summary>The type of an input by that of the block: lengths are no numbers to compute with.</summary>
    private static DataType InputType(DataType dataType, int index) =>
        index < Inputs.ValidLens ? dataType : DataType.Float32;

    private static InvalidOperationException NotInitializedForShapes() =>
        new InvalidOperationException("the block was not initialized for inputs of any shapes");

    private static LayerInputs Given(AttentionInputs inputs)
    {
        _ = inputs ?? throw new ArgumentNullException(nameof(inputs));
        _ = inputs.Queries ?? throw new ArgumentException("inputs have no Queries", nameof(inputs));
        return inputs.Native;
    }

    private static LayerOutputs Written(AttentionOutputs outputs) =>
        (outputs ?? throw new ArgumentNullException(nameof(outputs))).Native;

    private LayerInputs Given(NDList inputs)
    {
        _ = inputs ?? throw new ArgumentNullException(nameof(inputs));
        CheckInputs(inputs, nameof(inputs), "array");
        NativeTensor? At(int index) => index < inputs.Count ? inputs[index]?.Tensor : null;
        return new LayerInputs(At(0), At(1), At(2), At(3));
    }

    /// <summary>Tells the collector, once, how much memory the parameters of a layer take.</summary>
    private static void Weigh(NativeLayer layer)
    {
        NativeHandle handle = layer.SafeHandle;
        if (handle.HasKept || layer.IsInitialized() != 1)
        {
            return;
        }
        long numBytes = layer.SaveBytes(null, 0);
        bool isHeld = false;
        try
        {
            // So that it is not destroyed meanwhile, after which nobody would take the weight off.
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

    /// <summary>As many inputs as Forward takes, of which those that are required are there.</summary>
    private void CheckInputs<T>(IReadOnlyList<T?> inputs, string name, string what)
        where T : class
    {
        string[] names = InputNames;
        int required = NumRequired;
        if (inputs.Count < required || inputs.Count > names.Length)
        {
            string found = inputs.Count == 1 ? what : what + "s";
            string expected = required == names.Length ? $"{required}" : $"{required} or {names.Length}";
            string last = required == names.Length ? string.Empty : " and, optional, " + names[required];
            throw new ArgumentException(
                $"{name} has {inputs.Count} {found}, expected {expected}: "
                + string.Join(", ", names, 0, required) + last);
        }
        for (int i = 0; i < required; i++)
        {
            _ = inputs[i] ?? throw new ArgumentNullException(names[i]);
        }
    }

    /// <summary>Throws unless the layer, which has its parameters, takes such inputs, and they are of the
    /// type.</summary>
    private void CheckFits(in LayerInputs inputs, DataType dataType)
    {
        gate.EnterReadLock();
        try
        {
            layer.CreateOutput(inputs, Smallest).Dispose();
            foreach (NativeParameter parameter in parameters)
            {
                using NativeTensor snapshot = layer.Parameter(parameter);
                var found = (DataType)snapshot.Dtype();
                if (found != dataType)
                {
                    throw new ArgumentException(
                        $"dataType is {dataType}, but the block has parameters of {found} already", nameof(dataType));
                }
            }
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Puts the values of users' initializers over those that heed has drawn.</summary>
    private void RunInitializers(NativeLayer made, NDManager manager)
    {
        foreach (NativeParameter parameter in parameters)
        {
            if (parameter.Initializer is null)
            {
                continue;
            }
            using NativeTensor drawn = made.Parameter(parameter);
            using NDManager drawing = manager.NewSubManager();
            NDArray values = parameter.Initializer.Initialize(drawing, drawn.ShapeOf(), (DataType)drawn.Dtype())
                ?? throw new InvalidOperationException($"the initializer of {parameter.Name} gave null");
            made.SetParameter(parameter, values.Tensor);
        }
    }

    /// <summary>Under a lock. False as well if the parameters were disposed with their manager, which may be right
    /// now.</summary>
    private bool HasParameters()
    {
        try
        {
            return layer.IsInitialized() == 1;
        }
        catch (ObjectDisposedException)
        {
            CheckNotDisposed();
            return false;
        }
    }

    /// <summary>Null if the parameter has no values.</summary>
    private NativeTensor? Snapshot(NativeParameter parameter)
    {
        gate.EnterReadLock();
        try
        {
            return SnapshotOf(layer, parameter);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Null if the parameter has no values, or had them of a manager that is disposed.</summary>
    private NativeTensor? SnapshotOf(NativeLayer open, NativeParameter parameter)
    {
        try
        {
            return open.Parameter(parameter);
        }
        catch (InvalidOperationException)
        {
            CheckNotDisposed();
            return null;
        }
    }

    /// <summary>Float32 where there are none.</summary>
    private DataType TypeOfParameters(NativeLayer open)
    {
        foreach (NativeParameter parameter in parameters)
        {
            using NativeTensor? snapshot = SnapshotOf(open, parameter);
            if (snapshot != null)
            {
                return (DataType)snapshot.Dtype();
            }
        }
        return DataType.Float32;
    }

    /// <summary>Changes the parameters, on a new layer if the manager of those before is disposed.</summary>
    private void Change(Action<NativeLayer> change)
    {
        lock (changing)
        {
            gate.EnterWriteLock();
            try
            {
                CheckNotDisposed();
                if (!layer.SafeHandle.IsClosed)
                {
                    change(layer);
                    Weigh(layer);
                    return;
                }
            }
            finally
            {
                gate.ExitWriteLock();
            }
            NativeLayer made = make(context);
            try
            {
                change(made);
                Weigh(made);
            }
            catch
            {
                made.Dispose();
                throw;
            }
            Replace(made, context, null);
        }
    }

    /// <summary>A block without parameters computes where its inputs are.</summary>
    private void FollowIfBare(NDManager manager)
    {
        if (parameters.Length == 0)
        {
            Follow(manager.OpenContext());
        }
    }

    /// <summary>Makes the layer anew in a context, unless it is there already.</summary>
    private void Follow(NativeContext wanted)
    {
        if (ReferenceEquals(wanted, context))
        {
            return;
        }
        lock (changing)
        {
            if (!ReferenceEquals(wanted, context))
            {
                Replace(make(wanted), wanted, null);
            }
        }
    }

    /// <summary>Puts a layer in the place of the one before, when no call uses that any more.</summary>
    private void Replace(NativeLayer made, NativeContext madeIn, NDManager? madeFor)
    {
        gate.EnterWriteLock();
        try
        {
            layer.Dispose();
            layer = made;
            context = madeIn;
            owner = madeFor;
            if (disposed)
            {
                made.Dispose();
                throw Errors.ClosedLayer();
            }
        }
        finally
        {
            gate.ExitWriteLock();
        }
    }

    /// <summary>What setting a snapshot's elements does: a new snapshot takes its place.</summary>
    private NativeTensor Write(NativeParameter parameter, NativeTensor value)
    {
        lock (changing)
        {
            Change(open => open.SetParameter(parameter, value));
            return Snapshot(parameter) ?? throw Errors.ClosedLayer();
        }
    }

    private NDManager Own()
    {
        NDManager? there = Volatile.Read(ref own);
        if (there != null)
        {
            return there;
        }
        NDManager made = NDManager.NewBaseManager();
        there = Interlocked.CompareExchange(ref own, made, null) ?? made;
        if (disposed)
        {
            there.Dispose();
        }
        return there;
    }

    private long NextSeed() => Interlocked.Increment(ref nextSeed) - 1;

    /// <summary>Parameters that are read and checked, and not yet the block's.</summary>
    private sealed class Staged : ParameterFile.IStaged
    {
        private readonly NativeBlock block;
        private readonly NDManager manager;
        private readonly NativeContext context;
        private readonly Shape?[]? shapes;
        private NativeLayer? made;

        internal Staged(NativeBlock block, NDManager manager, Shape?[]? shapes, NativeBytes bytes)
        {
            block.CheckNotDisposed();
            this.block = block;
            this.manager = manager;
            this.shapes = shapes;
            context = manager.OpenContext();
            made = block.make(context);
            try
            {
                made.LoadMemory(bytes.Data, (ulong)bytes.Length, null);
                Weigh(made);
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
                block.Replace(made!, context, manager);
                block.inputShapes = shapes;
            }
            made = null;
        }

        /// <summary>Drops what was not committed.</summary>
        public void Dispose() => made?.Dispose();
    }

    /// <summary>Arrays without elements, to ask about shapes.</summary>
    private sealed class Shapes : IDisposable
    {
        private readonly NativeTensor?[] tensors = new NativeTensor?[Inputs.Count];

        internal Shapes(NativeContext context, Shape?[] shapes, Func<int, DataType> typeOf)
        {
            try
            {
                for (int index = 0; index < shapes.Length; index++)
                {
                    if (shapes[index] is { } shape)
                    {
                        fixed (long* dims = shape.Dims)
                        {
                            tensors[index] =
                                NativeTensor.ShapeOnly(context, (int)typeOf(index), shape.Dimension, dims);
                        }
                    }
                }
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        internal LayerInputs Native => new LayerInputs(tensors[0], tensors[1], tensors[2], tensors[Inputs.ValidLens]);

        public void Dispose()
        {
            foreach (NativeTensor? tensor in tensors)
            {
                tensor?.Dispose();
            }
        }
    }

    /// <summary>The places of a list of inputs.</summary>
    private protected static class Inputs
    {
        internal const int ValidLens = 3;
        internal const int Count = 4;
        internal static readonly string[] Attention = { "queries", "keys", "values", "valid_lens" };
        internal static readonly string[] Single = { "input" };
    }
}
