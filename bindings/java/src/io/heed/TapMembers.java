// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The taps of one call, as C's structs, to which the struct of outputs points. Their arrays are in use from {@link
 * #set} to {@link #release}. Every call must use either {@link #set} or {@link #clear}.
 */
final class TapMembers {
    /** The struct of outputs, and the offsets of its members. */
    private final ByteBuffer outputs;

    private final int pointerOffset;
    private final int countOffset;

    /** Those of the present call; null without taps. */
    private NativeStructs structs;
    private final List<NativeHandle> inUse = new ArrayList<>();

    TapMembers(NativeLayerOutputs struct) {
        outputs = struct.bytes();
        pointerOffset = struct.offsetOf(struct::setTaps);
        countOffset = struct.offsetOf(struct::setNumTaps);
    }

    /** Sets all taps of a call. Throws if one lacks its arrays, or an array is closed. */
    void set(Taps taps) {
        clear();
        if (taps == null || taps.size() == 0) {
            return;
        }
        release();
        structs = new NativeStructs();
        List<NativeLayerTap> each = new ArrayList<>();
        taps.forEach((child, weights, logSumExp) -> {
            NativeLayerTap tap = structs.add(new NativeLayerTap());
            tap.setChild(NativeText.of(child, "child"));
            tap.setWeights(use(weights, Wanted.WEIGHTS));
            tap.setLogSumExp(use(logSumExp, Wanted.LOG_SUM_EXP));
            each.add(tap);
        });
        outputs.putLong(pointerOffset, structs.addressesOf(each));
        outputs.putLong(countOffset, taps.size());
    }

    /** For a call without taps. */
    void clear() {
        outputs.putLong(pointerOffset, 0);
        outputs.putLong(countOffset, 0);
    }

    /** Ends the use of the arrays. */
    void release() {
        inUse.forEach(NativeHandle::leave);
        inUse.clear();
        if (structs != null) {
            structs.close();
            structs = null;
        }
    }

    private long use(NDArray array, Wanted wanted) {
        NativeTensor tensor = NDArray.tensorOf(array, AttentionOutputs.nameOf(wanted));
        if (tensor == null) {
            return 0;
        }
        long pointer = tensor.enter();
        inUse.add(tensor);
        return pointer;
    }
}
