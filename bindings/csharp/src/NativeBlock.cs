// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Threading;

namespace Heed;

/// <summary>A block that is one layer of the native library: the base of heed's own blocks.</summary>
public abstract unsafe partial class NativeBlock : Block
{
    /// <summary>The number of the block that was made last, from 0; -1: none. A block's first seed follows from its
    /// number.</summary>
    private static long blocks = -1;

    /// <summary>Makes a layer without values for its parameters, and checks the options.</summary>
    private readonly Func<NativeContext, NativeLayer> make;
    private readonly NativeParameter[] parameters;
    private readonly KeptWeights? kept;

    /// <summary>The outermost block that this one is inside of, or this block itself. It has the layer, of which a
    /// child's is a part, and the parameters.</summary>
    private readonly NativeBlock whole;

    /// <summary>Locked by every change of the layer, from its first check to its end. The program's initializers run
    /// while it is locked. So it is locked before the other lock, under which no code of the program runs. Children
    /// share both locks with the whole.</summary>
    private readonly object changing;

    /// <summary>Calls that use the layer hold it for reading, calls that change or replace the layer for
    /// writing.</summary>
    private readonly UseLock gate;
    private long nextSeed = Interlocked.Increment(ref blocks) << 32;

    /// <summary>The layer of a whole. A child has none of its own: see <see cref="Current"/>.</summary>
    private volatile NativeLayer layer;

    /// <summary>The context that the layer was made in.</summary>
    private volatile LayerContext layerContext;

    /// <summary>True once the layer is in the context of the program's arrays. Before, it may be made again in another
    /// context.</summary>
    private volatile bool bound;
    private volatile Shape?[]? inputShapes;
    private volatile bool disposed;

    /// <summary>The owner of the parameters; null: the block.</summary>
    private NDManager? owner;

    /// <summary>Managers that own snapshots of the block's parameters: one for each context that the layer was in.
    /// Locked by itself.</summary>
    private readonly List<NDManager> own = new();

