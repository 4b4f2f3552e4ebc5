// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * Draws the elements of a weight from a distribution whose width depends on the weight's shape (out, in, ...), after
 * Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
 */
public final class XavierInitializer implements Initializer {
    /** The distribution. */
    public enum RandomType {
        /** Uniform between minus and plus the width. */
        UNIFORM,
        /** Normal, with the width as its standard deviation. */
        GAUSSIAN
    }

    /** The size of a weight that determines the width. */
    public enum FactorType {
        /** The mean of input and output size. */
        AVG,
        /** The size of the input. */
        IN,
        /** The size of the output. */
        OUT
    }

    private final RandomType randomType;
    private final FactorType factorType;
    private final float magnitude;

    /** Makes DJL's default for weights: GAUSSIAN, IN, 2. */
    public XavierInitializer() {
        this(RandomType.GAUSSIAN, FactorType.IN, 2);
    }

    /**
     * Makes an initializer.
     *
     * @param randomType the distribution
     * @param factorType the size that determines the width
     * @param magnitude the width is the square root of magnitude / size
     */
    public XavierInitializer(RandomType randomType, FactorType factorType, float magnitude) {
        this.randomType = Objects.requireNonNull(randomType, "randomType");
        this.factorType = Objects.requireNonNull(factorType, "factorType");
        this.magnitude = magnitude;
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if the shape has fewer than two axes, or the size is 0
     */
    @Override
    public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
        Objects.requireNonNull(manager, "manager");
        if (Objects.requireNonNull(shape, "shape").dimension() < 2) {
            throw new IllegalArgumentException("shape is " + shape + ", expected two axes or more: (out, in, ...)");
        }
        double perPair = 1;
        for (int axis = 2; axis < shape.dimension(); axis++) {
            perPair *= shape.get(axis);
        }
        double in = perPair * shape.get(1);
        double out = perPair * shape.get(0);
        double size = factorType == FactorType.IN ? in : factorType == FactorType.OUT ? out : (in + out) / 2;
        if (size == 0) {
            throw new IllegalArgumentException("shape is " + shape + ", expected sizes above 0");
        }
        float width = (float) Math.sqrt(magnitude / size);
        return randomType == RandomType.UNIFORM
                ? manager.randomUniform(-width, width, shape, dataType)
                : manager.randomNormal(0, width, shape, dataType);
    }
}
