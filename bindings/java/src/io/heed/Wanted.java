// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.function.ObjLongConsumer;

/** The outputs of a block, for the calls that make arrays for them. */
public enum Wanted {
    /** The output. */
    OUTPUT(1, "output", NativeLayerOutputs::setOutput),
    /** The attention weights, before dropout. */
    WEIGHTS(2, "weights", NativeLayerOutputs::setWeights),
    /** The natural logarithm of the sum of each query's exponentiated scores. */
    LOG_SUM_EXP(4, "logSumExp", NativeLayerOutputs::setLogSumExp);

    /** heed.h's bit. */
    final int bit;
    /** What an exception calls it. */
    final String label;

    /** Of the member of C's struct. */
    final ObjLongConsumer<NativeLayerOutputs> setter;

    Wanted(int bit, String label, ObjLongConsumer<NativeLayerOutputs> setter) {
        this.bit = bit;
        this.label = label;
        this.setter = setter;
    }
}
