// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Objects;
import java.util.function.Predicate;

/**
 * A computation with parameters, and perhaps with blocks inside: heed's own are {@link Linear}, {@link Dropout}, {@link
 * DotProductAttention}, {@link AdditiveAttention} and {@link MultiHeadAttention}; others are put together below {@link
 * AbstractBlock}.
 */
public interface Block extends AutoCloseable {
    /**
     * Computes.
     *
     * @param parameterStore taken as DJL's blocks do
     * @param inputs what the block says it takes
     * @param training whether dropout is active
     * @return what the block says it gives
     * @throws IllegalArgumentException if the inputs are not what it takes
     * @throws IllegalStateException if the block lacks parameters, or is closed
     */
    default NDList forward(ParameterStore parameterStore, NDList inputs, boolean training) {
        return forward(parameterStore, inputs, training, null);
    }

    /**
     * Computes.
     *
     * @param parameterStore taken as DJL's blocks do
     * @param inputs what the block says it takes
     * @param training whether dropout is active
     * @param params further arguments, which heed's own blocks do not read; may be null
     * @return what the block says it gives
     * @throws IllegalArgumentException if the inputs are not what it takes
     * @throws IllegalStateException if the block lacks parameters, or is closed
     */
    NDList forward(ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params);

    /**
     * Sets what draws the first values of all parameters of a type, those of the blocks inside included. A parameter
     * that has its values keeps them.
     *
     * @param initializer what draws them
     * @param type the type
     */
    default void setInitializer(Initializer initializer, Parameter.Type type) {
        Objects.requireNonNull(type, "type");
        setInitializer(initializer, parameter -> parameter.getType() == type);
    }

    /**
     * Sets the initializer of one of this block's own parameters.
     *
     * @param initializer what draws them
     * @param paramName the parameter's name
     * @throws IllegalArgumentException if the block has no parameter of this name
     */
    default void setInitializer(Initializer initializer, String paramName) {
        Objects.requireNonNull(initializer, "initializer");
        Objects.requireNonNull(paramName, "paramName");
        ParameterList parameters = getDirectParameters();
        Parameter found = parameters.get(paramName);
        if (found == null) {
            throw new IllegalArgumentException(
                    "paramName is \"" + paramName + "\", but the block's parameters are " + parameters.keys());
        }
        found.setInitializer(initializer);
    }

    /**
     * Sets the initializer of some parameters of this block and of the blocks inside it.
     *
     * @param initializer what draws them
     * @param predicate tells which parameters
     */
    default void setInitializer(Initializer initializer, Predicate<Parameter> predicate) {
        Objects.requireNonNull(initializer, "initializer");
        Objects.requireNonNull(predicate, "predicate");
        for (Parameter parameter : getParameters().values()) {
            if (predicate.test(parameter)) {
                parameter.setInitializer(initializer);
            }
        }
    }

    /**
     * Gives the block parameters for inputs of these shapes. Parameters that are there stay: shapes that need others are
     * refused, and {@link #clear} makes room for those. If it fails, nothing has changed.
     *
     * @param manager the owner of the parameters: they end with it
     * @param dataType their type
     * @param inputShapes the shape of each input
     * @throws IllegalArgumentException if the shapes are not what the block takes, or do not fit parameters that are
     *     there, whose shapes the message has
     * @throws IllegalStateException if the block or the manager is closed
     */
    void initialize(NDManager manager, DataType dataType, Shape... inputShapes);

    /**
     * Tells whether the block has all its parameters.
     *
     * @return true if it can compute
     */
    boolean isInitialized();

    /**
     * Converts the parameters.
     *
     * @param dataType the type they get
     * @throws IllegalArgumentException if they cannot be of this type
     * @throws IllegalStateException if the block lacks parameters, or is closed
     */
    void cast(DataType dataType);

    /** Removes the parameters, so that the block can be initialized or loaded again. */
    void clear();

    /**
     * Returns the blocks inside.
     *
     * @return a copy of the list
     */
    BlockList getChildren();

    /**
     * Returns the parameters of this block itself.
     *
     * @return a copy of the list, whether they have values or not
     */
    ParameterList getDirectParameters();

    /**
     * Returns the parameters of this block and of all blocks inside, these with the name of the block and an underscore
     * before their names, as "01W_q_weight".
     *
     * @return a new list, whether they have values or not
     */
    default ParameterList getParameters() {
        ParameterList all = getDirectParameters();
        for (Pair<String, Block> child : getChildren()) {
            for (Pair<String, Parameter> parameter : child.getValue().getParameters()) {
                all.add(child.getKey() + "_" + parameter.getKey(), parameter.getValue());
            }
        }
        return all;
    }

    /**
     * Returns the shapes of the outputs for inputs of these shapes.
     *
     * @param inputShapes the shape of each input
     * @return the shape of each output
     */
    Shape[] getOutputShapes(Shape[] inputShapes);

    /**
     * Returns the shapes of the outputs for inputs of these shapes and types.
     *
     * @param inputShapes the shape of each input
     * @param inputDataTypes the type of each input
     * @return the shape of each output
     */
    default Shape[] getOutputShapes(Shape[] inputShapes, DataType[] inputDataTypes) {
        return getOutputShapes(inputShapes);
    }

    /**
     * Returns the shapes that the block was initialized with.
     *
     * @return the shape of each input, null for one that was left out
     * @throws IllegalStateException if it was not
     */
    Shape[] getInputShapes();

    /**
     * Writes the parameters, in a format of heed's own: DJL cannot read it, nor heed DJL's. It ends with a checksum.
     *
     * @param os where to; it stays open
     * @throws IOException if the stream throws it
     * @throws IllegalStateException if the block lacks parameters
     */
    void saveParameters(DataOutputStream os) throws IOException;

    /**
     * Reads what {@link #saveParameters} of the same block, or one made alike, has written, and nothing behind it. If
     * it fails, nothing has changed.
     *
     * @param manager the owner of the parameters
     * @param is where from; it stays open
     * @throws IOException if the stream throws it; or, as a {@link java.io.EOFException} that says after how many bytes
     *     and what is missing, if it ends early
     * @throws MalformedModelException if the bytes are of another format or version, of another block, or damaged
     */
    void loadParameters(NDManager manager, DataInputStream is) throws IOException, MalformedModelException;

    /**
     * Marks the parameters as those that training would leave alone; {@link Parameter#requiresGradient} tells. heed
     * does not train: nothing else depends on it.
     *
     * @param freeze the mark
     */
    default void freezeParameters(boolean freeze) {
        freezeParameters(freeze, parameter -> true);
    }

    /**
     * Marks some of the parameters, as {@link #freezeParameters(boolean)}.
     *
     * @param freeze the mark
     * @param predicate tells which
     */
    default void freezeParameters(boolean freeze, Predicate<Parameter> predicate) {
        Objects.requireNonNull(predicate, "predicate");
        for (Parameter parameter : getParameters().values()) {
            if (predicate.test(parameter)) {
                parameter.freeze(freeze);
            }
        }
    }

    /**
     * Sets where the random numbers begin: those of {@link #initialize}, and of the dropout of each forward that
     * trains. The same seed repeats the same numbers. A block begins with a seed of its own, the first block of a
     * process always with the same.
     *
     * @param seed any number
     */
    void setSeed(long seed);

    /** Frees the block and the blocks inside it. Memory that a call on another thread uses is freed after that call. */
    @Override
    void close();
}
