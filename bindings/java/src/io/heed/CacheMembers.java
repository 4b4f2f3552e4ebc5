// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * What one call does with a cache, as C's struct, to which a struct of inputs points in calls with a cache. The cache
 * and the array of sequence numbers are in use from {@link #set} to {@link #release}. Every call must use either {@link
 * #set} or {@link #clear}.
 */
final class CacheMembers {
    /** The indices of the members that are objects. */
    private static final int CACHE = 0;

    private static final int SEQUENCES = 1;

    private final NativeCacheInputs struct = new NativeCacheInputs();
    private final TensorMembers objects = new TensorMembers()
            .add(struct, List.of(NativeCacheInputs::setCache, NativeCacheInputs::setSequences));
    private final ByteBuffer bytes = struct.bytes();
    private final int layerOffset = struct.offsetOf(struct::setLayer);
    /** The value of the member `use` of the struct. */
    private CacheUse use = CacheUse.APPEND;

    /** The struct with the member that points to this struct or is NULL, and the offset of that member. */
    private final ByteBuffer inputs;

    private final int pointerOffset;

    CacheMembers(NativeStruct inputs, LongConsumer setter) {
        this.inputs = inputs.bytes();
        pointerOffset = inputs.offsetOf(setter);
    }

    /**
     * Sets all members for a call with a cache. Throws if the cache or the array is closed.
     *
     * @param sequences the array of sequence numbers; null: batch element b is sequence b
     */
    void set(NativeCache cache, NativeTensor sequences, long layer, CacheUse wanted) {
        objects.set(CACHE, cache);
        objects.set(SEQUENCES, sequences);
        bytes.putLong(layerOffset, layer);
        if (use != wanted) {
            struct.setUse(wanted.code);
            use = wanted;
        }
        inputs.putLong(pointerOffset, NativeStruct.pointerOf(struct));
    }

    /** For a call without a cache. */
    void clear() {
        inputs.putLong(pointerOffset, 0);
    }

    /** Ends the use of the cache and the array. */
    void release() {
        objects.release();
    }

    void free() {
        struct.close();
    }
}
