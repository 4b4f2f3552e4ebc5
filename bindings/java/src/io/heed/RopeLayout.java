// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Which elements of a head one rotation turns. The wrong pairing gives wrong numbers that look right, so there is no
 * default.
 */
public enum RopeLayout {
    /** Element i and element i + rotarySize / 2: Llama, Qwen, Gemma and others in Hugging Face's files. */
    HALF(1),
    /** Elements 2i and 2i + 1, as in the paper: GPT-J, Cohere, Meta's own files of Llama. */
    INTERLEAVED(2);

    /** The number in heed.h. */
    final int code;

    RopeLayout(int code) {
        this.code = code;
    }
}
