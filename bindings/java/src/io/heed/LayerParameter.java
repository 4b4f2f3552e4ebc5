// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.Objects;

/** A parameter whose values are in a native layer. */
final class LayerParameter extends Parameter implements NDArray.Writer {
    final ByteBuffer nativeName;
    private final BlockLayer layer;

    LayerParameter(BlockLayer layer, String name) {
        super(name, typeOf(name), null);
        this.layer = layer;
        nativeName = NativeText.of(name, "name");
    }

    private static Type typeOf(String name) {
        if (name.endsWith("_norm.weight")) {
            return Type.GAMMA;
        }
        if (name.endsWith("bias") || name.endsWith("bias_k") || name.endsWith("bias_v")) {
            return Type.BIAS;
        }
        return name.endsWith("sinks") || name.endsWith("relative_bias.weight") ? Type.OTHER : Type.WEIGHT;
    }

    @Override
    public Shape getShape() {
        return layer.shapeOf(nativeName);
    }

    @Override
    public void setShape(Shape shape) {
        throw new IllegalStateException(
                "the shape of the parameter \"" + getName() + "\" is its block's, whose inputs say it");
    }

    @Override
    public boolean isInitialized() {
        return getShape() != null;
    }

    @Override
    String describeValues() {
        return layer.describeValues(nativeName);
    }

    @Override
    public void initialize(NDManager manager, DataType dataType) {
        throw new IllegalStateException(
                "the parameter \"" + getName() + "\" is its block's, whose initialize draws all its parameters");
    }

    @Override
    public NDArray getArray() {
        return layer.snapshot(this);
    }

    @Override
    public void setArray(NDArray array) {
        NativeTensor value = Objects.requireNonNull(array, "array").tensor();
        value.checkOpen();
        layer.bindTo(array);
        write(value);
    }

    @Override
    public void write(NativeTensor value) {
        layer.change(changed -> changed.setParameter(nativeName, value));
    }

    @Override
    public NativeTensor current() {
        return layer.currentValue(nativeName);
    }
}
