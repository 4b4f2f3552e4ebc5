// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The inputs and outputs of a call of a layer, as C's structs. The structs come from a pool of the context and go back
 * to it on {@link #close}, so that a call allocates nothing. Calls at the same time have different structs.
 */
final class LayerCall implements AutoCloseable {
    /** The type of each input. */
    interface Types {
        DataType of(int index);
    }

    private final boolean isPooled;
    /** By a call, which took it from the pool. */
    private final AtomicBoolean isInUse = new AtomicBoolean(true);

    private final NativeLayerInputs inputs = new NativeLayerInputs();
    private final NativeLayerOutputs outputs = new NativeLayerOutputs();
    private final TensorMembers read = new TensorMembers(inputs, AttentionInputs.SETTERS);
    private final TensorMembers written = new TensorMembers(outputs, AttentionOutputs.SETTERS);
    private final ByteBuffer inputBytes = inputs.bytes();
    private final int seedOffset = inputs.offsetOf(inputs::setDropoutSeed);
    /** What {@link #inputs} has. */
    private boolean training;

    private LayerCall(boolean isPooled) {
        this.isPooled = isPooled;
    }

    static LayerCall in(NativeContext context) {
        return context.calls.take();
    }

    // ---- inputs and outputs -----------------------------------------------------------------------------------------

    LayerCall read(AttentionInputs given) {
        given.fill(read);
        return this;
    }

    /** The arrays of a list of inputs, in its order. */
    LayerCall read(NDArray[] list) {
        for (int i = 0; i < read.size(); i++) {
            read.set(i, i < list.length ? NDArray.tensorOf(list[i], AttentionInputs.nameOf(i)) : null);
        }
        return this;
    }

    /** Inputs that have shapes only. A null shape, or none, is no input. */
    LayerCall read(NativeContext context, Shape[] shapes, Types types) {
        read.clear();
        for (int i = 0; i < shapes.length; i++) {
            if (shapes[i] != null) {
                // Closed at once, but destroyed only when this call no longer uses it.
                try (NativeTensor tensor = NativeTensor.wrap(context, types.of(i).code, shapes[i].dims(), null)) {
                    read.set(i, tensor);
                }
            }
        }
        return this;
    }

    LayerCall write(AttentionOutputs given) {
        given.fill(written);
        return this;
    }

    /** Either may be null. */
    LayerCall write(NativeTensor output, NativeTensor weights) {
        written.clear();
        written.set(Wanted.OUTPUT.ordinal(), output);
        written.set(Wanted.WEIGHTS.ordinal(), weights);
        return this;
    }

    /** For all calls that do more than read shapes and types: whether dropout is active, and its seed. */
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

    /** A new tensor for an output. The outputs of this call are others afterwards. */
    NativeTensor createOutput(NativeLayer layer, Wanted wanted) {
        written.clear();
        layer.createOutputs(inputs, wanted.bit, outputs);
        return NativeTensor.counted(written.get(wanted.ordinal()));
    }

    long workspaceSize(NativeLayer layer) {
        return layer.workspaceSize(inputs, outputs);
    }

    void forward(NativeLayer layer, NativeWorkspace workspace) {
        layer.forward(inputs, workspace, outputs);
    }

    void scaledDotProductAttention(NativeContext context, NativeDotProductAttentionOptions options) {
        HeedNative.heed_scaled_dot_product_attention(context, options, inputs, outputs);
    }

    String explain(NativeLayer layer) {
        return NativeText.from((text, capacity) -> layer.explain(inputs, outputs, text, capacity));
    }

    /** Ends the use of the tensors. */
    @Override
    public void close() {
        read.release();
        written.release();
        if (isPooled) {
            isInUse.setRelease(false);
        } else {
            free();
        }
    }

    private void free() {
        inputs.close();
        outputs.close();
    }

    /**
     * The structs of the calls in one context. Threads look in different slots first and take no lock. What a slot has
     * stays there, and is used by one call at a time.
     */
    static final class Pool {
        private static final int SLOT_BITS = 6;
        private static final int SLOTS = 1 << SLOT_BITS;

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

        /** Threads that were made one after the other get slots that are far apart: multiplicative hashing. */
        private static int firstSlot() {
            return (int) (Thread.currentThread().getId() * 0x9E3779B97F4A7C15L >>> (64 - SLOT_BITS));
        }
    }
}
