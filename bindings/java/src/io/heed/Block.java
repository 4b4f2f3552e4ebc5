// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Objects;
import java.util.function.Predicate;

/**
 * A computation with parameters and possibly child blocks. heed's own blocks are {@link Linear}, {@link Dropout},
 * {@link LayerNorm}, {@link FeedForward}, {@link Embedding}, {@link PositionalEncoding}, {@link DotProductAttention},
 * {@link AdditiveAttention}, {@link GeneralAttention}, {@link MultiHeadAttention}, {@link TransformerEncoderBlock},
 * {@link TransformerDecoderBlock}, {@link TransformerEncoder}, {@link TransformerDecoder}, {@link Transformer} and
 * {@link ModelBlock}; a program composes others with {@link SequentialBlock} or as subclasses of {@link
 * AbstractBlock}.
 */
public interface Block extends AutoCloseable {
    /**
     * Computes the outputs without dropout, as {@link #forward(ParameterStore, NDList, boolean)} does without training.
     *
     * @param inputs the inputs that the block describes; null for one that is left out
     * @return the outputs that the block describes
     * @throws IllegalArgumentException if the inputs are not those that the block describes
     * @throws IllegalStateException if the block is not initialized, or is closed
     */
    default NDList forward(NDArray... inputs) {
        return forward(new ParameterStore(), new NDList(Objects.requireNonNull(inputs, "inputs")), false);
    }

    /**
     * Computes the outputs.
     *
     * @param parameterStore not read; there because DJL's blocks have it
     * @param inputs the inputs that the block describes
     * @param training whether dropout is active
     * @return the outputs that the block describes
     * @throws IllegalArgumentException if the inputs are not those that the block describes
     * @throws IllegalStateException if the block is not initialized, or is closed
     */
    default NDList forward(ParameterStore parameterStore, NDList inputs, boolean training) {
        return forward(parameterStore, inputs, training, null);
    }

    /**
     * Computes the outputs.
     *
     * @param parameterStore not read; there because DJL's blocks have it
     * @param inputs the inputs that the block describes
     * @param training whether dropout is active
     * @param params further arguments, which heed's own blocks do not read; may be null
     * @return the outputs that the block describes
     * @throws IllegalArgumentException if the inputs are not those that the block describes
     * @throws IllegalStateException if the block is not initialized, or is closed
     */
    NDList forward(ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params);

    /**
     * Sets the initializer of all parameters of a type, including those of the child blocks. A parameter that already
     * has values keeps them.
     *
     * @param initializer makes the first values
     * @param type the type
     */
    default void setInitializer(Initializer initializer, Parameter.Type type) {
        Objects.requireNonNull(type, "type");
        setInitializer(initializer, parameter -> parameter.getType() == type);
    }

    /**
     * Sets the initializer of one of this block's own parameters.
     *
     * @param initializer makes the first values
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
     * Sets the initializer of some parameters of this block and of its child blocks.
     *
     * @param initializer makes the first values
     * @param predicate selects the parameters
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
     * Creates the parameters for inputs of these shapes. Existing parameters stay. If they do not fit the shapes, the
     * call is refused; {@link #clear} removes them first. A call that fails changes nothing.
     *
     * @param manager the owner of the parameters, which are closed with it
     * @param dataType their type
     * @param inputShapes the shape of each input
     * @throws IllegalArgumentException if the block cannot have inputs of these shapes, or if existing parameters do
     *     not fit them; the message has the parameters' shapes
     * @throws IllegalStateException if the block or the manager is closed
     */
    void initialize(NDManager manager, DataType dataType, Shape... inputShapes);

    /**
     * Tells whether all parameters of the block have values.
     *
     * @return true if it can compute
     */
    boolean isInitialized();

    /**
     * Converts the parameters to another type.
     *
     * @param dataType the new type
     * @throws IllegalArgumentException if they cannot be of this type
     * @throws IllegalStateException if the block is not initialized, or is closed
     */
    void cast(DataType dataType);

    /** Removes the parameters, so that the block can be initialized or loaded again. */
    void clear();

    /**
     * Returns the child blocks.
     *
     * @return a copy of the list
     */
    BlockList getChildren();

    /**
     * Returns the parameters of this block itself.
     *
     * @return a copy of the list, also with parameters that have no values
     */
    ParameterList getDirectParameters();

    /**
     * Returns the parameters of this block and of all blocks inside it. The name of a parameter of a block inside
     * begins with the name of that block and an underscore, as in "01W_q_weight"; in heed's own blocks it is a dot, as
     * in "layers.0.self_attention.W_q.weight".
     *
     * @return a new list, also with parameters that have no values
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
     * @return the shape of each input; null for an input that was left out
     * @throws IllegalStateException if it was not initialized
     */
    Shape[] getInputShapes();

    /**
     * Writes the parameters in heed's own format, which ends with a checksum. DJL cannot read it, and heed cannot read
     * DJL's.
     *
     * @param os the stream to write to; it stays open
     * @throws IOException if the stream throws it
     * @throws IllegalStateException if the block is not initialized
     */
    void saveParameters(DataOutputStream os) throws IOException;

    /**
     * Reads the parameters that {@link #saveParameters} has written, of this block or of one with the same structure.
     * Bytes after them are not read. A call that fails changes nothing.
     *
     * @param manager the owner of the parameters
     * @param is the stream to read from; it stays open
     * @throws IOException if the stream throws it. If the stream ends early, it is a {@link java.io.EOFException} that
     *     says after how many bytes, and what is missing
     * @throws MalformedModelException if the bytes have another format or version, were saved by another block, or are
     *     damaged
     * @throws java.util.concurrent.CancellationException if the thread is interrupted before all parameters are read; it
     *     stays interrupted
     */
    void loadParameters(NDManager manager, DataInputStream is) throws IOException, MalformedModelException;

    /**
     * Freezes the parameters: training does not change them, and they have no gradients; see {@link Parameter#freeze}.
     *
     * @param freeze true to freeze them, false to let training change them
     */
    default void freezeParameters(boolean freeze) {
        freezeParameters(freeze, parameter -> true);
    }

    /**
     * Freezes some of the parameters, as {@link #freezeParameters(boolean)} does.
     *
     * @param freeze true to freeze them, false to let training change them
     * @param predicate selects the parameters
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
     * Sets the seed of the random numbers for {@link #initialize} and for dropout in training. The same seed gives the
     * same numbers. Each block begins with a different seed; the first block of a process always has the same one.
     *
     * @param seed any number
     */
    void setSeed(long seed);

    /** Frees the block and its child blocks. Memory that a call on another thread uses is freed after that call. */
    @Override
    void close();
}
