// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;

/** A parameter that heed's layer keeps. */
final class LayerParameter extends Parameter {
    final ByteBuffer nativeName;
    private final NativeBlock block;

    LayerParameter(NativeBlock block, String name) {
        super(name, name.endsWith("bias") ? Type.BIAS : Type.WEIGHT, null);
        this.block = block;
        nativeName = NativeText.of(name, "name");
    }

    @Override
    public Shape getShape() {
        return block.shapeOf(this);
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
    public NDArray getArray() {
        return block.snapshot(this);
    }

    @Override
    public void setArray(NDArray array) {
        block.setParameter(this, array);
    }
}
