// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Heed;

/// <summary>The base class of blocks that a program composes of other blocks and of parameters of its own.</summary>
/// <remarks>A subclass creates its child blocks in its constructor and adds them with <see cref="AddChildBlock"/>,
/// initializes them in <see cref="InitializeChildBlocks"/>, and computes in <see cref="ForwardInternal"/>. A child
/// block that was not added still computes, but no other method of this class knows of it. Whether several threads may
/// use the block is up to the subclass; heed's own blocks allow it.</remarks>
public abstract class AbstractBlock : Block
{
    private readonly BlockList children = new BlockList();
    private readonly ParameterList parameters = new ParameterList();
    private Shape?[]? inputShapes;
    private volatile bool disposed;

    /// <summary>Makes a block.</summary>
    /// <param name="version">The version number of the subclass, for SaveParameters and LoadParameters.</param>
    protected AbstractBlock(byte version = 1)
    {
        Version = version;
    }

    /// <inheritdoc/>
    public sealed override bool IsInitialized =>
        parameters.Values.All(parameter => parameter.IsInitialized)
        && Inside.All(child => child.Value.IsInitialized);

    /// <inheritdoc/>
    public sealed override BlockList Children
    {
        get
        {
            var copy = new BlockList();
            copy.AddAll(Inside);
            return copy;
        }
    }

    /// <inheritdoc/>
    public sealed override ParameterList DirectParameters
    {
        get
        {
            var copy = new ParameterList();
            copy.AddAll(parameters);
            return copy;
        }
    }

    /// <inheritdoc/>
    public sealed override Shape?[] InputShapes =>
        (Shape?[])(inputShapes ?? throw new InvalidOperationException(
            "the block was not initialized for inputs of any shapes")).Clone();

    internal sealed override Shape?[]? ShapesOrNull => inputShapes;

    /// <summary>The version number of the subclass, which SaveParameters writes.</summary>
    protected internal byte Version { get; }

    /// <summary>The child blocks, for a call that recurses into each. Throws if the stack is nearly used up.</summary>
    private BlockList Inside
    {
        get
        {
            RuntimeHelpers.EnsureSufficientExecutionStack();
            return children;
        }
    }

    /// <inheritdoc/>
    public sealed override NDList Forward(
        ParameterStore parameterStore, NDList inputs, bool training = false,
        PairList<string, object>? parameters = null)
    {
        _ = parameterStore ?? throw new ArgumentNullException(nameof(parameterStore));
        _ = inputs ?? throw new ArgumentNullException(nameof(inputs));
        CheckNotDisposed();
        RuntimeHelpers.EnsureSufficientExecutionStack();
        return ForwardInternal(parameterStore, inputs, training, parameters)
            ?? throw new InvalidOperationException($"{GetType().Name}.ForwardInternal gave null");
    }

    /// <inheritdoc/>
    /// <remarks>Calls <see cref="BeforeInitialize"/>, calls <see cref="Prepare"/> if the block is not initialized or
    /// was initialized for other shapes, initializes the block's own parameters, and calls
    /// <see cref="InitializeChildBlocks"/>. If any of these throws, the block and its child blocks keep the parameters
    /// and the input shapes that they had.</remarks>
    public override void Initialize(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        _ = inputShapes ?? throw new ArgumentNullException(nameof(inputShapes));
        CheckNotDisposed();
        Shape?[]? shapesBefore = IsInitialized ? this.inputShapes : null;
        using var before = new BlockState(this);
        try
        {
            BeforeInitialize(inputShapes);
            if (shapesBefore is null || !Enumerable.SequenceEqual(shapesBefore, inputShapes))
            {
                CallPrepare(inputShapes, shapesBefore);
            }
            foreach (Pair<string, Parameter> parameter in parameters)
            {
                parameter.Value.Initialize(manager, dataType);
            }
            InitializeChildBlocks(manager, dataType, inputShapes);
            this.inputShapes = (Shape?[])inputShapes.Clone();
        }
        catch
        {
            before.Restore();
            throw;
        }
    }

