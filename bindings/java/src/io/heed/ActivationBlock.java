// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** A block of {@link Activation}. */
final class ActivationBlock extends AbstractBlock {
    private final ActivationKind activation;

    ActivationBlock(ActivationKind activation) {
        this.activation = activation;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        return new NDList(inputs.singletonOrThrow().activated(activation, null));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return Objects.requireNonNull(inputShapes, "inputShapes").clone();
    }

    @Override
    public String toString() {
        return "Activation(" + activation + ")";
    }
}
