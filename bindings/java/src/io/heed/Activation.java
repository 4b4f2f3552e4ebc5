// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * Activations of the elements of an array, as DJL's class has them, and blocks of them for a {@link SequentialBlock}.
 * {@link ActivationKind} has the formulas. Each function makes a new array of the same shape and type, which belongs to
 * the manager of the array, and throws
 *
 * <ul>
 *   <li>IllegalArgumentException if the array is a scalar or of another type than FLOAT32, FLOAT16 or BFLOAT16
 *   <li>IllegalStateException if the array or its manager is closed
 * </ul>
 *
 * Numbers are computed in FLOAT32 and rounded once. -inf gives NaN, except with ReLU. A block takes a list of one such
 * array and returns one; it has no parameters. Many threads may use the functions and blocks at the same time.
 */
public final class Activation {
    private Activation() {}

    /**
     * ReLU: max(x, 0); NaN stays NaN.
     *
     * @param array the array
     * @return a new array
     */
    public static NDArray relu(NDArray array) {
        return of(array, ActivationKind.RELU);
    }

    /**
     * GELU: x Phi(x), as PyTorch and DJL compute it; Phi is the distribution function of the normal distribution.
     *
     * @param array the array
     * @return a new array
     */
    public static NDArray gelu(NDArray array) {
        return of(array, ActivationKind.GELU);
    }

    /**
     * The approximation of GELU by a hyperbolic tangent, "gelu_new" and "gelu_pytorch_tanh" of Hugging Face.
     *
     * @param array the array
     * @return a new array
     */
    public static NDArray geluTanh(NDArray array) {
        return of(array, ActivationKind.GELU_TANH);
    }

    /**
     * x sigma(1.702 x), "quick_gelu" of CLIP; sigma is the logistic function.
     *
     * @param array the array
     * @return a new array
     */
    public static NDArray geluQuick(NDArray array) {
        return of(array, ActivationKind.GELU_QUICK);
    }

    /**
     * SiLU: x sigma(x); sigma is the logistic function.
     *
     * @param array the array
     * @return a new array
     */
    public static NDArray silu(NDArray array) {
        return of(array, ActivationKind.SILU);
    }

    /**
     * Swish: x sigma(beta x); sigma is the logistic function.
     *
     * @param array the array
     * @param beta 1, as of {@link #silu}, or 1.702, as of {@link #geluQuick}
     * @return a new array
     * @throws IllegalArgumentException if beta is another number
     */
    public static NDArray swish(NDArray array, float beta) {
        Objects.requireNonNull(array, "array");
        return of(array, kindOf(beta));
    }

    /**
     * Makes a block that computes {@link #relu}.
     *
     * @return a block
     */
    public static Block reluBlock() {
        return new ActivationBlock(ActivationKind.RELU);
    }

    /**
     * Makes a block that computes {@link #gelu}.
     *
     * @return a block
     */
    public static Block geluBlock() {
        return new ActivationBlock(ActivationKind.GELU);
    }

    /**
     * Makes a block that computes {@link #geluTanh}.
     *
     * @return a block
     */
    public static Block geluTanhBlock() {
        return new ActivationBlock(ActivationKind.GELU_TANH);
    }

    /**
     * Makes a block that computes {@link #geluQuick}.
     *
     * @return a block
     */
    public static Block geluQuickBlock() {
        return new ActivationBlock(ActivationKind.GELU_QUICK);
    }

    /**
     * Makes a block that computes {@link #silu}.
     *
     * @return a block
     */
    public static Block siluBlock() {
        return new ActivationBlock(ActivationKind.SILU);
    }

    /**
     * Makes a block that computes {@link #swish}.
     *
     * @param beta 1 or 1.702
     * @return a block
     * @throws IllegalArgumentException if beta is another number
     */
    public static Block swishBlock(float beta) {
        return new ActivationBlock(kindOf(beta));
    }

    private static NDArray of(NDArray array, ActivationKind activation) {
        return Objects.requireNonNull(array, "array").activated(activation);
    }

    private static ActivationKind kindOf(float beta) {
        if (beta == 1) {
            return ActivationKind.SILU;
        }
        if (beta == 1.702f) {
            return ActivationKind.GELU_QUICK;
        }
        throw new IllegalArgumentException("beta is " + beta + ", expected 1, or 1.702");
    }
}
