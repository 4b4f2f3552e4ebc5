// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The inputs and outputs of one call of any layer, as C's structs. Each thread keeps its structs from call to
/// call, so that a call allocates nothing. Used by one thread at a time.</summary>
internal sealed unsafe class LayerCall : IDisposable
{
    private static readonly TensorMember<NativeLayerOutputs>[] SavedMembers =
    {
        new(nameof(NativeLayerOutputs.Saved), (outputs, saved) => outputs.Saved = saved),
    };

    /// <summary>The object of this thread, for its next call. Null before the first call, and during a call.</summary>
    [ThreadStatic]
    private static LayerCall? free;

    private readonly NativeLayerInputs nativeInputs = new NativeLayerInputs();
    private readonly NativeSequenceInputs nativeSequences = new NativeSequenceInputs();
    private readonly NativeDecoderInputs nativeDecoder = new NativeDecoderInputs();
    private readonly NativeLayerOutputs nativeOutputs = new NativeLayerOutputs();
    private readonly TensorMembers inputs;
    private readonly TensorMembers outputs;
    private readonly CacheMembers cache;
    private readonly CacheMembers memoryCache;
    private readonly TapMembers taps;
    private readonly long* seed;
    private readonly long* lastRows;

    /// <summary>For calls of training; null before the first one.</summary>
    private TensorMembers? saved;
    private BackwardCall? backward;

    /// <summary>The value of the member Training of the native inputs.</summary>
    private bool training;

    private LayerCall()
    {
        // Without any of their members they mean the same as null.
        nativeInputs.Sequences = NativeStruct.PointerOf(nativeSequences);
        nativeInputs.Decoder = NativeStruct.PointerOf(nativeDecoder);
        inputs = new TensorMembers()
            .Add(nativeInputs, AttentionInputs.Members)
            .Add(nativeSequences, AttentionInputs.SequenceMembers)
            .Add(nativeDecoder, AttentionInputs.DecoderMembers);
        outputs = new TensorMembers().Add(nativeOutputs, AttentionOutputs.Members);
        cache = new CacheMembers(nativeInputs.AddressOf(value => nativeInputs.Cache = new IntPtr(value)));
        memoryCache = new CacheMembers(nativeDecoder.AddressOf(value => nativeDecoder.MemoryCache = new IntPtr(value)));
        taps = new TapMembers(nativeOutputs);
        seed = nativeInputs.AddressOf(value => nativeInputs.DropoutSeed = value);
        lastRows = nativeInputs.AddressOf(value => nativeInputs.NumLastRows = value);
    }

    /// <summary>Begins a call. A call inside another one on the same thread gets structs of its own. That happens if
    /// the program's code for freeing memory calls a block.</summary>
    internal static LayerCall Begin()
    {
        LayerCall call = free ?? new LayerCall();
        free = null;
        return call;
    }

    /// <summary>Ends the call and its use of the tensors and of the caches.</summary>
    public void Dispose()
    {
        inputs.Release();
        outputs.Release();
        taps.Release();
        cache.Release();
        memoryCache.Release();
        // Other calls do not set it.
        saved?.SetObject(0, null);
        backward?.Release();
        free = this;
    }

    internal LayerCall Read(AttentionInputs given)
    {
        given.Fill(inputs, cache, memoryCache);
        *lastRows = given.NumLastRows;
        return this;
    }

    /// <summary>Sets the inputs to the arrays of a list, in its order. Inputs at the end may be missing, and any may be
    /// null.</summary>
    internal LayerCall Read(params NativeTensor?[] list)
    {
        for (int index = 0; index < inputs.Count; index++)
        {
            inputs.Set(index, index < list.Length ? list[index] : null);
        }
        ClearOthers();
        return this;
    }

    /// <summary>Sets the number of last rows, after the inputs.</summary>
    internal LayerCall LastRows(long count)
    {
        *lastRows = count;
        return this;
    }

    private void ClearOthers()
    {
        cache.Clear();
        memoryCache.Clear();
        *lastRows = 0;
    }

    /// <summary>Sets inputs that have shapes only. A null shape is no input.</summary>
    internal LayerCall Read(NativeContext context, Shape?[] shapes, Func<int, DataType> typeOf)
    {
        inputs.Clear();
        ClearOthers();
        for (int index = 0; index < shapes.Length; index++)
        {
            if (shapes[index] is { } shape)
            {
                fixed (long* dims = shape.Dims)
                {
                    // It is disposed at once, but destroyed only when this call has ended its use of it.
                    using NativeTensor tensor =
                        NativeTensor.Wrap(context, (int)typeOf(index), shape.Dimension, dims, null);
                    inputs.Set(index, tensor);
                }
            }
        }
        return this;
    }

    /// <summary>Sets whether dropout is active, and its seed. Required for all calls that do more than read shapes and
    /// types.</summary>
    internal LayerCall Dropout(bool isActive, long dropoutSeed)
    {
        if (training != isActive)
        {
            nativeInputs.Training = isActive ? 1 : 0;
            training = isActive;
        }
        *seed = dropoutSeed;
        return this;
    }

