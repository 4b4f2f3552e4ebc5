// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.ObjLongConsumer;

/**
 * The members of one of C's structs that point to tensors. A tensor is in use from {@link #set} to {@link #release}, so
 * that it stays alive if another thread closes it during the call. The pointers of the call before stay in the struct:
 * every member must be set again for the next call, null where there is no tensor.
 */
final class TensorMembers {
    /** The struct, and where its members are: a write here takes a fraction of the generated setter's time. */
    private final ByteBuffer struct;

    private final int[] offsets;
    /** By the index of the member. */
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

    /** Points a member to a tensor, or to nothing. Throws if the tensor is closed. */
    void set(int index, NativeTensor tensor) {
        long pointer = tensor == null ? 0 : tensor.enter();
        leave(index);
        inUse[index] = tensor;
        struct.putLong(offsets[index], pointer);
    }

    /** What a call has pointed a member to. */
    long get(int index) {
        return struct.getLong(offsets[index]);
    }

    /** Points all members to nothing, for a call that sets them. */
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
