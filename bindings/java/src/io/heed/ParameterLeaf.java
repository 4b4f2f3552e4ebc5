// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The gradient of a parameter of one of heed's blocks, in the {@link LayerGradients} of the block. */
final class ParameterLeaf implements GradientLeaf {
    private final LayerParameter parameter;
    private final OwnLayer layer;

    ParameterLeaf(LayerParameter parameter, OwnLayer layer) {
        this.parameter = parameter;
        this.layer = layer;
    }

    /** What backward throws for a parameter that was frozen after a call has read it. */
    static IllegalStateException frozen(Parameter parameter) {
        return new IllegalStateException("the parameter \"" + parameter.getName()
                + "\" was frozen since it was read: expected it as it was until backward");
    }

    @Override
    public boolean isWanted() {
        return parameter.requiresGradient();
    }

    @Override
    public void check() {
        if (!isWanted()) {
            throw frozen(parameter);
        }
        long stamp = layer.enter();
        try {
            layer.sum().set();
        } finally {
            layer.leave(stamp);
        }
    }

    @Override
    public void add(NDArray gradient) {
        long stamp = layer.enter();
        try {
            layer.sum().add(parameter.nativeName, gradient.tensor());
        } finally {
            layer.leave(stamp);
        }
    }

    @Override
    public NDArray gradient() {
        long stamp = layer.enter();
        try {
            return layer.sum().of(parameter.nativeName);
        } finally {
            layer.leave(stamp);
        }
    }

    @Override
    public void zero() {
        long stamp = layer.enter();
        try {
            layer.sum().zero(parameter.nativeName);
        } finally {
            layer.leave(stamp);
        }
    }
}
