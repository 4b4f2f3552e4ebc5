// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * The base class of the generated proxies of C's structs. A new struct has the values of its macro in heed.h. Used by
 * one thread at a time. {@link #close} frees the memory; if it is not called, the cleaner does.
 */
abstract class NativeStruct implements AutoCloseable {
    /** The address of the struct, with the name that the generated setters and getters use. */
    final long swigCPtr;

    private final Cleaner.Cleanable memory;
    /** The buffers that members of the struct point to. */
    private final List<ByteBuffer> kept = new ArrayList<>(0);

    NativeStruct(long pointer, LongConsumer free) {
        if (pointer == 0) {
            throw new OutOfMemoryError("no native memory for a struct");
        }
        swigCPtr = pointer;
        memory = NativeHandle.CLEANER.register(this, () -> free.accept(pointer));
    }

    /** The pointer of an argument of a call; 0 for null. */
    static long pointerOf(NativeStruct struct) {
        return struct == null ? 0 : struct.swigCPtr;
    }

    /** The bytes of the struct, which are valid until it is closed. */
    final ByteBuffer bytes() {
        return HeedNative.bytesOfStruct(swigCPtr).order(ByteOrder.nativeOrder());
    }

    /**
     * Finds the offset of a member of eight bytes, for writing it without the generated setter, which is a slow native
     * call.
     *
     * @param setter the generated setter of the member, whose value is 0 before and after
     */
    final int offsetOf(LongConsumer setter) {
        ByteBuffer struct = bytes();
        setter.accept(-1);
        int offset = 0;
        while (struct.getLong(offset) != -1) {
            offset += Long.BYTES;
        }
        setter.accept(0);
        return offset;
    }

    /** Keeps a buffer alive that a member will point to. */
    final ByteBuffer keep(ByteBuffer text) {
        kept.add(text);
        return text;
    }

    @Override
    public final void close() {
        memory.clean();
    }
}
