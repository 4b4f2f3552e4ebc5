// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The native layer of a block: its own ({@link OwnLayer}), or that of a child, inside the layer of another block
 * ({@link ChildLayer}). A call that uses the parameters begins with {@link #enter} and ends with {@link #leave}. A call
 * that changes them waits until all others have left.
 */
abstract class BlockLayer {
    final NativeBlock block;
    final ParameterList parameters = new ParameterList();

    BlockLayer(NativeBlock block) {
        this.block = block;
    }

    // ---- using it ---------------------------------------------------------------------------------------------------

    /** Begins a call that uses the parameters. Returns the argument for {@link #leave}. */
    abstract long enter();

    abstract void leave(long stamp);

    /** Only between enter and leave. */
    abstract NativeLayer get();

    /** Only between enter and leave. */
    abstract NativeContext context();

    abstract boolean isInitialized();

    /**
     * Moves the layer to the context of this array, unless the layer is already bound to a context. A layer without
     * parameters is also moved if the array is on another device. Does nothing if the array is null.
     */
    final void bindTo(NDArray array) {
        bindTo(array, "queries");
    }

    /** The same for another input than the queries, with its name. */
    abstract void bindTo(NDArray array, String name);

    /** Calls that are running continue; later calls throw. */
    abstract void close();

    abstract void checkNotClosed();

    /** A copy of the list of all parameters. */
    final ParameterList parameters() {
        ParameterList copy = new ParameterList(parameters.size());
        copy.addAll(parameters);
        return copy;
    }

    // ---- children ---------------------------------------------------------------------------------------------------

    /** What the layer is and is made of. */
    abstract LayerPart part();

    /** Adds the layer of a child, which must give its native layer back when this one is replaced. */
    abstract void add(ChildLayer child);

    /** Makes the owner of the parameters also the owner of a child's native layer. Only between enter and leave. */
    abstract void own(NativeLayer child);

    // ---- parameters, all of them ------------------------------------------------------------------------------------

    /**
     * Draws the parameters, or checks that the existing ones fit these inputs. The user's initializers run without the
     * lock.
     */
    abstract void initialize(NDManager manager, DataType dataType, LayerCall call, AtomicLong seeds);

    interface Change {
        void make(NativeLayer layer);
    }

    /** Changes the parameters. If the layer was closed with its manager, they are set on a new layer. */
    abstract void change(Change change);

    abstract void cast(DataType dataType);

    abstract void clear();

    /**
     * Returns an action that removes the parameters that a later initialize adds to the existing ones. The caller
     * closes the snapshots.
     */
    abstract Runnable undo(List<NativeTensor> snapshots);

    /**
     * Makes a layer in the manager's context with the parameters of a .safetensors file, for {@link #replace}. The file
     * is in memory, of which `begin` may be shorter than it.
     */
    abstract NativeLayer read(NDManager manager, ByteBuffer begin, long numBytes);

    abstract void replace(NativeLayer made, NDManager manager);

    // ---- gradients --------------------------------------------------------------------------------------------------

    /** The layer that has the gradients: of a child that of the whole. */
    abstract OwnLayer root();

    /** The gradients that backward of this layer adds to. Only between enter and leave, with the lock of the root's. */
    abstract NativeGradients gradients();

    /** Passes them on to those of the root, if they are others. */
    abstract void passGradients(NativeGradients gradients);

    /** Begins with gradients of 0, for parameters that were loaded. */
    abstract void forgetGradients();

    /** Whether a parameter is not frozen. */
    final boolean isTrainable() {
        for (int i = 0; i < parameters.size(); i++) {
            if (parameters.valueAt(i).requiresGradient()) {
                return true;
            }
        }
        return false;
    }

    // ---- inside -----------------------------------------------------------------------------------------------------

    /** Throws unless the layer's parameters fit the inputs of a call, and are of this type. */
    final void checkFits(NativeLayer layer, LayerCall call, DataType dataType) {
        call.createOutput(layer, block.list().smallestOutput()).close();
        checkTypes(layer, dataType, "dataType is %s, but the block has parameters of %s already");
    }

    final void checkTypes(NativeLayer layer, DataType dataType, String sentence) {
        for (String name : parameters.keys()) {
            DataType found = typeOf(layer, NativeText.of(name, "name"));
            if (found != dataType) {
                throw new IllegalArgumentException(String.format(sentence, dataType.name(), found.name()));
            }
        }
    }

    static DataType typeOf(NativeLayer layer, ByteBuffer parameterName) {
        try (NativeTensor form = layer.parameterShape(parameterName)) {
            return DataType.of(form.dtype());
        }
    }
}
