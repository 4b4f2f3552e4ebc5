// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;

/** A parameter that heed's layer keeps. */
final class LayerParameter extends Parameter implements NDArray.Writer {
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
        block.bindTo(array);
        block.setParameter(this, array.tensor());
    }

    @Override
    public void write(NativeTensor value) {
        block.setParameter(this, value);
    }

    @Override
    public NativeTensor current() {
        return block.currentValue(this);
    }
}
