// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.function.ObjLongConsumer;

/** The outputs of a block. Names those for which arrays are made. */
public enum Wanted {
    /** The output. */
    OUTPUT(1, "output", NativeLayerOutputs::setOutput),
    /** The attention weights, before dropout. */
    WEIGHTS(2, "weights", NativeLayerOutputs::setWeights),
    /** The natural logarithm of the sum of exp(score) over the visible keys of each query. */
    LOG_SUM_EXP(4, "logSumExp", NativeLayerOutputs::setLogSumExp);

    /** The bit in heed.h. */
    final int bit;
    /** The name in exceptions. */
    final String label;

    /** The setter of the member of C's struct. */
    final ObjLongConsumer<NativeLayerOutputs> setter;

    Wanted(int bit, String label, ObjLongConsumer<NativeLayerOutputs> setter) {
        this.bit = bit;
        this.label = label;
        this.setter = setter;
    }
}
