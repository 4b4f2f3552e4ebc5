// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.function.ObjLongConsumer;

/**
 * The members of C's structs that point to tensors, or to other objects, in the order in which they were added. An
 * object is in use from {@link #set} to {@link #release}, so that it stays alive if another thread closes it during the
 * call. The pointers of the last call stay in the structs, so for the next call every member must be set again, to null
 * if there is no object.
 */
final class TensorMembers {
    /**
     * The bytes of each member's struct, and the member's offset there. A write here takes a fraction of the time of
     * the generated setter.
     */
    private ByteBuffer[] structs = {};

    private int[] offsets = {};
    /** The objects in use, by the index of the member. */
    private NativeHandle[] inUse = {};

    /** Adds members of a struct. */
    <S extends NativeStruct> TensorMembers add(S struct, List<ObjLongConsumer<S>> setters) {
        int index = inUse.length;
        int size = index + setters.size();
        structs = Arrays.copyOf(structs, size);
        offsets = Arrays.copyOf(offsets, size);
        inUse = new NativeHandle[size];
        ByteBuffer bytes = struct.bytes();
        for (ObjLongConsumer<S> setter : setters) {
            structs[index] = bytes;
            offsets[index++] = struct.offsetOf(pointer -> setter.accept(struct, pointer));
        }
        return this;
    }

    int size() {
        return inUse.length;
    }

    /** Points a member to an object of its type, or sets it to NULL. Throws if the object is closed. */
    void set(int index, NativeHandle object) {
        long pointer = object == null ? 0 : object.enter();
        leave(index);
        inUse[index] = object;
        structs[index].putLong(offsets[index], pointer);
    }

    /** The pointer that a call has written to a member. */
    long get(int index) {
        return structs[index].getLong(offsets[index]);
    }

    /** Sets all members to NULL, for a call that writes them. */
    void clear() {
        for (int index = 0; index < inUse.length; index++) {
            set(index, null);
        }
    }

    /** Ends the use of all objects. */
    void release() {
        for (int index = 0; index < inUse.length; index++) {
            leave(index);
        }
    }

    private void leave(int index) {
        NativeHandle object = inUse[index];
        if (object != null) {
            inUse[index] = null;
            object.leave();
        }
    }
}
