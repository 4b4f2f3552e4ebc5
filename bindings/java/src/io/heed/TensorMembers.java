// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.ObjLongConsumer;

/**
 * The members of one of C's structs that point to tensors. A tensor is in use from {@link #set} to {@link #release}, so
 * that it stays alive if another thread closes it during the call. The pointers of the last call stay in the struct, so
 * for the next call every member must be set again, to null if there is no tensor.
 */
final class TensorMembers {
    /**
     * The bytes of the struct, and the offsets of its members. A write here takes a fraction of the time of the
     * generated setter.
     */
    private final ByteBuffer struct;

    private final int[] offsets;
    /** The tensors in use, by the index of the member. */
    private final NativeTensor[] inUse;

    <S extends NativeStruct> TensorMembers(S struct, List<ObjLongConsumer<S>> setters) {
        this.struct = struct.bytes();
        offsets = setters.stream()
                .mapToInt(setter -> struct.offsetOf(pointer -> setter.accept(struct, pointer)))
                .toArray();
        inUse = new NativeTensor[offsets.length];
    }

    int size() {
        return inUse.length;
    }

    /** Points a member to a tensor, or sets it to NULL. Throws if the tensor is closed. */
    void set(int index, NativeTensor tensor) {
        long pointer = tensor == null ? 0 : tensor.enter();
        leave(index);
        inUse[index] = tensor;
        struct.putLong(offsets[index], pointer);
    }

    /** The pointer that a call has written to a member. */
    long get(int index) {
        return struct.getLong(offsets[index]);
    }

    /** Sets all members to NULL, for a call that writes them. */
    void clear() {
        for (int index = 0; index < inUse.length; index++) {
            set(index, null);
        }
    }

    /** Ends the use of all tensors. */
    void release() {
        for (int index = 0; index < inUse.length; index++) {
            leave(index);
        }
    }

    private void leave(int index) {
        NativeTensor tensor = inUse[index];
        if (tensor != null) {
            inUse[index] = null;
            tensor.leave();
        }
    }
}