    /// <inheritdoc/>
    /// <remarks>Throws <see cref="NotSupportedException"/> unless the subclass overrides it.</remarks>
    public override Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null) =>
        throw new NotSupportedException(
            $"{GetType().Name} does not override GetOutputShapes, which says what its output shapes are");

    /// <inheritdoc/>
    public sealed override void Cast(DataType dataType)
    {
        NativeBlock.CheckFloat(dataType);
        CheckNotDisposed();
        foreach (Pair<string, Parameter> parameter in Parameters)
        {
            if (!parameter.Value.IsInitialized)
            {
                throw parameter.Value.Uninitialized();
            }
        }
        foreach (Pair<string, Parameter> parameter in parameters)
        {
            parameter.Value.CastArray(dataType);
        }
        foreach (Pair<string, Block> child in Inside)
        {
            child.Value.Cast(dataType);
        }
    }

    /// <inheritdoc/>
    public sealed override void Clear()
    {
        CheckNotDisposed();
        foreach (Pair<string, Parameter> parameter in parameters)
        {
            parameter.Value.ReleaseArray();
        }
        foreach (Pair<string, Block> child in Inside)
        {
            child.Value.Clear();
        }
        inputShapes = null;
    }

    /// <summary>Writes all parameters to a .safetensors file, for other programs too, by the names of
    /// <see cref="Block.Parameters"/>: each array has the name of its parameter, as in "01W_q_weight". If writing fails, an
    /// existing file is unchanged.</summary>
    /// <param name="path">The file.</param>
    /// <exception cref="ArgumentException">The path is empty.</exception>
    /// <exception cref="InvalidOperationException">A parameter has no values.</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: the file cannot be written.</exception>
    public void Save(string path)
    {
        CheckNotDisposed();
        ComposedFile.Save(this, path);
    }

    /// <summary>Reads all parameters from a .safetensors file that <see cref="Save"/> of this block, or of one that was made
    /// alike, has written in C# or Java; heed's own blocks inside get theirs as by LoadParameters. The input shapes stay. A
    /// call that fails changes nothing.</summary>
    /// <param name="manager">The owner of the parameters.</param>
    /// <param name="path">The file.</param>
    /// <param name="stop">Stops the call, between two arrays of the file.</param>
    /// <exception cref="ArgumentException">A parameter has another shape, or the file has an array that is no parameter of
    /// the block.</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: the file cannot be read;
    /// <see cref="Status.CorruptFile"/>: the file does not follow its format; <see cref="Status.NotFound"/>: a parameter is
    /// missing.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(NDManager manager, string path, CancellationToken stop = default)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        CheckNotDisposed();
        StoppableCall.With(stop, () => ComposedFile.Load(this, manager, path));
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        disposed = true;
        foreach (Pair<string, Block> child in Inside)
        {
            child.Value.Dispose();
        }
        foreach (Pair<string, Parameter> parameter in parameters)
        {
            parameter.Value.ReleaseArray();
        }
    }

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => $"{GetType().Name}({string.Join(", ", Inside)})";

    internal sealed override void RememberState(List<Action> undo, List<IDisposable> snapshots)
    {
        Shape?[]? shapes = inputShapes;
        undo.Add(() => inputShapes = shapes);
        undo.AddRange(parameters.Values.Select(parameter => parameter.Undo()));
        foreach (Pair<string, Block> child in Inside)
        {
            child.Value.RememberState(undo, snapshots);
        }
    }

    internal sealed override void SetSeeds(ref long seed)
    {
        foreach (Pair<string, Block> child in Inside)
        {
            child.Value.SetSeeds(ref seed);
        }
    }

    internal sealed override void CheckNotDisposed()
    {
        if (disposed)
        {
            throw Errors.ClosedLayer();
        }
    }

    internal void SetInputShapes(Shape?[]? shapes) => inputShapes = shapes;

    /// <summary>Computes the outputs.</summary>
    /// <param name="parameterStore">Passed on to the child blocks.</param>
    /// <param name="inputs">The inputs that were passed to Forward.</param>
    /// <param name="training">Whether dropout is active.</param>
    /// <param name="parameters">The further arguments that were passed to Forward; may be null.</param>
    /// <returns>The outputs.</returns>
    protected abstract NDList ForwardInternal(
        ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters);

    /// <summary>Initializes the child blocks. A subclass that has child blocks must override it.</summary>
    /// <param name="manager">The owner of the parameters.</param>
    /// <param name="dataType">Their type.</param>
    /// <param name="inputShapes">The shapes of the inputs of this block; null for an input that is left out.</param>
    /// <exception cref="InvalidOperationException">There are child blocks, and the subclass does not override this
    /// method.</exception>
    protected virtual void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        if (!children.IsEmpty)
        {
            throw new InvalidOperationException(
                $"{GetType().Name} has blocks inside, but does not override InitializeChildBlocks, "
                + "which initializes them");
        }
    }

    /// <summary>Called with the input shapes before anything is initialized. A subclass that checks or keeps them
    /// overrides it.</summary>
    /// <param name="inputShapes">The shapes of the inputs; null for an input that is left out.</param>
    protected virtual void BeforeInitialize(params Shape?[] inputShapes)
    {
    }

    /// <summary>Sets the shapes of the block's own parameters, by <see cref="Parameter.SetShape"/>. A subclass whose
    /// parameters' shapes depend on the input shapes overrides it. It is also called with other shapes on an
    /// initialized block, to check whether the parameters fit: SetShape throws if they do not.</summary>
    /// <param name="inputShapes">The shapes of the inputs; null for an input that is left out.</param>
    protected virtual void Prepare(Shape?[] inputShapes)
    {
    }

    /// <summary>Adds a child block.</summary>
    /// <typeparam name="TBlock">The class of the block.</typeparam>
    /// <param name="name">The name of the block; in the list of children the block's number is put before it, as in
    /// "01name".</param>
    /// <param name="block">The block.</param>
    /// <returns>The block.</returns>
    /// <exception cref="ArgumentException">The block is this block or contains it.</exception>
    protected TBlock AddChildBlock<TBlock>(string name, TBlock block)
        where TBlock : Block
    {
        _ = name ?? throw new ArgumentNullException(nameof(name));
        _ = block ?? throw new ArgumentNullException(nameof(block));
        if (IsInside(block))
        {
            throw new ArgumentException("block is, or has inside, the block that it is added to", nameof(block));
        }
        children.Add((children.Count + 1).ToString("00", CultureInfo.InvariantCulture) + name, block);
        return block;
    }

    /// <summary>Adds a parameter of this block itself, which <see cref="Initialize(NDManager, DataType, Shape?[])"/> initializes.</summary>
    /// <typeparam name="TParameter">The class of the parameter.</typeparam>
    /// <param name="parameter">The parameter.</param>
    /// <returns>The parameter.</returns>
    /// <exception cref="ArgumentException">The block already has a parameter of that name.</exception>
    protected TParameter AddParameter<TParameter>(TParameter parameter)
        where TParameter : Parameter
    {
        _ = parameter ?? throw new ArgumentNullException(nameof(parameter));
        if (parameters.Contains(parameter.Name))
        {
            throw new ArgumentException($"the block has a parameter {parameter.Name} already", nameof(parameter));
        }
        parameters.Add(parameter.Name, parameter);
        return parameter;
    }

    /// <summary>Calls Prepare. SetShape refuses a shape that does not fit a parameter with values: then the exception
    /// says that the input shapes are wrong.</summary>
    private void CallPrepare(Shape?[] wanted, Shape?[]? shapesBefore)
    {
        try
        {
            Prepare(wanted);
        }
        catch (InvalidOperationException error)
            when (error is not ObjectDisposedException && parameters.Values.Any(each => each.IsInitialized))
        {
            string had = shapesBefore is null ? "" : $", and the block was initialized for {ListOf(shapesBefore)}";
            throw new ArgumentException(
                $"inputShapes are {ListOf(wanted)}{had}: {error.Message}", nameof(inputShapes), error);
        }
    }

    private static string ListOf(IEnumerable<Shape?> shapes) =>
        "[" + string.Join(", ", shapes.Select(shape => shape?.ToString() ?? "null")) + "]";

    /// <summary>Whether this block is that block or contains it.</summary>
    private bool IsInside(Block block)
    {
        var waiting = new Stack<Block>();
        waiting.Push(block);
        while (waiting.Count > 0)
        {
            Block next = waiting.Pop();
            if (ReferenceEquals(next, this))
            {
                return true;
            }
            if (next is AbstractBlock composed)
            {
                foreach (Pair<string, Block> child in composed.children)
                {
                    waiting.Push(child.Value);
                }
            }
        }
        return false;
    }
}
