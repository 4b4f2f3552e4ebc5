// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The base of blocks that a program puts together of other blocks, and of parameters of its own.
 *
 * <p>A class below it makes the blocks inside in its constructor and adds them with {@link #addChildBlock}, initializes
 * them in {@link #initializeChildBlocks}, and computes in {@link #forwardInternal}. Blocks that were not added work,
 * but nothing else here sees them. Whether several threads may use it is the class's to say: the blocks inside may be
 * used so.
 */
public abstract class AbstractBlock implements Block {
    /** How far apart the seeds of two blocks begin. */
    private static final long SEEDS_OF_A_BLOCK = 1L << 32;

    /** The version that {@link #saveParameters} writes and {@link #loadParameters} wants. */
    protected byte version;

    /** The blocks inside, and their names. */
    protected BlockList children = new BlockList();

    /** The parameters of this block itself, by their names. */
    protected LinkedHashMap<String, Parameter> parameters = new LinkedHashMap<>();

    /** The shapes that the block was initialized with; null before. */
    protected Shape[] inputShapes;

    /** Makes a block of version 1. */
    protected AbstractBlock() {
        this((byte) 1);
    }

    /**
     * Makes a block.
     *
     * @param version a number of the class's own, for {@link #saveParameters}
     */
    protected AbstractBlock(byte version) {
        this.version = version;
    }

    /**
     * Computes, by {@link #forwardInternal}.
     *
     * @param parameterStore for the blocks inside
     * @param inputs what the class takes
     * @param training whether dropout is active
     * @param params further arguments; may be null
     * @return what the class gives
     */
    @Override
    public final NDList forward(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Objects.requireNonNull(parameterStore, "parameterStore");
        Objects.requireNonNull(inputs, "inputs");
        return Objects.requireNonNull(
                forwardInternal(parameterStore, inputs, training, params), "forwardInternal's result");
    }

    /**
     * Computes.
     *
     * @param parameterStore for the blocks inside
     * @param inputs what forward was given
     * @param training whether dropout is active
     * @param params further arguments; may be null
     * @return the result
     */
    protected abstract NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params);

    /**
     * Adds a block inside.
     *
     * @param <B> its class
     * @param name its name, before which its number is put: "01name" for the first
     * @param block the block
     * @return the block
     * @throws IllegalArgumentException if the block is this one, or has it inside
     */
    protected final <B extends Block> B addChildBlock(String name, B block) {
        Objects.requireNonNull(name, "name");
        if (holds(Objects.requireNonNull(block, "block"), this)) {
            throw new IllegalArgumentException("block is, or has inside, the block that it is added to");
        }
        children.add(String.format(Locale.ROOT, "%02d%s", children.size() + 1, name), block);
        return block;
    }

    /**
     * Adds a parameter of this block itself, which {@link #initialize} will initialize.
     *
     * @param <P> its class
     * @param parameter the parameter
     * @return the parameter
     * @throws IllegalArgumentException if the block has one of that name already
     */
    protected final <P extends Parameter> P addParameter(P parameter) {
        Objects.requireNonNull(parameter, "parameter");
        if (parameters.putIfAbsent(parameter.getName(), parameter) != null) {
            throw new IllegalArgumentException("the block has a parameter " + parameter.getName() + " already");
        }
        return parameter;
    }

    /**
     * Initializes: {@link #beforeInitialize}; {@link #prepare} on a block that is not initialized, or was for other
     * shapes; the block's own parameters; {@link #initializeChildBlocks}. If any of it throws, the block and those
     * inside have the parameters and the input shapes that they had.
     *
     * @param manager the owner of the parameters
     * @param dataType their type
     * @param inputShapes the shape of each input
     * @throws IllegalArgumentException if parameters that are there, of the block itself or of those inside, do not fit
     *     the shapes
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        Objects.requireNonNull(manager, "manager");
        Objects.requireNonNull(dataType, "dataType");
        Objects.requireNonNull(inputShapes, "inputShapes");
        Shape[] shapesBefore = isInitialized() ? this.inputShapes : null;
        try (BlockState before = new BlockState(this)) {
            try {
                beforeInitialize(inputShapes);
                if (!Arrays.equals(shapesBefore, inputShapes)) {
                    prepare(inputShapes, shapesBefore);
                }
                for (Parameter parameter : parameters.values()) {
                    parameter.initialize(manager, dataType);
                }
                initializeChildBlocks(manager, dataType, inputShapes);
            } catch (Throwable error) {
                before.restore(error);
                throw error;
            }
        }
    }

    private void prepare(Shape[] wanted, Shape[] shapesBefore) {
        try {
            prepare(wanted);
        } catch (Parameter.OtherShapeException error) {
            String had = shapesBefore == null
                    ? ""
                    : ", and the block was initialized for " + Arrays.toString(shapesBefore);
            throw new IllegalArgumentException(
                    "inputShapes are " + Arrays.toString(wanted) + had + ": " + error.getMessage(), error);
        }
    }

    /**
     * Takes note of the shapes. A class that checks them, or needs them, adds to it.
     *
     * @param inputShapes the shape of each input
     */
    protected void beforeInitialize(Shape... inputShapes) {
        this.inputShapes = inputShapes.clone();
    }

    /**
     * Sets the shapes of the block's own parameters. Nothing, unless a class has it. On an initialized block it is
     * called with other shapes, to find out whether the parameters fit them: {@link Parameter#setShape} throws where
     * they do not.
     *
     * @param inputShapes the shape of each input
     */
    protected void prepare(Shape[] inputShapes) {}

    /**
     * Initializes the blocks inside. A class with blocks inside has its own.
     *
     * @param manager the owner of the parameters
     * @param dataType their type
     * @param inputShapes the shape of each input of this block
     * @throws IllegalStateException if there are blocks inside, and this was not overridden
     */
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        if (!children.isEmpty()) {
            throw new IllegalStateException(getClass().getSimpleName()
                    + " has blocks inside, but does not override initializeChildBlocks, which initializes them");
        }
    }

    @Override
    public boolean isInitialized() {
        return inputShapes != null && getParameters().values().stream().allMatch(Parameter::isInitialized);
    }

    @Override
    public Shape[] getInputShapes() {
        if (!isInitialized()) {
            throw new IllegalStateException("the block is not initialized");
        }
        return inputShapes.clone();
    }

    @Override
    public BlockList getChildren() {
        BlockList copy = new BlockList(children.size());
        copy.addAll(children);
        return copy;
    }

    @Override
    public ParameterList getDirectParameters() {
        ParameterList list = new ParameterList(parameters.size());
        for (Map.Entry<String, Parameter> parameter : parameters.entrySet()) {
            list.add(parameter.getKey(), parameter.getValue());
        }
        return list;
    }

    @Override
    public void cast(DataType dataType) {
        Objects.requireNonNull(dataType, "dataType");
        parameters.values().forEach(parameter -> parameter.cast(dataType));
        children.values().forEach(child -> child.cast(dataType));
    }

    @Override
    public void clear() {
        parameters.values().forEach(Parameter::clear);
        children.values().forEach(Block::clear);
        inputShapes = null;
    }

    @Override
    public final void saveParameters(DataOutputStream os) throws IOException {
        ParameterFile.save(this, os);
    }

    @Override
    public final void loadParameters(NDManager manager, DataInputStream is)
            throws IOException, MalformedModelException {
        ParameterFile.load(this, manager, is);
    }

    /**
     * Sets where the random numbers of the blocks inside begin, each elsewhere. The block's own parameters draw theirs
     * from the manager.
     *
     * @param seed any number
     */
    @Override
    public void setSeed(long seed) {
        seed(this, seed);
    }

    /** Closes the blocks inside, and the values of the block's own parameters. */
    @Override
    public void close() {
        children.values().forEach(Block::close);
        parameters.values().forEach(Parameter::clear);
    }

    @Override
    public String toString() {
        return getClass().getSimpleName()
                + children.stream().map(Pair::toString).collect(Collectors.joining(", ", "(", ")"));
    }

    private static boolean holds(Block outer, Block wanted) {
        return outer == wanted
                || outer instanceof AbstractBlock
                        && ((AbstractBlock) outer).children.values().stream().anyMatch(child -> holds(child, wanted));
    }

    /** Where the seeds of the next block begin. */
    private static long seed(Block block, long first) {
        if (!(block instanceof AbstractBlock)) {
            block.setSeed(first);
            return first + SEEDS_OF_A_BLOCK;
        }
        long next = first;
        for (Block child : ((AbstractBlock) block).children.values()) {
            next = seed(child, next);
        }
        return next;
    }
}
