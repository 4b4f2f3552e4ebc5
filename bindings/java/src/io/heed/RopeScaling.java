// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** How rotary positions are stretched for texts that are longer than those of the training. */
public enum RopeScaling {
    /** Not at all. */
    NONE(0),
    /** Positions are divided by the factor (Chen et al., 2023). */
    LINEAR(1),
    /** The base is multiplied by factor^(r / (r - 2)), where r is the rotary size. */
    NTK(2),
    /** YaRN (Peng et al., 2023): low frequencies are divided by the factor, high ones stay. */
    YARN(3),
    /** As Llama 3.1: long wavelengths are stretched by the factor, short ones stay. */
    LLAMA3(4),
    /** Each frequency is divided by a factor of its own: longrope (Ding et al., 2024). */
    FACTORS(5);

    /** The number in heed.h. */
    final int code;

    RopeScaling(int code) {
        this.code = code;
    }
}