    /// <summary>Makes a block, with a path a child of another one, and with a manager in its context; it then is the
    /// owner of the parameters.</summary>
    private protected NativeBlock(
        Func<NativeContext, NativeLayer> make, KeptWeights? kept = null, ChildPath? childPath = null,
        NDManager? manager = null)
    {
        layerContext = manager is null ? LayerContext.Initial() : manager.OpenLayerContext();
        this.make = make;
        this.kept = kept;
        this.childPath = childPath;
        whole = childPath?.Parent.whole ?? this;
        Composition = childPath?.Part!;
        if (childPath != null)
        {
            changing = whole.changing;
            gate = whole.gate;
            gradientLock = whole.gradientLock;
            layer = null!;
            parameters = Array.FindAll(childPath.Parent.parameters, childPath.Has);
            return;
        }
        changing = new object();
        gate = new UseLock();
        gradientLock = new object();
        layer = make(layerContext.Context);
        Composition = LayerPart.Of(layer);
        bool isNorm = layer.Kind() == "layer_norm";
        parameters = new NativeParameter[layer.ParameterCount()];
        for (int index = 0; index < parameters.Length; index++)
        {
            parameters[index] = new NativeParameter(this, layer.ParameterName(index), isNorm);
        }
        if (manager != null)
        {
            manager.Own(layer.SafeHandle);
            owner = manager;
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
    /// <remarks>Also those of its children, by dotted names such as
    /// "layers.0.self_attention.W_q.weight".</remarks>
    public sealed override ParameterList DirectParameters
    {
        get
        {
            var list = new ParameterList();
            foreach (NativeParameter parameter in parameters)
            {
                list.Add(childPath is null ? parameter.Name : childPath.NameOf(parameter), parameter);
            }
            return list;
        }
    }

    /// <inheritdoc/>
    public sealed override Shape?[] InputShapes =>
        (Shape?[])(ShapesOrNull ?? throw NotInitializedForShapes()).Clone();

    internal sealed override Shape?[]? ShapesOrNull => IsInitialized ? inputShapes : null;

    /// <summary>Whether a new layer of this block has parameters already, from the folder of a model.</summary>
    private protected virtual bool IsOfFolder => false;

    /// <summary>The name of this kind of block in a stream of parameters.</summary>
    internal abstract string Kind { get; }

    /// <inheritdoc/>
    /// <remarks>Weights are drawn as by <see cref="XavierInitializer"/>; weights of norms are 1; biases, sinks, bias_k,
    /// bias_v and the table of a relative bias are 0; unless SetInitializer has set another initializer. A child of
    /// another of heed's own blocks must have its parameters already, since the other block makes them.</remarks>
    /// <exception cref="InvalidOperationException">The block is the child of another one, and has not all its
    /// parameters.</exception>
    public sealed override void Initialize(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        _ = inputShapes ?? throw new ArgumentNullException(nameof(inputShapes));
        LayerContext wanted = manager.OpenLayerContext();
        Shape?[] shapes = ListInputs.Placed(inputShapes, nameof(inputShapes), "shape");
        using LayerCall call = LayerCall.Begin();
        lock (changing)
        {
            // Parameters of a block that reads ids are drawn in Float32, and then converted.
            DataType ofRows = ListInputs.HasIds && !IsInitialized ? DataType.Float32 : dataType;
            call.Read(wanted.Context, shapes, index => ListInputs.TypeOf(index, ofRows));
            MoveIfWithoutParameters(manager);
            if (IsInitialized)
            {
                CheckFits(call, dataType);
            }
            else
            {
                CheckIsWhole();
                CheckMayBeMadeAgain();
                NativeLayer made = Drawn(call, wanted.Context, dataType);
                try
                {
                    RunInitializers(made, manager);
                    AddMemoryPressure(made);
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
    public sealed override void Clear()
    {
        lock (changing)
        {
            CheckNotDisposed();
            CheckIsWhole();
            CheckIsOfNoFolder();
            inputShapes = null;
            SetOnly(new List<(NativeParameter, NativeTensor)>());
        }
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        disposed = true;
        DisposeChildren();
        if (childPath != null)
        {
            GiveBack();
            return;
        }
        layer.Dispose();
        DropGradients();
        lock (own)
        {
            own.ForEach(manager => manager.Dispose());
        }
    }

    internal sealed override void RememberState(List<Action> undo, List<IDisposable> snapshots)
    {
        Shape?[]? shapes = inputShapes;
        // Initialize of a child changes no parameters.
        bool isComplete = childPath != null || IsInitialized;
        var values = new List<(NativeParameter Parameter, NativeTensor Value)>();
        foreach (NativeParameter parameter in isComplete ? Array.Empty<NativeParameter>() : parameters)
        {
            NativeTensor? value = Snapshot(parameter);
            if (value != null)
            {
                snapshots.Add(value);
                values.Add((parameter, value));
            }
        }
        undo.Add(() =>
        {
            if (!isComplete && IsInitialized)
            {
                SetOnly(values);
            }
            inputShapes = shapes;
        });
    }

    internal sealed override void SetSeeds(ref long seed)
    {
        Interlocked.Exchange(ref nextSeed, seed);
        seed = unchecked(seed + (1L << 32));
    }

    internal sealed override void CheckNotDisposed()
    {
        if (disposed || whole.disposed)
        {
            throw Errors.ClosedLayer();
        }
    }

    private static InvalidOperationException NotInitializedForShapes() =>
        new InvalidOperationException("the block was not initialized for inputs of any shapes");

    private void CheckIsOfNoFolder()
    {
        if (IsOfFolder)
        {
            throw new InvalidOperationException(
                "the block is that of a model, whose parameters have the types of its folder: expected neither Clear "
                + "nor Cast");
        }
    }

    /// <summary>Throws if the layer, which is disposed, is of a folder, which would be read again.</summary>
    private void CheckMayBeMadeAgain()
    {
        if (IsOfFolder)
        {
            throw Errors.ClosedLayer();
        }
    }

    /// <summary>Throws if a call whose first array this is would have to be computed in another context than the
    /// layer's.</summary>
    private void CheckFitsContext(NDArray array)
    {
        NDManager given = array.Manager;
        LayerContext here = layerContext;
        if (!ReferenceEquals(given.OpenContext(), here.Context) && !here.ComputesLike(given.Device, given.Options))
        {
            throw new ArgumentException(
                $"inputs are of a manager for {given.Device} with {given.Options}, but the model was loaded for "
                + $"{here.Device} with {here.Options}: expected that device and these options, as Load(folder, manager) "
                + "takes them from a manager",
                "inputs");
        }
    }

    /// <summary>Whether the parameters have values. Called under a lock. Also false if their manager is disposed, which
    /// may happen during the call.</summary>
    private bool HasParameters()
    {
        try
        {
            return Current.IsInitialized() == 1;
        }
        catch (ObjectDisposedException)
        {
            CheckNotDisposed();
            return false;
        }
    }

    /// <summary>Changes the parameters, on a new layer if the manager of the previous parameters is disposed.</summary>
    private void Change(Action<NativeLayer> change)
    {
        if (childPath != null)
        {
            CheckNotDisposed();
            whole.Change(open =>
            {
                using NativeLayer part = childPath.In(open);
                change(part);
            });
            return;
        }
        lock (changing)
        {
            gate.EnterWriteLock();
            try
            {
                CheckNotDisposed();
                if (!layer.SafeHandle.IsDisposed)
                {
                    writes++;
                    change(layer);
                    AddMemoryPressure(layer);
                    return;
                }
            }
            finally
            {
                gate.ExitWriteLock();
            }
            CheckMayBeMadeAgain();
            LayerContext here = OpenLayerContext();
            NativeLayer made = make(here.Context);
            try
            {
                change(made);
                AddMemoryPressure(made);
            }
            catch
            {
                made.Dispose();
                throw;
            }
            Replace(made, here, null);
        }
    }

    /// <summary>Sets these parameters; all others have no values afterwards.</summary>
    private void SetOnly(List<(NativeParameter Parameter, NativeTensor Value)> values)
    {
        lock (changing)
        {
            CheckNotDisposed();
            LayerContext here = OpenLayerContext();
            NativeLayer made = make(here.Context);
            try
            {
                values.ForEach(each => made.SetParameter(each.Parameter, each.Value));
                AddMemoryPressure(made);
            }
            catch
            {
                made.Dispose();
                throw;
            }
            Replace(made, here, null);
        }
    }

    /// <summary>Moves the layer of a block without parameters to the context of the inputs.</summary>
    private void MoveIfWithoutParameters(NDManager manager)
    {
        if (parameters.Length != 0 || childPath != null)
        {
            return;
        }
        NativeContext wanted = manager.OpenContext();
        if (ReferenceEquals(wanted, layerContext.Context))
        {
            return;
        }
        lock (changing)
        {
            if (!ReferenceEquals(wanted, layerContext.Context))
            {
                Replace(make(wanted), manager.OpenLayerContext(), null);
            }
        }
    }

    /// <summary>Moves the layer to the context of this array, unless it is bound to a context already.</summary>
    private void BindTo(NDArray array)
    {
        if (childPath != null)
        {
            whole.BindTo(array);
            return;
        }
        if (IsOfFolder)
        {
            CheckFitsContext(array);
            return;
        }
        NDManager manager = array.Manager;
        MoveIfWithoutParameters(manager);
        if (bound || parameters.Length == 0)
        {
            return;
        }
        LayerContext wanted = manager.OpenLayerContext();
        lock (changing)
        {
            if (bound || layer.SafeHandle.IsDisposed)
            {
                return;
            }
            if (!ReferenceEquals(wanted.Context, layerContext.Context))
            {
                NativeLayer made = make(wanted.Context);
                try
                {
                    CopyParameters(made);
                    AddMemoryPressure(made);
                }
                catch
                {
                    made.Dispose();
                    throw;
                }
                Replace(made, wanted, null);
            }
            bound = true;
        }
    }

    /// <summary>The layer's context. If that is disposed with its manager, the context in which all blocks
    /// begin.</summary>
    private LayerContext OpenLayerContext()
    {
        LayerContext here = whole.layerContext;
        return here.Context.SafeHandle.IsDisposed ? LayerContext.Initial() : here;
    }

    /// <summary>Replaces the layer once no call uses it, and disposes the old one.</summary>
    private void Replace(NativeLayer made, LayerContext madeIn, NDManager? madeFor)
    {
        gate.EnterWriteLock();
        try
        {
            TellFrozen(made);
            writes++;
            layer.Dispose();
            layer = made;
            DropGradients();
            GiveBackChildren();
            layerContext = madeIn;
            owner = madeFor;
            bound = madeFor != null;
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

    private long NextSeed() => Interlocked.Increment(ref nextSeed) - 1;
}
