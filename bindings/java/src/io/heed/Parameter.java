// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * A parameter of a block. Those of heed's own blocks are made by the blocks; a block below {@link AbstractBlock} adds
 * its own with {@link AbstractBlock#addParameter}.
 */
public class Parameter {
    /** The purpose of a parameter. */
    public enum Type {
        /** A weight. */
        WEIGHT(new XavierInitializer()),
        /** A bias. */
        BIAS(Initializer.ZEROS),
        /** The factor of a normalization. */
        GAMMA(Initializer.ONES),
        /** What a normalization adds. */
        BETA(Initializer.ZEROS),
        /** A mean that is learned in passing. */
        RUNNING_MEAN(Initializer.ZEROS),
        /** A variance that is learned in passing. */
        RUNNING_VAR(Initializer.ONES),
        /** Anything else. */
        OTHER(null);

        private final transient Initializer initializer;

        Type(Initializer initializer) {
            this.initializer = initializer;
        }

        /**
         * Returns what draws the first values if nothing else is set.
         *
         * @return the initializer, null for {@link #OTHER}
         */
        public Initializer getInitializer() {
            return initializer;
        }
    }

    private final String name;
    private final Type type;
    private Initializer initializer;
    private Shape shape;
    private NDArray array;
    private boolean frozen;

    Parameter(String name, Type type, Initializer initializer) {
        this.name = Objects.requireNonNull(name, "name");
        this.type = Objects.requireNonNull(type, "type");
        this.initializer = initializer;
    }

    /**
     * Begins a parameter.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns the name.
     *
     * @return the name in its block, as "weight" or "W_q.weight"
     */
    public String getName() {
        return name;
    }

    /**
     * Returns the purpose of the parameter.
     *
     * @return the type
     */
    public Type getType() {
        return type;
    }

    /**
     * Returns the shape.
     *
     * @return the shape, null as long as it is not known
     */
    public Shape getShape() {
        return shape;
    }

    /**
     * Sets the shape that {@link Block#initialize} will make.
     *
     * @param shape the shape
     * @throws IllegalStateException if the parameter has values of another shape, or is of one of heed's own blocks,
     *     where the shapes of the inputs say it
     */
    public void setShape(Shape shape) {
        Objects.requireNonNull(shape, "shape");
        if (isInitialized() && !shape.equals(this.shape)) {
            throw new OtherShapeException(
                    "shape is " + shape + ", but the parameter \"" + name + "\" has values of " + this.shape);
        }
        this.shape = shape;
    }

    /**
     * Tells whether the parameter has values.
     *
     * @return false before its block is initialized or loaded, and once the manager of the values is closed
     */
    public boolean isInitialized() {
        return array != null && !array.isReleased();
    }

    /**
     * Returns the values. Of heed's own blocks this is a snapshot: {@code set} on it writes through to the block, whose
     * next snapshots have the new values, as this one; arrays of before keep the old ones.
     *
     * @return the values, which belong to the manager of the block's parameters
     * @throws IllegalStateException if there are none
     */
    public NDArray getArray() {
        if (!isInitialized()) {
            throw new IllegalStateException("the parameter \"" + name + "\" has no values: initialize its block first");
        }
        return array;
    }

    /**
     * Sets the values. One of heed's own blocks copies them, converts them to the type of the parameter that is there,
     * and waits for calls on other threads that use the parameter; others keep the array itself.
     *
     * @param array the values
     * @throws IllegalArgumentException if the shape is not the parameter's
     */
    public void setArray(NDArray array) {
        Shape given = Objects.requireNonNull(array, "array").getShape();
        if (shape != null && !shape.equals(given)) {
            throw new IllegalArgumentException(
                    "array has shape " + given + ", but the parameter \"" + name + "\" has " + shape);
        }
        shape = given;
        this.array = array;
    }

    /**
     * Returns the initializer.
     *
     * @return what was set; else that of the type, or null for a parameter of one of heed's own blocks, where heed
     *     draws as {@link XavierInitializer#XavierInitializer()} and sets biases to 0
     */
    public Initializer getInitializer() {
        return initializer;
    }

    /**
     * Sets what draws the first values.
     *
     * @param initializer what draws them, when the block is initialized
     */
    public void setInitializer(Initializer initializer) {
        this.initializer = Objects.requireNonNull(initializer, "initializer");
    }

    /**
     * Draws the values, unless there are some. {@link AbstractBlock#initialize} calls it.
     *
     * @param manager the owner of the values
     * @param dataType their type
     * @throws IllegalStateException if the shape or what draws the values was not set, or the parameter is of one of
     *     heed's own blocks, which draws all its parameters itself
     */
    public void initialize(NDManager manager, DataType dataType) {
        Objects.requireNonNull(manager, "manager");
        Objects.requireNonNull(dataType, "dataType");
        if (isInitialized()) {
            return;
        }
        if (shape == null || initializer == null) {
            throw new IllegalStateException("the parameter \"" + name + "\" has no "
                    + (shape == null ? "shape: set it in prepare(inputShapes)" : "initializer"));
        }
        setArray(Objects.requireNonNull(initializer.initialize(manager, shape, dataType), "initialize's result"));
    }

    /**
     * Marks the parameter as one that training would leave alone. heed does not train: nothing else depends on it.
     *
     * @param freeze the mark
     */
    public void freeze(boolean freeze) {
        frozen = freeze;
    }

    /**
     * Tells whether training would change the parameter.
     *
     * @return false once it is frozen
     */
    public boolean requiresGradient() {
        return !frozen;
    }

    /**
     * Returns the name, and, as far as they are known, shape and type, as "Parameter weight (2, 3) float32".
     *
     * @return the text
     */
    @Override
    public String toString() {
        return "Parameter " + name + " " + describeValues();
    }

    /** The part of toString after the name. */
    String describeValues() {
        if (shape == null) {
            return "of unknown shape";
        }
        return shape + (isInitialized() ? " " + array.getDataType() : " without values");
    }

    /** What gives the parameter back the shape and the values that it has now, and closes others. */
    Runnable undo() {
        Shape shapeNow = shape;
        NDArray arrayNow = array;
        return () -> {
            if (array != arrayNow) {
                clear();
            }
            array = arrayNow;
            shape = shapeNow;
        };
    }

    /** For a parameter of a user's block. */
    void cast(DataType dataType) {
        NDArray before = getArray();
        array = before.toType(dataType, true);
        before.close();
    }

    /** For a parameter of a user's block. */
    void clear() {
        if (array != null) {
            array.close();
            array = null;
        }
    }

    /** A shape for a parameter that has values of another. */
    static final class OtherShapeException extends IllegalStateException {
        private static final long serialVersionUID = 1L;

        private OtherShapeException(String message) {
            super(message);
        }
    }

    /** Makes a parameter of a block below {@link AbstractBlock}. */
    public static final class Builder {
        private String name;
        private Type type;
        private Shape shape;
        private Initializer initializer;
        private NDArray array;
        private boolean requiresGrad = true;

        private Builder() {}

        /**
         * Sets the name. It must be set.
         *
         * @param name the name in its block
         * @return this
         */
        public Builder setName(String name) {
            this.name = name;
            return this;
        }

        /**
         * Sets what the parameter is for. It must be set.
         *
         * @param type the type
         * @return this
         */
        public Builder setType(Type type) {
            this.type = type;
            return this;
        }

        /**
         * Sets the shape; without it the block does, in {@link AbstractBlock#prepare}.
         *
         * @param shape the shape
         * @return this
         */
        public Builder optShape(Shape shape) {
            this.shape = shape;
            return this;
        }

        /**
         * Sets what draws the first values; without it, what the type says.
         *
         * @param initializer what draws them
         * @return this
         */
        public Builder optInitializer(Initializer initializer) {
            this.initializer = initializer;
            return this;
        }

        /**
         * Sets the values.
         *
         * @param array the values
         * @return this
         */
        public Builder optArray(NDArray array) {
            this.array = array;
            return this;
        }

        /**
         * Sets whether training would change the parameter.
         *
         * @param requiresGrad true, as it is without this, if it would
         * @return this
         */
        public Builder optRequiresGrad(boolean requiresGrad) {
            this.requiresGrad = requiresGrad;
            return this;
        }

        /**
         * Makes the parameter.
         *
         * @return the parameter
         * @throws NullPointerException if it has no name or no type: neither has a default
         */
        public Parameter build() {
            Objects.requireNonNull(name, "name is not set: call setName, as with \"weight\"");
            Objects.requireNonNull(type, "type is not set: call setType, as with Parameter.Type.WEIGHT");
            Parameter made = new Parameter(name, type, initializer == null ? type.getInitializer() : initializer);
            made.shape = shape;
            made.frozen = !requiresGrad;
            if (array != null) {
                made.setArray(array);
            }
            return made;
        }
    }
}
