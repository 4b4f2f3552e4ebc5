// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** A forward of one of heed's blocks, whose native layer computes the gradients. */
final class BlockNode extends TapeNode {
    /** The members of heed_layer_gradients for inputs, by the index of the input; -1: there is none. */
    private static final int[] MEMBERS = GradientMembers.ofInputs();

    private final BlockLayer layer;
    /** How often the parameters had changed. */
    private final int changes;

    /** Null: backward computes the forward once more, with the same bits. */
    private final NativeSaved saved;
    private final boolean training;
    private final long seed;
    private final long numLastRows;
    /** The inputs by their index; null where there is none. */
    private final NDArray[] inputs;

    /**
     * Begins a node for a call that is about to be made, and makes the memory for what it saves. Called between enter and leave
     * of the layer.
     *
     * @param call with the inputs of the forward
     * @param saves whether the forward saves: not one with taps
     */
    BlockNode(
            Tape tape,
            BlockLayer layer,
            LayerCall call,
            NDArray[] inputs,
            boolean saves,
            boolean training,
            long seed,
            long numLastRows) {
        super(tape, layer.block.kind);
        this.layer = layer;
        this.training = training;
        this.seed = seed;
        this.numLastRows = numLastRows;
        this.inputs = new NDArray[inputs.length];
        changes = layer.root().changes();
        // The size also tells whether the call has a backward.
        long numBytes = call.savedSize(layer.get());
        saved = saves ? call.newSaved(layer.context(), numBytes) : null;
    }

    /**
     * The tape that records a forward; null: none does.
     *
     * @throws UnsupportedOperationException if an input is followed that has no gradient
     */
    static Tape following(BlockLayer layer, NDArray[] inputs) {
        if (!Tape.areAnyOpen()) {
            return null;
        }
        Tape tape = Tape.following(inputs);
        for (int i = 0; tape != null && i < inputs.length; i++) {
            if (MEMBERS[i] < 0 && inputs[i] != null) {
                Tape.refuseArgument(AttentionInputs.nameOf(i) + " of " + layer.block.kind, inputs[i].data());
            }
        }
        return tape == null && layer.isTrainable() ? Tape.recording() : tape;
    }

    NativeSaved saved() {
        return saved;
    }

    /** Records the call, which has computed the result. */
    NDArray record(NDArray result, NDArray[] arrays) {
        ArrayData[] operands = new ArrayData[arrays.length];
        for (int i = 0; i < arrays.length; i++) {
            operands[i] = arrays[i] == null ? null : arrays[i].data();
        }
        return tape.record(this, result, operands, () -> {
            if (saved != null) {
                tape.own(saved);
            }
            tape.add(layer.root().sum());
            for (int i = 0; i < operands.length; i++) {
                inputs[i] = operands[i] == null ? null : hold(AttentionInputs.nameOf(i), operands[i]);
            }
        });
    }

    @Override
    void check() {
        super.check();
        long stamp = layer.enter();
        try {
            layer.get().checkOpen();
            checkChanges();
            if (layer.isTrainable()) {
                layer.root().sum().set();
            }
        } finally {
            layer.leave(stamp);
        }
    }

    private void checkChanges() {
        if (layer.root().changes() != changes) {
            throw new IllegalStateException("a parameter of " + operation
                    + " has been written since: expected the same elements until backward");
        }
    }

    @Override
    void backward(NDArray whole) {
        NDArray[] parts = new NDArray[inputs.length];
        try {
            for (int i = 0; i < parts.length; i++) {
                parts[i] = tracks(i) ? whole.getManager().create(shapeOf(i)) : null;
            }
            compute(whole, parts);
        } catch (Throwable error) {
            for (NDArray part : parts) {
                if (part != null) {
                    part.close();
                }
            }
            throw error;
        }
        for (int i = 0; i < parts.length; i++) {
            if (parts[i] != null) {
                give(i, parts[i]);
            }
        }
    }

    private void compute(NDArray whole, NDArray[] parts) {
        LayerGradients gradients = layer.root().sum();
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context());
                NDArray output = whole.data().withPositiveStrides()) {
            checkChanges();
            call.dropout(training, seed).read(inputs, numLastRows).write((NativeTensor) null, null).save(saved);
            // One call at a time adds to the gradients of a block.
            synchronized (gradients) {
                NativeGradients parameters = layer.isTrainable() ? layer.gradients() : null;
                call.backward(layer.get(), output, parts, MEMBERS, parameters);
                if (parameters != null) {
                    gradients.countWrite();
                    layer.passGradients(parameters);
                }
            }
        } finally {
            layer.leave(stamp);
        }
    }

    @Override
    void release() {
        super.release();
        if (saved != null) {
            saved.close();
        }
    }
}
