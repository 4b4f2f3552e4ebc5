// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The inputs and outputs of one call of a layer, as C's structs. The structs come from a pool of the context and return
 * to it on {@link #close}, so that a call allocates nothing. Calls at the same time use different structs.
 */
final class LayerCall implements AutoCloseable {
    /** Tells the type of each input. */
    interface Types {
        DataType of(int index);
    }

    private final boolean isPooled;
    /** True while a call that took this object from the pool uses it. */
    private final AtomicBoolean isInUse = new AtomicBoolean(true);

    private final NativeLayerInputs inputs = new NativeLayerInputs();
    private final NativeSequenceInputs sequences = new NativeSequenceInputs();
    private final NativeDecoderInputs decoder = new NativeDecoderInputs();
    private final NativeLayerOutputs outputs = new NativeLayerOutputs();
    private final TensorMembers read = new TensorMembers()
            .add(inputs, AttentionInputs.SETTERS)
            .add(sequences, AttentionInputs.SEQUENCE_SETTERS)
            .add(decoder, AttentionInputs.DECODER_SETTERS);
    private final CacheMembers cache = new CacheMembers(inputs, inputs::setCache);
    private final CacheMembers memoryCache = new CacheMembers(decoder, decoder::setMemoryCache);
    private final TensorMembers written = new TensorMembers().add(outputs, AttentionOutputs.SETTERS);
    private final TapMembers taps = new TapMembers(outputs);
    private final TensorMembers saved = new TensorMembers().add(outputs, List.of(NativeLayerOutputs::setSaved));
    private final ByteBuffer inputBytes = inputs.bytes();
    private final int seedOffset = inputs.offsetOf(inputs::setDropoutSeed);
    private final int lastRowsOffset = inputs.offsetOf(inputs::setNumLastRows);
    /** The value of the member `training` of {@link #inputs}. */
    private boolean training;

    private LayerCall(boolean isPooled) {
        this.isPooled = isPooled;
        // Without any of their members they mean the same as NULL.
        inputs.setSequences(NativeStruct.pointerOf(sequences));
        inputs.setDecoder(NativeStruct.pointerOf(decoder));
        inputs.setProgress(StoppedCalls.OF_FORWARD);
    }

    static LayerCall in(NativeContext context) {
        return context.calls.take();
    }

    // ---- inputs and outputs -----------------------------------------------------------------------------------------

    LayerCall read(AttentionInputs given) {
        given.fill(read, cache, memoryCache);
        inputBytes.putLong(lastRowsOffset, given.getNumLastRows());
        return this;
    }

    /** Sets the inputs to the arrays of a list, in its order. */
    LayerCall read(NDArray[] list) {
        for (int i = 0; i < read.size(); i++) {
            read.set(i, i < list.length ? NDArray.tensorOf(list[i], AttentionInputs.nameOf(i)) : null);
        }
        clearOthers();
        return this;
    }

    LayerCall read(NDArray[] list, long numLastRows) {
        read(list);
        inputBytes.putLong(lastRowsOffset, numLastRows);
        return this;
    }

    private void clearOthers() {
        cache.clear();
        memoryCache.clear();
        inputBytes.putLong(lastRowsOffset, 0);
    }

    /** Sets inputs that have shapes only. A null shape, or a missing one, is no input. */
    LayerCall read(NativeContext context, Shape[] shapes, Types types) {
        read.clear();
        clearOthers();
        for (int i = 0; i < shapes.length; i++) {
            if (shapes[i] != null) {
                // It is closed at once, but destroyed only when this call has ended its use of it.
                try (NativeTensor tensor = NativeTensor.wrap(context, types.of(i).code, shapes[i].dims(), null)) {
                    read.set(i, tensor);
                }
            }
        }
        return this;
    }

    LayerCall write(AttentionOutputs given) {
        given.fill(written);
        taps.set(given.getTaps());
        return this;
    }

    /** Sets the outputs; both may be null. */
    LayerCall write(NativeTensor output, NativeTensor weights) {
        written.clear();
        written.set(Wanted.OUTPUT.ordinal(), output);
        written.set(Wanted.WEIGHTS.ordinal(), weights);
        taps.clear();
        return this;
    }

    /** Sets the taps, after the outputs; null: none. */
    LayerCall write(Taps given) {
        taps.set(given);
        return this;
    }

    /** Sets what the call keeps for a backward, or has kept, after the outputs; null: nothing. */
    LayerCall save(NativeSaved kept) {
        saved.set(0, kept);
        return this;
    }

    /** Sets whether dropout is active, and its seed. Required for all calls that do more than read shapes and types. */
    LayerCall dropout(boolean isActive, long seed) {
        if (training != isActive) {
            inputs.setTraining(isActive ? 1 : 0);
            training = isActive;
        }
        inputBytes.putLong(seedOffset, seed);
        return this;
    }

    // ---- calls ------------------------------------------------------------------------------------------------------

    void initialize(NativeLayer layer, long seed) {
        layer.initialize(inputs, seed);
    }

    /** Makes a new tensor for an output. This replaces the outputs of this call. */
    NativeTensor createOutput(NativeLayer layer, Wanted wanted) {
        written.clear();
        taps.clear();
        layer.createOutputs(inputs, wanted.bit, outputs);
        return NativeTensor.counted(written.get(wanted.ordinal()));
    }

    /** Makes a new tensor for the weights or the log-sum-exp of a child. */
    NativeTensor createTap(NativeLayer layer, String child, Wanted wanted) {
        try (NativeLayerTap tap = new NativeLayerTap()) {
            layer.createTap(inputs, NativeText.of(child, "child"), wanted.bit, tap);
            return NativeTensor.counted(wanted == Wanted.WEIGHTS ? tap.getWeights() : tap.getLogSumExp());
        }
    }

    long workspaceSize(NativeLayer layer) {
        return layer.workspaceSize(inputs, outputs);
    }

    void forward(NativeLayer layer, NativeWorkspace workspace) {
        StoppedCalls.check();
        layer.forward(inputs, workspace, outputs);
    }

    /** The number of bytes that a forward with these inputs saves. */
    long savedSize(NativeLayer layer) {
        return layer.savedSize(inputs);
    }

    NativeSaved newSaved(NativeContext context, long numBytes) {
        NativeSaved made = NativeSaved.create(context, numBytes);
        made.count(numBytes);
        return made;
    }

    /**
     * Adds gradients to those of inputs and parameters.
     *
     * @param parts the gradients of the inputs, by their index; null: not wanted
     * @param members the index of the member of each input
     * @param parameters null: not wanted
     */
    void backward(NativeLayer layer, NDArray output, NDArray[] parts, int[] members, NativeGradients parameters) {
        StoppedCalls.check();
        try (GradientMembers gradients = new GradientMembers()) {
            gradients.setOutput(output);
            for (int i = 0; i < parts.length; i++) {
                if (parts[i] != null) {
                    gradients.setInput(members[i], parts[i]);
                }
            }
            gradients.setParameters(parameters);
            layer.backward(inputs, outputs, null, gradients.struct);
        }
    }

    void fillCache(NativeLayer layer, NativeWorkspace workspace) {
        StoppedCalls.check();
        layer.fillCache(inputs, workspace);
    }

    void scaledDotProductAttention(NativeContext context, NativeDotProductAttentionOptions options) {
        StoppedCalls.check();
        HeedNative.heed_scaled_dot_product_attention(context, options, inputs, outputs);
    }

    String explain(NativeLayer layer) {
        return NativeText.from((text, capacity) -> layer.explain(inputs, outputs, text, capacity));
    }

    /** Ends the use of the tensors and of the caches, and returns this object to the pool. */
    @Override
    public void close() {
        read.release();
        written.release();
        saved.set(0, null);
        taps.release();
        cache.release();
        memoryCache.release();
        if (isPooled) {
            isInUse.setRelease(false);
        } else {
            free();
        }
    }

    private void free() {
        inputs.close();
        sequences.close();
        decoder.close();
        cache.free();
        memoryCache.free();
        outputs.close();
    }

    /**
     * The structs of the calls in one context. Each thread begins its search at a different slot, and takes no lock. An
     * object stays in its slot, and is used by one call at a time.
     */
    static final class Pool {
        private static final int SLOT_BITS = 6;
        static final int SLOTS = 1 << SLOT_BITS;

        private final AtomicReferenceArray<LayerCall> slots = new AtomicReferenceArray<>(SLOTS);

        private LayerCall take() {
            int first = firstSlot();
            for (int i = 0; i < SLOTS; i++) {
                int slot = (first + i) % SLOTS;
                LayerCall call = slots.get(slot);
                if (call == null) {
                    call = new LayerCall(true);
                    if (slots.compareAndSet(slot, null, call)) {
                        return call;
                    }
                    call.free();
                } else if (call.isInUse.compareAndSet(false, true)) {
                    return call;
                }
            }
            return new LayerCall(false);
        }

        /** Multiplicative hashing: threads that were made one after the other get slots that are far apart. */
        static int firstSlot() {
            return (int) (Thread.currentThread().getId() * 0x9E3779B97F4A7C15L >>> (64 - SLOT_BITS));
        }
    }
}
