// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * A parameter of a block. heed's own blocks make theirs themselves; a subclass of {@link AbstractBlock} adds its own
 * with {@link AbstractBlock#addParameter}.
 */
public class Parameter {
    /** The purpose of a parameter. */
    public enum Type {
        /** A weight. */
        WEIGHT(new XavierInitializer()),
        /** A bias. */
        BIAS(Initializer.ZEROS),
        /** The factor of a normalization layer. */
        GAMMA(Initializer.ONES),
        /** The summand of a normalization layer. */
        BETA(Initializer.ZEROS),
        /** A running mean, which training updates. */
        RUNNING_MEAN(Initializer.ZEROS),
        /** A running variance, which training updates. */
        RUNNING_VAR(Initializer.ONES),
        /** Anything else. */
        OTHER(null);

        private final transient Initializer initializer;

        Type(Initializer initializer) {
            this.initializer = initializer;
        }

        /**
         * Returns the initializer that is used if no other is set.
         *
         * @return the initializer; null for {@link #OTHER}
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
    private volatile boolean frozen;
    /** The gradient of the array; null for parameters of heed's own blocks. */
    private OwnParameterLeaf leaf;

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
     * @return the name in its block, such as "weight" or "W_q.weight"
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
     * @return the shape; null until it is known
     */
    public Shape getShape() {
        return shape;
    }

    /**
     * Sets the shape of the values that {@link Block#initialize} will make.
     *
     * @param shape the shape
     * @throws IllegalStateException if the parameter has values of another shape, or belongs to one of heed's own
     *     blocks, whose parameters have the shapes that follow from the inputs
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
     * Returns the values, whose {@link NDArray#getGradient} is the parameter's unless it is frozen. For a parameter of one
     * of heed's own blocks this is a snapshot. {@code set} on it also
     * changes the parameter: this snapshot and those made later have the new values, and earlier ones keep the old
     * values. On the CPU a snapshot of a projection's weight takes memory of its own until it is closed; {@link #getShape}
     * takes none.
     *
     * @return the values, which belong to the manager of the block's parameters
     * @throws IllegalStateException if the parameter has no values
     */
    public NDArray getArray() {
        if (!isInitialized()) {
            throw new IllegalStateException("the parameter \"" + name + "\" has no values: initialize its block first");
        }
        return array;
    }

    /**
     * Sets the values. One of heed's own blocks copies them, converts them to the type of its present parameter, and
     * waits for calls on other threads that use the parameter. Other blocks keep the array itself.
     *
     * @param array the values
     * @throws IllegalArgumentException if the shape is not the parameter's
     */
    public void setArray(NDArray array) {
        Shape given = Objects.requireNonNull(array, "array").getShape();
        if (array != this.array) {
            Tape.refuse("setArray", array);
        }
        if (shape != null && !shape.equals(given)) {
            throw new IllegalArgumentException(
                    "array has shape " + given + ", but the parameter \"" + name + "\" has " + shape);
        }
        shape = given;
        take(array);
    }

    /** Makes an array the parameter's. Gradients begin with 0. */
    private void take(NDArray taken) {
        if (leaf != null && array != taken) {
            if (array.data().leaf() == leaf) {
                array.data().setLeaf(null);
            }
            leaf.drop();
            leaf = null;
        }
        array = taken;
        if (taken != null && leaf == null) {
            leaf = new OwnParameterLeaf(this, taken);
            taken.data().setLeaf(leaf);
        }
    }

    /** The gradient of a parameter of a subclass of {@link AbstractBlock}. Throws if it has no values. */
    OwnParameterLeaf ownLeaf() {
        getArray();
        return leaf;
    }

    /**
     * Returns the initializer.
     *
     * @return the initializer that was set, otherwise that of the type. Null for a parameter of heed's own blocks, to
     *     which heed gives the first values that {@link Initializer} describes
     */
    public Initializer getInitializer() {
        return initializer;
    }

    /**
     * Sets the initializer.
     *
     * @param initializer makes the first values, when the block is initialized
     */
    public void setInitializer(Initializer initializer) {
        this.initializer = Objects.requireNonNull(initializer, "initializer");
    }

    /**
     * Makes the values, if there are none. {@link AbstractBlock#initialize} calls it.
     *
     * @param manager the owner of the values
     * @param dataType the type of the values
     * @throws IllegalStateException if the shape or the initializer was not set, or the parameter belongs to one of
     *     heed's own blocks, which initializes all its parameters itself
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
        NDArray made = initializer.initialize(manager, shape, dataType);
        setArray(manager.outOfScope(Objects.requireNonNull(made, "initialize's result")));
    }

    /**
     * Freezes the parameter: training does not change it, and it has no gradient. Backward then computes nothing for it.
     * Freezing loses the gradient; the parameters beside it keep theirs, but {@link NDArray#getGradient} returns other
     * arrays for them.
     *
     * @param freeze true to freeze it, false to let training change it
     */
    public void freeze(boolean freeze) {
        frozen = freeze;
        if (freeze && leaf != null) {
            leaf.drop();
        }
    }

    /**
     * Tells whether training changes the parameter.
     *
     * @return false once it is frozen
     */
    public boolean requiresGradient() {
        return !frozen;
    }

    /**
     * Returns the name and, if they are known, the shape and the type, as in "Parameter weight (2, 3) float32".
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

    /** Returns an action that restores the present shape and values of the parameter, and closes any others. */
    Runnable undo() {
        Shape shapeNow = shape;
        NDArray arrayNow = array;
        return () -> {
            if (array != arrayNow) {
                clear();
            }
            take(arrayNow);
            shape = shapeNow;
        };
    }

    /** For a parameter of a subclass of {@link AbstractBlock}. */
    void cast(DataType dataType) {
        NDArray before = getArray();
        take(Tape.unrecorded(() -> before.toType(dataType, true)));
        before.close();
    }

    /** For a parameter of a subclass of {@link AbstractBlock}. */
    void clear() {
        if (array != null) {
            NDArray before = array;
            take(null);
            before.close();
        }
    }

    /** A parameter was given another shape than that of its values. */
    static final class OtherShapeException extends IllegalStateException {
        private static final long serialVersionUID = 1L;

        private OtherShapeException(String message) {
            super(message);
        }
    }

    /** Makes a parameter of a subclass of {@link AbstractBlock}. */
    public static final class Builder {
        private String name;
        private Type type;
        private Shape shape;
        private Initializer initializer;
        private NDArray array;
        private boolean requiresGrad = true;

        private Builder() {}

        @Override
        public String toString() {
            return "Parameter.Builder(name=" + name + ", type=" + type + ", shape=" + shape + ")";
        }

        /**
         * Sets the name, which is required.
         *
         * @param name the name in its block
         * @return this
         */
        public Builder setName(String name) {
            this.name = name;
            return this;
        }

        /**
         * Sets the purpose of the parameter, which is required unless it has an initializer of its own.
         *
         * @param type the type
         * @return this
         */
        public Builder setType(Type type) {
            this.type = type;
            return this;
        }

        /**
         * Sets the shape. Without it, the block sets it in {@link AbstractBlock#prepare}.
         *
         * @param shape the shape
         * @return this
         */
        public Builder optShape(Shape shape) {
            this.shape = shape;
            return this;
        }

        /**
         * Sets the initializer; the default is that of the type.
         *
         * @param initializer makes the first values
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
         * Sets whether training changes the parameter.
         *
         * @param requiresGrad true, the default, if it does
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
         * @throws NullPointerException if the name is missing, or both type and initializer
         */
        public Parameter build() {
            Objects.requireNonNull(name, "name is not set: call setName, as with \"weight\"");
            Parameter made = initializer == null
                    ? new Parameter(name, knownType(), knownType().getInitializer())
                    : new Parameter(name, type == null ? Type.OTHER : type, initializer);
            made.shape = shape;
            made.frozen = !requiresGrad;
            if (array != null) {
                made.setArray(array);
            }
            return made;
        }

        private Type knownType() {
            return Objects.requireNonNull(type, "type is not set: call setType, as with Parameter.Type.WEIGHT");
        }
    }
}
