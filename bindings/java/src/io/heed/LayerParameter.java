// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A parameter whose values are in a native layer. */
final class LayerParameter extends Parameter implements NDArray.Writer {
    /** As "q_norm.weight", "norm_1.bias" and "layers.0.norm_2.weight". */
    private static final Pattern OF_NORM = Pattern.compile("(?:.*[._])?norm(?:_\\d)?\\.(weight|bias)");

    final ByteBuffer nativeName;
    private final OwnLayer layer;
    private final ParameterLeaf leaf;

    LayerParameter(OwnLayer layer, String name, Type type) {
        super(name, type, null);
        this.layer = layer;
        leaf = new ParameterLeaf(this, layer);
        nativeName = NativeText.of(name, "name");
    }

    /** The purpose of a parameter, by its name in a block that is no norm itself. */
    static Type typeOf(String name) {
        Matcher ofNorm = OF_NORM.matcher(name);
        if (ofNorm.matches()) {
            return ofNorm.group(1).equals("weight") ? Type.GAMMA : Type.BETA;
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

    /** Returns null if the parameter has no values. */
    DataType getDataType() {
        return layer.dataTypeOf(nativeName);
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

    OwnLayer layer() {
        return layer;
    }

    ParameterLeaf leaf() {
        return leaf;
    }

    @Override
    public void freeze(boolean freeze) {
        if (freeze == requiresGradient()) {
            super.freeze(freeze);
            layer.setTrainable(this);
        }
    }

    @Override
    public NDArray getArray() {
        return layer.snapshot(this);
    }

    @Override
    public void setArray(NDArray array) {
        Tape.refuse("setArray", Objects.requireNonNull(array, "array"));
        NativeTensor value = array.tensor();
        value.checkOpen();
        layer.follow(array);
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
