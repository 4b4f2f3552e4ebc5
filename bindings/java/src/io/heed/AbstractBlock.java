// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The base class for blocks of the program itself, composed of other blocks and parameters.
 *
 * <p>A subclass creates its child blocks in its constructor and adds them with {@link #addChildBlock}, initializes them
 * in {@link #initializeChildBlocks}, and computes in {@link #forwardInternal}. A child block that was not added can
 * still compute, but the other methods of this class do not include it. Whether several threads may use the block is up
 * to the subclass; heed's own blocks allow it.
 */
public abstract class AbstractBlock implements Block {
    /** The distance between the first seeds of two child blocks. */
    private static final long SEEDS_OF_A_BLOCK = 1L << 32;

    /** The version that {@link #saveParameters} writes and {@link #loadParameters} expects. */
    protected byte version;

    /** The child blocks and their names. */
    protected BlockList children = new BlockList();

    /** The parameters of this block itself, without those of its child blocks, by name. */
    protected LinkedHashMap<String, Parameter> parameters = new LinkedHashMap<>();

    /** The shapes that the block was initialized with; null before that. */
    protected Shape[] inputShapes;

    /** Makes a block of version 1. */
    protected AbstractBlock() {
        this((byte) 1);
    }

    /**
     * Makes a block.
     *
     * @param version the version number of the subclass, for {@link #saveParameters}
     */
    protected AbstractBlock(byte version) {
        this.version = version;
    }

    /**
     * Computes the outputs with {@link #forwardInternal}. For training, a block that was never initialized is initialized first
     * for the shapes of the inputs, with parameters of FLOAT32 that belong to the store's manager, as in DJL.
     *
     * @param parameterStore passed on to the child blocks
     * @param inputs the inputs that the subclass describes
     * @param training whether dropout is active
     * @param params further arguments; may be null
     * @return the outputs that the subclass describes
     */
    @Override
    public final NDList forward(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Objects.requireNonNull(parameterStore, "parameterStore");
        Objects.requireNonNull(inputs, "inputs");
        NDManager owner = parameterStore.getManager();
        if (training && inputShapes == null && owner != null && !isInitialized()) {
            initialize(owner, DataType.FLOAT32, inputs.getShapes());
        }
        return Objects.requireNonNull(
                forwardInternal(parameterStore, inputs, training, params), "forwardInternal's result");
    }

    /**
     * Computes the outputs.
     *
     * @param parameterStore passed on to the child blocks
     * @param inputs the inputs that were passed to forward
     * @param training whether dropout is active
     * @param params further arguments; may be null
     * @return the outputs
     */
    protected abstract NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params);

    /**
     * Adds a child block.
     *
     * @param <B> the class of the block
     * @param name the name of the block; in the list of children the block's number is put before it, as in "01name"
     * @param block the block
     * @return the block
     * @throws IllegalArgumentException if the block is this block or contains it
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
     * Adds a parameter of this block itself. {@link #initialize} initializes it.
     *
     * @param <P> the class of the parameter
     * @param parameter the parameter
     * @return the parameter
     * @throws IllegalArgumentException if the block already has a parameter of that name
     */
    protected final <P extends Parameter> P addParameter(P parameter) {
        Objects.requireNonNull(parameter, "parameter");
        if (parameters.putIfAbsent(parameter.getName(), parameter) != null) {
            throw new IllegalArgumentException("the block has a parameter " + parameter.getName() + " already");
        }
        return parameter;
    }

    /**
     * Initializes the block: calls {@link #beforeInitialize}; calls {@link #prepare} if the block is not initialized or
     * was initialized for other shapes; initializes the block's own parameters; calls {@link #initializeChildBlocks}.
     * If any of these throws, the block and its child blocks keep the parameters and the input shapes that they had.
     *
     * @param manager the owner of the parameters
     * @param dataType their type
     * @param inputShapes the shape of each input
     * @throws IllegalArgumentException if existing parameters of the block or of its child blocks do not fit the shapes
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
     * Stores the input shapes. A subclass that checks them, or needs them itself, overrides this method and calls it.
     *
     * @param inputShapes the shape of each input
     */
    protected void beforeInitialize(Shape... inputShapes) {
        this.inputShapes = inputShapes.clone();
    }

    /**
     * Sets the shapes of the block's own parameters. The default does nothing. heed also calls it on an initialized
     * block that gets inputs of other shapes, to check whether the parameters fit: {@link Parameter#setShape} throws if
     * they do not.
     *
     * @param inputShapes the shape of each input
     */
    protected void prepare(Shape[] inputShapes) {}

    /**
     * Initializes the child blocks. A subclass that has child blocks must override it.
     *
     * @param manager the owner of the parameters
     * @param dataType their type
     * @param inputShapes the shape of each input of this block
     * @throws IllegalStateException if there are child blocks and the subclass does not override this method
     */
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        if (!children.isEmpty()) {
            throw new IllegalStateException(getClass().getSimpleName()
                    + " has blocks inside, but does not override initializeChildBlocks, which initializes them");
        }
    }

    @Override
    public boolean isInitialized() {
        ParameterList all = getParameters();
        boolean hasAll = all.values().stream().allMatch(Parameter::isInitialized);
        // Without parameters only initialize tells; those of a file come without shapes.
        return hasAll && (inputShapes != null || !all.isEmpty());
    }

    @Override
    public Shape[] getInputShapes() {
        if (!isInitialized() || inputShapes == null) {
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
     * Writes all parameters to a .safetensors file, for other programs too, by the names of {@link #getParameters}: each
     * array has the name of its parameter, as in "01W_q_weight". If writing fails, an existing file is unchanged.
     *
     * @param path the file
     * @throws IllegalStateException if a parameter has no values, or a block is closed
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public final void save(Path path) {
        ComposedFile.save(this, path);
    }

    /**
     * Reads all parameters from a .safetensors file that {@link #save(Path)} of this block, or of one with the same
     * structure, has written in Java or C#; heed's own blocks inside get theirs as by {@link #loadParameters}. The input
     * shapes stay. A call that fails changes nothing.
     *
     * @param manager the owner of the parameters
     * @param path the file
     * @throws IllegalArgumentException if a parameter has another shape, or the file has an array that is no parameter of
     *     the block
     * @throws UnsupportedOperationException if a block inside is neither one of heed's own nor an AbstractBlock
     * @throws IllegalStateException if the manager or a block is closed
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it does
     *     not have the format, {@link Status#NOT_FOUND} if a parameter is missing
     * @throws java.util.concurrent.CancellationException if the thread is interrupted before all parameters are read; it
     *     stays interrupted, and nothing has changed
     */
    public final void load(NDManager manager, Path path) {
        ComposedFile.load(this, Objects.requireNonNull(manager, "manager"), path);
    }

    /**
     * Sets the seeds of the child blocks, for each a different range of random numbers. The block's own parameters draw
     * their random numbers from the manager.
     *
     * @param seed the first seed; any number
     */
    @Override
    public void setSeed(long seed) {
        seed(this, seed);
    }

    /** Closes the child blocks, and the values of the block's own parameters. */
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

    /**
     * Sets the seeds of the block, or of its child blocks, from `first` on. Returns the first seed for the next block.
     */
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
