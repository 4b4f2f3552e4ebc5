// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Threading;

namespace Heed;

/// <content>The calls that compute, and their inputs.</content>
public abstract unsafe partial class NativeBlock
{
    /// <summary>The inputs of the Forward that takes a list.</summary>
    private ListInputs ListInputs => Composition.Inputs;

    /// <inheritdoc/>
    public sealed override NDList Forward(
        ParameterStore parameterStore, NDList inputs, bool training = false,
        PairList<string, object>? parameters = null)
    {
        return Computed(parameterStore, inputs, null, training);
    }

    /// <summary>Computes the outputs, and the attention weights and log-sum-exps of attentions inside the
    /// block.</summary>
    /// <param name="parameterStore">Not read: the block has its parameters.</param>
    /// <param name="inputs">The inputs, as those of <see cref="Forward(ParameterStore, NDList, bool,
    /// PairList{string, object}?)"/>.</param>
    /// <param name="taps">Which children's; gets new arrays, which belong to the manager of the first input. If the call
    /// fails, they are as they were.</param>
    /// <param name="training">Whether dropout is active.</param>
    /// <param name="stop">Stops the call.</param>
    /// <returns>A list of one new array, which belongs to the manager of the first input.</returns>
    /// <exception cref="ArgumentException">The list does not have the block's number of arrays, sizes, types or lengths
    /// do not fit, or a child of the taps is no attention, or such a call does not run it.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    /// <exception cref="HeedException">With <see cref="Status.NotFound"/>: there is no child of that name; the sentence
    /// has the names.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public NDList Forward(
        ParameterStore parameterStore, NDList inputs, Taps taps, bool training = false,
        CancellationToken stop = default)
    {
        _ = taps ?? throw new ArgumentNullException(nameof(taps));
        return StoppableCall.With(stop, () => Computed(parameterStore, inputs, taps, training));
    }

    /// <summary>Computes into existing arrays: without taps .NET allocates nothing, and with a workspace heed allocates
    /// nothing either. The attention weights are not kept, but are written to <see cref="AttentionOutputs.Weights"/>.
    /// </summary>
    /// <param name="inputs">The inputs.</param>
    /// <param name="outputs">The outputs: at least one array.</param>
    /// <param name="workspace">Memory of <see cref="WorkspaceSize"/> bytes, which no other call uses at the same time;
    /// null: heed keeps its own.</param>
    /// <param name="stop">Stops the call, whose outputs are undefined then; a cache is as it was.</param>
    /// <exception cref="ArgumentException">Sizes, types or lengths do not fit, no output is set, an output shares
    /// memory with another array, or the cache is of another device, of other sizes, or has rows with other rotary
    /// positions.</exception>
    /// <exception cref="CacheFullException">The cache has no room for the rows; it is as it was.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized, or the workspace or the cache is in
    /// use.</exception>
    /// <exception cref="NotSupportedException">There is a cache, and this kind of block takes none, or the inputs are
    /// for training.</exception>
    /// <exception cref="HeedException">With <see cref="Status.WorkspaceTooSmall"/>: the workspace is too small; the
    /// sentence names both sizes.</exception>
    /// <exception cref="ObjectDisposedException">An array, the workspace, the cache or the block is
    /// disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Forward(
        AttentionInputs inputs, AttentionOutputs outputs, Workspace? workspace = null, CancellationToken stop = default)
    {
        if (stop.CanBeCanceled)
        {
            ForwardUntil(stop, inputs, outputs, workspace);
            return;
        }
        if (Tape.AnyOpen)
        {
            RefuseUnderTape("Forward", inputs ?? throw new ArgumentNullException(nameof(inputs)), isInto: true);
            foreach (Wanted each in new[] { Wanted.Output, Wanted.Weights, Wanted.LogSumExp })
            {
                Tape.RefuseInto("Forward", (outputs ?? throw new ArgumentNullException(nameof(outputs)))[each]);
            }
        }
        Compute(inputs, outputs, workspace, null);
    }

    /// <summary>Computes into arrays, which are new ones if a tape records the call.</summary>
    private void Compute(AttentionInputs inputs, AttentionOutputs outputs, Workspace? workspace, Tape? tape)
    {
        using LayerCall call = LayerCall.Begin();
        NDArray first = Read(call, inputs);
        Write(call, outputs);
        NativeWorkspace? scratch = workspace?.Native;
        bool training = inputs.Training;
        BindTo(first);
        gate.EnterReadLock();
        BlockNode? node = null;
        try
        {
            long seed = training ? inputs.DropoutSeed ?? NextSeed() : 0;
            NativeLayer open = Current;
            call.Dropout(training, seed);
            node = tape is null ? null : Began(
                tape, call, open, inputs.Arrays, training, seed, inputs.NumLastRows, isSaved: true);
            call.Forward(open, scratch);
            if (node is null)
            {
                outputs.CountWrites();
                return;
            }
            tape!.Record(outputs.Output!, node);
        }
        catch
        {
            node?.Drop();
            throw;
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Computes the output alone, as a new array: for a model and what a tokenizer gives,
    /// <c>Forward(new AttentionInputs(ids) { AttentionMask = mask, TokenTypes = types })</c>.</summary>
    /// <param name="inputs">The arrays to read.</param>
    /// <param name="stop">Ends the call when it is cancelled; a cache is as it was.</param>
    /// <returns>The output, which belongs to the manager of the queries or, if they are null, of the keys or the
    /// memory.</returns>
    /// <exception cref="ArgumentException">The inputs do not fit each other or the block.</exception>
    /// <exception cref="CacheFullException">The cache has no room for the rows.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized, or the cache is in use.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager, the cache or the block is disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public NDArray Forward(AttentionInputs inputs, CancellationToken stop = default)
    {
        AttentionOutputs outputs = CreateOutputs(inputs);
        try
        {
            if (Tape.AnyOpen && TapeOf(inputs.Arrays) is { } tape)
            {
                if (inputs.Cache != null || inputs.MemoryCache != null)
                {
                    throw Tape.WithoutGradient("Forward with a cache");
                }
                StoppableCall.With(stop, () => Compute(inputs, outputs, null, tape));
            }
            else
            {
                Forward(inputs, outputs, null, stop);
            }
            return outputs.Output!;
        }
        catch
        {
            outputs.Dispose();
            throw;
        }
    }

    /// <summary>Makes arrays of the right shapes for <see cref="Forward(AttentionInputs, AttentionOutputs,
    /// Workspace?, CancellationToken)"/>: output and weights of the inputs' type, LogSumExp of Float32.</summary>
    /// <param name="inputs">The inputs, of which only shapes and types are read.</param>
    /// <param name="wanted">The outputs to make.</param>
    /// <returns>Outputs of new arrays, which belong to the manager of the queries or, if they are null, of the keys or
    /// the memory; null for outputs that are not wanted.</returns>
    /// <exception cref="ArgumentException">The inputs do not fit each other or the block, the block has no such output,
    /// or no output is wanted.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    public AttentionOutputs CreateOutputs(AttentionInputs inputs, Wanted wanted = Wanted.Output)
    {
        using LayerCall call = LayerCall.Begin();
        NDArray first = Read(call, inputs);
        if (wanted == 0 || (int)wanted >> AttentionOutputs.Members.Length != 0)
        {
            throw new ArgumentOutOfRangeException(nameof(wanted), wanted, "expected one output or more");
        }
        NDManager manager = first.Manager;
        BindTo(first);
        var made = new AttentionOutputs();
        call.Dropout(inputs.Training, 0);
        gate.EnterReadLock();
        try
        {
            for (int index = 0; index < AttentionOutputs.Members.Length; index++)
            {
                Wanted one = wanted & (Wanted)(1 << index);
                if (one != 0)
                {
                    made[one] = manager.Adopt(call.CreateOutput(Current, one));
                }
            }
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

    private void MakeTaps(AttentionInputs inputs, Taps taps)
    {
        using LayerCall call = LayerCall.Begin();
        NDArray first = Read(call, inputs);
        _ = taps ?? throw new ArgumentNullException(nameof(taps));
        NDManager manager = first.Manager;
        BindTo(first);
        call.Dropout(inputs.Training, 0);
        gate.EnterReadLock();
        try
        {
            taps.Take(taps.Made(call, Current, manager));
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    private long WorkspaceBytes(AttentionInputs inputs, AttentionOutputs outputs)
    {
        using LayerCall call = LayerCall.Begin();
        NDArray first = Read(call, inputs, mayFill: true);
        Write(call, outputs);
        BindTo(first);
        gate.EnterReadLock();
        try
        {
            return call.Dropout(false, 0).WorkspaceSize(Current);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    private string Explained(AttentionInputs inputs, AttentionOutputs outputs)
    {
        using LayerCall call = LayerCall.Begin();
        NDArray first = Read(call, inputs);
        Write(call, outputs);
        BindTo(first);
        gate.EnterReadLock();
        try
        {
            return call.Dropout(inputs.Training, 0).Explain(Current);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    private string Explained(NDList inputs, bool training)
    {
        NativeTensor?[] given = Given(inputs);
        BindTo(inputs[0]);
        bool keep = kept is { On: true };
        using LayerCall call = LayerCall.Begin();
        gate.EnterReadLock();
        try
        {
            NativeLayer open = Current;
            call.Dropout(training, 0).Read(given);
            using NativeTensor output = call.CreateOutput(open, Wanted.Output);
            using NativeTensor? weights = keep ? call.CreateOutput(open, Wanted.Weights) : null;
            return call.Write(output, weights).Explain(open);
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
        Shape?[] shapes = ListInputs.Placed(inputShapes, nameof(inputShapes), "shape");
        if (dataTypes != null && dataTypes.Length != inputShapes.Length)
        {
            throw new ArgumentException(
                $"dataTypes has {dataTypes.Length} types, expected {inputShapes.Length}, one for each shape",
                nameof(dataTypes));
        }
        gate.EnterReadLock();
        try
        {
            DataType first = dataTypes is null ? TypeOfParameters(whole.layer) : default;
            using LayerCall call = LayerCall.Begin();
            call.Read(
                OpenLayerContext().Context,
                shapes,
                index => dataTypes?[ListInputs.IndexAt(index)] ?? ListInputs.TypeOf(index, first));
            using NativeTensor output = call.CreateOutput(Current, Wanted.Output);
            return new[] { output.ShapeOf() };
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Appends the keys and values of a call to its cache: FillCache of the blocks that have keys and
    /// values.</summary>
    private protected void AppendToCache(AttentionInputs inputs, Workspace? workspace, CancellationToken stop)
    {
        if (stop.CanBeCanceled)
        {
            AppendUntil(stop, inputs, workspace);
            return;
        }
        _ = inputs ?? throw new ArgumentNullException(nameof(inputs));
        NDArray rows = inputs.Keys ?? inputs.Queries ?? inputs.Memory
            ?? throw new ArgumentException("inputs have neither Keys nor Queries", nameof(inputs));
        if (Tape.AnyOpen)
        {
            RefuseUnderTape("FillCache", inputs, isInto: false);
        }
        using LayerCall call = LayerCall.Begin();
        call.Read(inputs);
        NativeWorkspace? scratch = workspace?.Native;
        BindTo(rows);
        gate.EnterReadLock();
        try
        {
            call.Dropout(inputs.Training, 0).FillCache(Current, scratch);
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Sets the sizes of a cache for this block, and returns its LayerCapacities.</summary>
    internal long[]? SetSizes(NativeCacheOptions options)
    {
        gate.EnterReadLock();
        try
        {
            Current.CacheOptions(options);
            // They are in the layer's memory.
            long* capacities = options.LayerCapacities;
            return capacities == null ? null : new ReadOnlySpan<long>(capacities, (int)options.NumLayers).ToArray();
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Returns the tensor of the weights of a Forward that is kept; the argument is not used
    /// afterwards.</summary>
    private protected virtual NativeTensor ToKeep(NativeTensor weights) => weights;

    /// <summary>Apart from the call without a token, which allocates nothing.</summary>
    private void ForwardUntil(
        CancellationToken stop, AttentionInputs inputs, AttentionOutputs outputs, Workspace? workspace) =>
        StoppableCall.With(stop, () => Forward(inputs, outputs, workspace));

    private void AppendUntil(CancellationToken stop, AttentionInputs inputs, Workspace? workspace) =>
        StoppableCall.With(stop, () => AppendToCache(inputs, workspace, CancellationToken.None));

    /// <summary>Forward with a list; taps may be null.</summary>
    private NDList Computed(ParameterStore parameterStore, NDList inputs, Taps? taps, bool training)
    {
        _ = parameterStore ?? throw new ArgumentNullException(nameof(parameterStore));
        NativeTensor?[] given = Given(inputs);
        NDManager manager = inputs[0].Manager;
        BindTo(inputs[0]);
        bool keep = kept is { On: true };
        NDArray?[] placed = Tape.AnyOpen ? ListInputs.Placed(inputs, nameof(inputs), "array") : Array.Empty<NDArray?>();
        Tape? tape = Tape.AnyOpen ? TapeOf(placed) : null;
        BlockNode? node = null;
        NativeTensor? output = null;
        NativeTensor? weights = null;
        Taps? tapped = null;
        using LayerCall call = LayerCall.Begin();
        gate.EnterReadLock();
        try
        {
            NativeLayer open = Current;
            call.Read(given);
            output = call.CreateOutput(open, Wanted.Output);
            weights = keep ? call.CreateOutput(open, Wanted.Weights) : null;
            tapped = taps?.Made(call, open, manager);
            long seed = training ? NextSeed() : 0;
            call.Dropout(training, seed);
            // Taps are not computed beside what is saved.
            node = tape is null ? null : Began(tape, call, open, placed, training, seed, 0, isSaved: tapped is null);
            call.Write(output, weights).Write(tapped).Forward(open, null);
            NDArray result = manager.Adopt(output);
            NDArray? all = weights is null ? null : manager.Adopt(ToKeep(weights));
            kept?.Keep(all);
            if (tapped != null)
            {
                taps!.Take(tapped);
            }
            if (node != null)
            {
                tape!.Record(result, node);
                tape.RecordOutput(all, WeightsName);
                tapped?.ForEach((child, ofChild, logSumExp) =>
                {
                    tape.RecordOutput(ofChild, WeightsName);
                    tape.RecordOutput(logSumExp, "log-sum-exps");
                });
            }
            return new NDList(result);
        }
        catch
        {
            node?.Drop();
            output?.Dispose();
            weights?.Dispose();
            tapped?.Dispose();
            throw;
        }
        finally
        {
            gate.ExitReadLock();
        }
    }

    /// <summary>Sets the inputs of a call, and returns the queries; where they may be missing, the keys or the memory
    /// if there are no queries.</summary>
    private NDArray Read(LayerCall call, AttentionInputs inputs, bool mayFill = false)
    {
        _ = inputs ?? throw new ArgumentNullException(nameof(inputs));
        bool mayLackQueries = Composition.Kind == "transformer" || (mayFill && inputs.Cache != null);
        NDArray first = inputs.Queries ?? (mayLackQueries ? inputs.Keys ?? inputs.Memory : null)
            ?? throw new ArgumentException("inputs have no Queries", nameof(inputs));
        call.Read(inputs);
        return first;
    }

    private static void Write(LayerCall call, AttentionOutputs outputs) =>
        call.Write(outputs ?? throw new ArgumentNullException(nameof(outputs)));

    /// <summary>Returns the tensors of a list of inputs, in the order of a call's inputs. Throws if one is
    /// disposed.</summary>
    private NativeTensor?[] Given(NDList inputs)
    {
        _ = inputs ?? throw new ArgumentNullException(nameof(inputs));
        NDArray?[] placed = ListInputs.Placed(inputs, nameof(inputs), "array");
        var tensors = new NativeTensor?[placed.Length];
        for (int index = 0; index < tensors.Length; index++)
        {
            tensors[index] = placed[index] is { } array ? NDArray.TensorOf(array, ListInputs.NameAt(index)) : null;
        }
        return tensors;
    }

    /// <summary>Throws unless inputs of these shapes fit the layer, whose parameters are set, and the type is the
    /// layer's.</summary>
    private void CheckFits(LayerCall call, DataType dataType)
    {
        gate.EnterReadLock();
        try
        {
            call.CreateOutput(Current, ListInputs.Smallest).Dispose();
            foreach (NativeParameter parameter in parameters)
            {
                using NativeTensor form = whole.layer.ParameterShape(parameter);
                var found = (DataType)form.Dtype();
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
}
