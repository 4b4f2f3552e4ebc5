// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * The activations of {@link FeedForward} and {@link Activation}, each with its formula, since frameworks call several
 * of them "gelu" (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016). sigma is the logistic function, Phi the
 * distribution function of the normal distribution.
 */
public enum ActivationKind {
    /** max(x, 0); NaN stays NaN. */
    RELU(0),
    /** x Phi(x): the default of PyTorch and Keras, "gelu" of Hugging Face. */
    GELU(1),
    /** x sigma(2 sqrt(2 / pi) (x + 0.044715 x^3)): "gelu_new" and "gelu_pytorch_tanh" of Hugging Face. */
    GELU_TANH(2),
    /** x sigma(1.702 x): "quick_gelu" of CLIP. */
    GELU_QUICK(3),
    /** x sigma(x): "silu", "swish". */
    SILU(4);

    /** The number in heed.h. */
    final int code;

    ActivationKind(int code) {
        this.code = code;
    }
}