    internal LayerCall Write(AttentionOutputs given)
    {
        given.Fill(outputs);
        taps.Set(given.Taps);
        return this;
    }

    internal LayerCall Write(NativeTensor output, NativeTensor? weights)
    {
        outputs.Clear();
        outputs.Set(AttentionOutputs.IndexOf(Wanted.Output), output);
        outputs.Set(AttentionOutputs.IndexOf(Wanted.Weights), weights);
        taps.Clear();
        return this;
    }

    /// <summary>Sets the taps, after the outputs; null: none.</summary>
    internal LayerCall Write(Taps? given)
    {
        taps.Set(given);
        return this;
    }

    internal void Initialize(NativeLayer layer, long seed) =>
        RunUntil(StoppableCall.Current, () => layer.Initialize(nativeInputs, seed));

    /// <summary>Makes a new tensor for an output. This replaces the outputs of this call.</summary>
    internal NativeTensor CreateOutput(NativeLayer layer, Wanted wanted)
    {
        int index = AttentionOutputs.IndexOf(wanted);
        outputs.Clear();
        taps.Clear();
        layer.CreateOutputs(nativeInputs, (int)wanted, nativeOutputs);
        return new NativeTensor(outputs.Get(index));
    }

    /// <summary>Makes a new tensor for the weights or the log-sum-exp of a child.</summary>
    internal NativeTensor CreateTap(NativeLayer layer, string child, Wanted wanted)
    {
        using var tap = new NativeLayerTap();
        fixed (byte* name = NativeText.ToNative(child, nameof(child)))
        {
            layer.CreateTap(nativeInputs, name, (int)wanted, tap);
        }
        return new NativeTensor(wanted == Wanted.Weights ? tap.Weights : tap.LogSumExp);
    }

    /// <summary>Sets where the forward saves what its backward reads, or what a backward reads; null: nothing.</summary>
    internal LayerCall Saving(NativeSaved? given)
    {
        saved ??= new TensorMembers().Add(nativeOutputs, SavedMembers);
        saved.SetObject(0, given?.SafeHandle);
        return this;
    }

    /// <summary>The bytes that the forward saves.</summary>
    internal long SavedSize(NativeLayer layer) => layer.SavedSize(nativeInputs);

    /// <summary>Adds the gradients of a call with these inputs to arrays and to a set. This replaces the outputs of this
    /// call.</summary>
    /// <param name="layer">The layer of the forward.</param>
    /// <param name="given">What the forward has saved; null: nothing.</param>
    /// <param name="output">The gradient of the output.</param>
    /// <param name="ofInputs">The gradients of <see cref="BackwardCall.Inputs"/>; null where none is wanted.</param>
    /// <param name="ofParameters">Those of the parameters; null: none are wanted.</param>
    internal void Backward(
        NativeLayer layer, NativeSaved? given, NativeTensor output, NDArray?[] ofInputs, NativeGradients? ofParameters)
    {
        backward ??= new BackwardCall();
        backward.Set(output, ofInputs, ofParameters);
        outputs.Clear();
        taps.Clear();
        Saving(given);
        layer.Backward(nativeInputs, nativeOutputs, null, backward.Native);
    }

    internal long WorkspaceSize(NativeLayer layer) => layer.WorkspaceSize(nativeInputs, nativeOutputs);

    internal void Forward(NativeLayer layer, NativeWorkspace? workspace)
    {
        if (StoppableCall.Current is { } stoppable)
        {
            ForwardUntil(stoppable, layer, workspace);
            return;
        }
        layer.Forward(nativeInputs, workspace, nativeOutputs);
    }

    internal void FillCache(NativeLayer layer, NativeWorkspace? workspace)
    {
        if (StoppableCall.Current is { } stoppable)
        {
            FillUntil(stoppable, layer, workspace);
            return;
        }
        layer.FillCache(nativeInputs, workspace);
    }

    internal void ScaledDotProductAttention(NativeContext context, DotProductAttentionOptions options)
    {
        using var members = new NativeDotProductAttentionOptions();
        options.Fill(members);
        RunUntil(
            StoppableCall.Current,
            () => HeedNative.HeedScaledDotProductAttention(context, members, nativeInputs, nativeOutputs));
    }

    internal string Explain(NativeLayer layer) => NativeText.Of(
        (text, capacity) => layer.Explain(nativeInputs, nativeOutputs, text, capacity));

    /// <summary>Apart from the calls without a token, which allocate nothing.</summary>
    private void ForwardUntil(StoppableCall stoppable, NativeLayer layer, NativeWorkspace? workspace) =>
        RunUntil(stoppable, () => layer.Forward(nativeInputs, workspace, nativeOutputs));

    private void FillUntil(StoppableCall stoppable, NativeLayer layer, NativeWorkspace? workspace) =>
        RunUntil(stoppable, () => layer.FillCache(nativeInputs, workspace));

    private void RunUntil(StoppableCall? stoppable, Action call)
    {
        if (stoppable is null)
        {
            call();
            return;
        }
        stoppable.Run(progress =>
        {
            nativeInputs.Progress = progress;
            try
            {
                call();
            }
            finally
            {
                nativeInputs.Progress = IntPtr.Zero;
            }
        });
    }
}
