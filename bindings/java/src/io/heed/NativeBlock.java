// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.StampedLock;

/** A block that is one layer of heed. */
abstract class NativeBlock implements Block {
    private static final int VALID_LENS = 3;
    private static final String[] INPUTS = {"queries", "keys", "values", "valid_lens"};

    /** How many blocks were made: each has its own seeds. */
    private static final AtomicLong BLOCKS = new AtomicLong();

    /** Read by calls that use the parameters, written by those that change them. It allocates nothing. */
    private final StampedLock lock = new StampedLock();
    private final AtomicLong nextSeed = new AtomicLong(BLOCKS.getAndIncrement() << 32);
    private final ParameterList parameters = new ParameterList();
    private volatile NativeLayer layer;
    private volatile boolean closed;
    private volatile Shape[] inputShapes;
    /** Where the layer was made. Until it is bound to one that the user named, it may be made anew elsewhere. */
    private NativeContext context;
    private volatile boolean bound;
    /** The owner of the parameters; null: the block. */
    private NDManager owner;
    /** The owner of snapshots of parameters that are the block's own. Under nextSeed's lock. */
    private NDManager own;

    /** What it is called in files. */
    final String kind;

    NativeBlock(String kind) {
        this.kind = kind;
    }

    /** A layer without parameters; throws if an option is wrong. */
    abstract NativeLayer newLayer(NativeContext context);

    /** The last step of every constructor: has heed check the options, and learns the parameters' names. */
    final void construct() {
        context = Library.context();
        layer = newLayer(context);
        for (long index = 0; index < layer.parameterCount(); index++) {
            String name = layer.parameterName(index);
            parameters.add(name, new LayerParameter(this, name));
        }
    }

    /**
     * Gives the block parameters for inputs of these shapes: weights drawn from a normal distribution of variance 2 /
     * (size of the input), DJL's default, and biases of 0, or what {@link #setInitializer} says. They belong to the
     * manager: once it is closed the block has none, and can be initialized or loaded anew. A block without parameters
     * outlives the manager. On a block that has its parameters nothing changes, but the shapes and the type are checked.
     *
     * @param manager the owner of the parameters
     * @param dataType their type: FLOAT32, FLOAT16 or BFLOAT16
     * @param inputShapes the shape of each input, as {@link #forward} takes them
     * @throws IllegalArgumentException if the shapes do not fit each other or the parameters that are there, or the type
     *     is another or not that of the parameters that are there
     * @throws IllegalStateException if the block or the manager is closed
     */
    @Override
    public final void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        NativeContext wanted = Objects.requireNonNull(manager, "manager").openContext();
        Objects.requireNonNull(dataType, "dataType");
        Shape[] shapes = Objects.requireNonNull(inputShapes, "inputShapes").clone();
        checkInputs(shapes, "inputShapes has " + shapes.length + (shapes.length == 1 ? " shape" : " shapes"));
        try (NativeInputs inputs = NativeInputs.ofShapes(wanted, shapes, index -> index == VALID_LENS ? DataType.FLOAT32 : dataType)) {
            if (!keepsParametersFor(wanted, inputs, dataType)) {
                NativeLayer made = newLayer(wanted);
                try {
                    inputs.initialize(made, nextSeed.getAndIncrement());
                    drawParameters(made, manager, dataType);
                    manager.own(made);
                } catch (Throwable error) {
                    made.close();
                    throw error;
                }
                replaceUnlessThere(made, wanted, manager, inputs, dataType);
            }
            this.inputShapes = shapes;
        }
    }

    /**
     * Tells whether the block has its parameters; one without parameters always has.
     *
     * @return false before {@link #initialize} or {@link #load(Path, String)}, and once the manager of the parameters is
     *     closed
     * @throws IllegalStateException if the block is closed
     */
    @Override
    public final boolean isInitialized() {
        long stamp = lock.readLock();
        try {
            return hasParameters();
        } finally {
            lock.unlockRead(stamp);
        }
    }

    @Override
    public final NDList forward(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Objects.requireNonNull(parameterStore, "parameterStore");
        NDArray[] arrays = arraysOf(inputs);
        NDManager manager = arrays[0].getManager();
        bindTo(arrays[0]);
        NativeTensor queries = tensor(arrays, 0);
        NativeTensor keys = tensor(arrays, 1);
        NativeTensor values = tensor(arrays, 2);
        NativeTensor validLens = tensor(arrays, 3);
        boolean keep = keepsWeights();
        NativeTensor output = null;
        NativeTensor weights = null;
        long stamp = lock.readLock();
        try {
            output = layer.createOutput(queries, keys, values, validLens, null, null, Wanted.OUTPUT.bit);
            weights = keep
                    ? layer.createOutput(queries, keys, values, validLens, null, null, Wanted.WEIGHTS.bit)
                    : null;
            long seed = training ? nextSeed.getAndIncrement() : 0;
            layer.run(
                    queries, keys, values, validLens, null, null, seed, training ? 1 : 0, null, output, weights, null);
            NDArray result = manager.adopt(output);
            keepWeights(manager, weights);
            return new NDList(result);
        } catch (Throwable error) {
            if (output != null) {
                output.close();
            }
            if (weights != null) {
                weights.close();
            }
            throw error;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /**
     * Computes into arrays that are there: nothing is allocated, neither by Java nor, with a workspace, by heed.
     *
     * @param inputs what is read
     * @param outputs what is written: at least one array
     * @param workspace scratch memory for this call alone, of {@link #workspaceSize} bytes; null: heed keeps its own
     * @throws IllegalArgumentException if sizes, types or lengths do not fit, an output is missing or overlaps another
     *     array
     * @throws IllegalStateException if the block is not initialized, the workspace is in use, or an array, the workspace
     *     or the block is closed
     * @throws HeedException with {@link Status#WORKSPACE_TOO_SMALL}, naming both sizes
     */
    public final void forward(AttentionInputs inputs, AttentionOutputs outputs, Workspace workspace) {
        NDArray queries = inputs.getQueries();
        bindTo(queries);
        long stamp = lock.readLock();
        try {
            boolean training = inputs.isTraining();
            long seed = training && !inputs.hasDropoutSeed() ? nextSeed.getAndIncrement() : inputs.getDropoutSeed();
            layer.run(
                    tensor(queries),
                    tensor(inputs.getKeys()),
                    tensor(inputs.getValues()),
                    tensor(inputs.getValidLens()),
                    tensor(inputs.getMask()),
                    tensor(inputs.getBias()),
                    seed,
                    training ? 1 : 0,
                    workspace == null ? null : workspace.handle(),
                    tensor(outputs.getOutput()),
                    tensor(outputs.getWeights()),
                    tensor(outputs.getLogSumExp()));
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /**
     * Makes arrays of the right shapes for the outputs: output and weights of the inputs' type, logSumExp of FLOAT32.
     *
     * @param inputs the inputs, of which only shapes and types are read
     * @param wanted which outputs; none named: the output alone
     * @return outputs of new arrays, which belong to the queries' manager; null where not wanted
     * @throws IllegalArgumentException if the inputs do not fit each other or the block, or it has no such output
     */
    public final AttentionOutputs createOutputs(AttentionInputs inputs, Wanted... wanted) {
        NDManager manager = Objects.requireNonNull(inputs.getQueries(), "queries").getManager();
        bindTo(inputs.getQueries());
        AttentionOutputs made = new AttentionOutputs();
        long stamp = lock.readLock();
        try {
            for (Wanted each : wanted.length == 0 ? new Wanted[] {Wanted.OUTPUT} : wanted) {
                if (made.get(each) == null) {
                    made.set(each, manager.adopt(NativeInputs.of(inputs).createOutput(layer, each)));
                }
            }
            return made;
        } catch (Throwable error) {
            made.closeArrays();
            throw error;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /**
     * Returns how large a workspace {@link #forward(AttentionInputs, AttentionOutputs, Workspace)} needs. One made for
     * the largest sizes serves all that are the same or smaller.
     *
     * @param inputs the inputs, of which only shapes and types are read
     * @param outputs the outputs, likewise
     * @return the number of bytes
     * @throws IllegalArgumentException if the inputs and outputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or it or an array is closed
     */
    public final long workspaceSize(AttentionInputs inputs, AttentionOutputs outputs) {
        bindTo(inputs.getQueries());
        long stamp = lock.readLock();
        try {
            return NativeInputs.of(inputs).workspaceBytes(layer, outputs);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /**
     * Tells how heed would compute a forward, without computing it: its operations and their kernels, the reasons, and
     * what they cost.
     *
     * @param inputs the inputs, of which shapes, types and lengths are read
     * @param outputs the outputs, of which shapes and types are read
     * @return JSON text
     * @throws IllegalArgumentException if the inputs and outputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or it or an array is closed
     */
    public final String explain(AttentionInputs inputs, AttentionOutputs outputs) {
        int training = inputs.isTraining() ? 1 : 0;
        bindTo(inputs.getQueries());
        long stamp = lock.readLock();
        try {
            return NativeInputs.of(inputs)
                    .explain(
                            layer,
                            training,
                            tensor(outputs.getOutput()),
                            tensor(outputs.getWeights()),
                            tensor(outputs.getLogSumExp()));
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /**
     * Tells how heed would compute {@link #forward(ParameterStore, NDList, boolean)} without training.
     *
     * @param inputs the list that forward takes
     * @return JSON text
     * @throws IllegalArgumentException if the inputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or it or an array is closed
     */
    public final String explain(NDList inputs) {
        NDArray[] arrays = arraysOf(inputs);
        bindTo(arrays[0]);
        NativeInputs natives =
                new NativeInputs(tensor(arrays, 0), tensor(arrays, 1), tensor(arrays, 2), tensor(arrays, 3), null, null);
        long stamp = lock.readLock();
        try (NativeTensor output = natives.createOutput(layer, Wanted.OUTPUT);
                NativeTensor weights = keepsWeights() ? natives.createOutput(layer, Wanted.WEIGHTS) : null) {
            return natives.explain(layer, 0, output, weights, null);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /**
     * Reads all parameters from a .safetensors file, under the names that {@link #save(Path)} writes.
     *
     * @param path the file
     * @see #load(Path, String)
     */
    public final void load(Path path) {
        load(path, null);
    }

    /**
     * Reads all parameters from a .safetensors file, which may be a whole model's: for example W_q from
     * "prefix.W_q.weight", its bias from "prefix.W_q.bias", or from the names of PyTorch, Hugging Face, Keras, DJL or
     * d2l-java (docs/weights.md has all). Sizes and types are the file's, or, on a block that has its parameters, stay
     * as they are. All or nothing. Once the manager of {@link #initialize} is closed, the block gets parameters anew,
     * which belong to the block.
     *
     * @param path the file
     * @param prefix what stands before the names, without the separator; empty or null: nothing
     * @throws IllegalArgumentException if a parameter has another shape, the file has a bias and the block none, or it
     *     has the parameters under the names of two frameworks
     * @throws UnsupportedOperationException if the file has what the block cannot do, as PyTorch's bias_k
     * @throws IllegalStateException if the block is closed
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it is not
     *     what its format says, {@link Status#NOT_FOUND} if a parameter is missing
     */
    public final void load(Path path, String prefix) {
        ByteBuffer file = NativeText.of(path);
        ByteBuffer before = prefix == null ? null : NativeText.of(prefix, "prefix");
        change(layer -> layer.load(file, before));
    }

    /**
     * Reads all parameters from a stream of what a .safetensors file holds, to its end; it stays open. Otherwise as
     * {@link #load(Path, String)}.
     *
     * @param stream where from
     * @param prefix what stands before the names, without the separator; empty or null: nothing
     * @throws IOException if the stream throws it: nothing has changed; or if it has more than 2147483647 bytes, which
     *     only a file may have
     */
    public final void load(InputStream stream, String prefix) throws IOException {
        Objects.requireNonNull(stream, "stream");
        ByteBuffer before = prefix == null ? null : NativeText.of(prefix, "prefix");
        ByteBuffer bytes = Streams.readAll(stream);
        change(layer -> layer.loadMemory(bytes, bytes.limit(), before));
    }

    /**
     * Writes all parameters to a .safetensors file, under the names that {@link #load(Path, String)} reads without a
     * prefix. The file is replaced as a whole, or left as it was.
     *
     * @param path the file
     * @throws IllegalStateException if the block is not initialized, or closed
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public final void save(Path path) {
        ByteBuffer file = NativeText.of(path);
        long stamp = lock.readLock();
        try {
            layer.save(file);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /**
     * Writes to a stream what {@link #save(Path)} writes to a file.
     *
     * @param stream where to; it stays open
     * @throws IOException if the stream throws it, or the parameters take more than 2147483647 bytes, which only a file
     *     may have
     * @throws IllegalStateException if the block is not initialized, or closed
     */
    public final void save(OutputStream stream) throws IOException {
        Objects.requireNonNull(stream, "stream");
        Streams.write(savedBytes(), stream);
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
     * Converts the parameters. They stay those of their manager.
     *
     * @param dataType their new type: FLOAT32, FLOAT16 or BFLOAT16
     * @throws IllegalArgumentException if it is another
     * @throws IllegalStateException if the block is not initialized, or closed
     */
    @Override
    public final void cast(DataType dataType) {
        Objects.requireNonNull(dataType, "dataType");
        long stamp = lock.writeLock();
        try {
            NativeLayer made = copy(context, dataType);
            try {
                checkTypes(made, dataType, "dataType is %s, but parameters can only be of FLOAT32, FLOAT16 or BFLOAT16");
                if (owner != null) {
                    owner.own(made);
                }
            } catch (Throwable error) {
                made.close();
                throw error;
            }
            put(made, context, owner);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /**
     * Drops the parameters: the block can be initialized or loaded anew.
     *
     * @throws IllegalStateException if the block is closed
     */
    @Override
    public final void clear() {
        long stamp = lock.writeLock();
        try {
            checkNotClosed();
            put(newLayer(context), context, null);
            inputShapes = null;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /**
     * Returns an empty list: there are no blocks inside.
     *
     * @return a new list
     */
    @Override
    public final BlockList getChildren() {
        return new BlockList();
    }

    @Override
    public final ParameterList getDirectParameters() {
        ParameterList copy = new ParameterList(parameters.size());
        copy.addAll(parameters);
        return copy;
    }

    /**
     * Returns the shape of the output for FLOAT32 inputs of these shapes. The block need not be initialized.
     *
     * @param inputShapes the shape of each input, as {@link #forward} takes them
     * @return an array of one shape
     * @throws IllegalArgumentException if the shapes do not fit each other or the block
     */
    @Override
    public final Shape[] getOutputShapes(Shape[] inputShapes) {
        Objects.requireNonNull(inputShapes, "inputShapes");
        return outputShapes(inputShapes, index -> DataType.FLOAT32);
    }

    /**
     * Returns the shape of the output for inputs of these shapes and types. The block need not be initialized.
     *
     * @param inputShapes the shape of each input, as {@link #forward} takes them
     * @param inputDataTypes the type of each
     * @return an array of one shape
     * @throws IllegalArgumentException if the shapes or the types do not fit each other or the block
     */
    @Override
    public final Shape[] getOutputShapes(Shape[] inputShapes, DataType[] inputDataTypes) {
        Objects.requireNonNull(inputShapes, "inputShapes");
        Objects.requireNonNull(inputDataTypes, "inputDataTypes");
        if (inputShapes.length != inputDataTypes.length) {
            throw new IllegalArgumentException("inputDataTypes has " + inputDataTypes.length + " types, expected "
                    + inputShapes.length + ", one for each shape");
        }
        return outputShapes(inputShapes, index -> Objects.requireNonNull(inputDataTypes[index], "inputDataTypes"));
    }

    @Override
    public final Shape[] getInputShapes() {
        Shape[] shapes = inputShapes;
        if (shapes == null || !isInitialized()) {
            throw new IllegalStateException("the block was not initialized for inputs of any shapes");
        }
        return shapes.clone();
    }

    @Override
    public final void setSeed(long seed) {
        nextSeed.set(seed);
    }

    /** Frees the parameters; if a call on another thread uses them, after that call. Closing twice does nothing. */
    @Override
    public void close() {
        closed = true;
        layer.close();
        synchronized (nextSeed) {
            if (own != null) {
                own.close();
            }
        }
    }

    // ---- what kinds of blocks do differently ------------------------------------------------------------------------

    /** Throws unless forward takes so many inputs, none of them null that must be there. */
    void checkInputs(Object[] inputs, String found) {
        if (inputs.length != 3 && inputs.length != 4) {
            throw new IllegalArgumentException(
                    found + ", expected 3 or 4: queries, keys, values and, optional, valid_lens");
        }
        for (int i = 0; i < 3; i++) {
            Objects.requireNonNull(inputs[i], INPUTS[i]);
        }
    }

    /** Which output tells most cheaply whether inputs fit. */
    Wanted smallestOutput() {
        return Wanted.LOG_SUM_EXP;
    }

    /** Whether forward computes the attention weights as well. */
    boolean keepsWeights() {
        return false;
    }

    /** Takes the weights of a forward, or null where they were not computed. */
    void keepWeights(NDManager manager, NativeTensor weights) {}

    // ---- parameters -------------------------------------------------------------------------------------------------

    /** A snapshot, whose owner is the manager of the parameters. Writing to it sets the parameter. */
    final NDArray snapshot(LayerParameter parameter) {
        long stamp = lock.readLock();
        try {
            NativeTensor snapshot = layer.parameter(parameter.nativeName);
            NDManager manager = snapshotOwner();
            manager.own(snapshot);
            return new NDArray(manager, snapshot, parameter);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    final NativeTensor currentValue(LayerParameter parameter) {
        long stamp = lock.readLock();
        try {
            return layer.parameter(parameter.nativeName);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /** Null if the parameter has no values. */
    final Shape shapeOf(LayerParameter parameter) {
        long stamp = lock.readLock();
        try {
            return shape(parameter.nativeName);
        } finally {
            lock.unlockRead(stamp);
        }
    }

    private Shape shape(ByteBuffer name) {
        try (NativeTensor snapshot = layer.parameter(name)) {
            return new Shape(dims(snapshot));
        } catch (IllegalStateException error) {
            checkNotClosed();
            return null;
        }
    }

    final void setParameter(LayerParameter parameter, NativeTensor value) {
        change(layer -> layer.setParameter(parameter.nativeName, value));
    }

    private interface Change {
        void make(NativeLayer layer);
    }

    /** Changes the parameters, on a new layer if the manager of those before is closed. */
    private void change(Change change) {
        long stamp = lock.writeLock();
        try {
            checkNotClosed();
            if (layer.isOpen()) {
                change.make(layer);
                return;
            }
            NativeLayer made = newLayer(context);
            try {
                change.make(made);
            } catch (Throwable error) {
                made.close();
                throw error;
            }
            put(made, context, null);
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Where this array is, the block computes from now on, unless it has its place already. Null: nowhere yet. */
    final void bindTo(NDArray array) {
        if (bound || array == null) {
            return;
        }
        NativeContext wanted = array.getManager().openContext();
        long stamp = lock.writeLock();
        try {
            if (!bound && layer.isOpen()) {
                if (wanted != context) {
                    put(copy(wanted, null), wanted, null);
                }
                bound = true;
            }
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** A layer with converted copies of the parameters that are there; type null: as they are. Under the write lock. */
    private NativeLayer copy(NativeContext wanted, DataType dataType) {
        NativeLayer made = newLayer(wanted);
        try {
            boolean complete = dataType != null;
            for (Parameter parameter : parameters.values()) {
                ByteBuffer name = ((LayerParameter) parameter).nativeName;
                if (!complete && shape(name) == null) {
                    continue;
                }
                try (NativeTensor before = layer.parameter(name);
                        NativeTensor after = NativeTensor.create(
                                wanted, dataType == null ? before.dtype() : dataType.code, dims(before))) {
                    after.copy(before);
                    made.setParameter(name, after);
                }
            }
            return made;
        } catch (Throwable error) {
            made.close();
            throw error;
        }
    }

    /** Values of the user's initializers, over those that heed has drawn. */
    private void drawParameters(NativeLayer made, NDManager manager, DataType dataType) {
        for (Parameter parameter : parameters.values()) {
            if (parameter.getInitializer() == null) {
                continue;
            }
            ByteBuffer name = ((LayerParameter) parameter).nativeName;
            try (NDManager drawing = manager.newSubManager();
                    NativeTensor drawn = made.parameter(name)) {
                NDArray values = parameter.getInitializer().initialize(drawing, new Shape(dims(drawn)), dataType);
                Objects.requireNonNull(values, () -> "the initializer of \"" + parameter.getName() + "\" gave null");
                made.setParameter(name, values.tensor());
            }
        }
    }

    /** True if nothing is to be made: the parameters are there, for such inputs, or the block has none at all. */
    private boolean keepsParametersFor(NativeContext wanted, NativeInputs inputs, DataType dataType) {
        long stamp = lock.writeLock();
        try {
            checkNotClosed();
            if (parameters.isEmpty()) {
                inputs.createOutput(layer, smallestOutput()).close();
                if (wanted != context) {
                    put(newLayer(wanted), wanted, null);
                }
                bound = true;
                return true;
            }
            if (!hasParameters()) {
                return false;
            }
            checkFits(inputs, dataType);
            return true;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Another thread may have been faster: then its parameters stay. */
    private void replaceUnlessThere(
            NativeLayer made, NativeContext wanted, NDManager manager, NativeInputs inputs, DataType dataType) {
        long stamp = lock.writeLock();
        try {
            if (hasParameters()) {
                made.close();
                checkFits(inputs, dataType);
            } else {
                put(made, wanted, manager);
            }
        } catch (Throwable error) {
            made.close();
            throw error;
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    private void checkFits(NativeInputs inputs, DataType dataType) {
        inputs.createOutput(layer, smallestOutput()).close();
        checkTypes(layer, dataType, "dataType is %s, but the block has parameters of %s already");
    }

    private void checkTypes(NativeLayer layer, DataType dataType, String sentence) {
        for (Parameter parameter : parameters.values()) {
            try (NativeTensor snapshot = layer.parameter(((LayerParameter) parameter).nativeName)) {
                DataType found = DataType.of(snapshot.dtype());
                if (found != dataType) {
                    throw new IllegalArgumentException(String.format(sentence, dataType.name(), found.name()));
                }
            }
        }
    }

    /** Under the write lock. */
    private void put(NativeLayer made, NativeContext madeIn, NDManager madeFor) {
        layer.close();
        layer = made;
        context = madeIn;
        owner = parameters.isEmpty() ? null : madeFor;
        bound = madeFor != null;
        if (closed) {
            made.close();
        }
    }

    private void checkNotClosed() {
        if (closed) {
            throw new IllegalStateException(layer.closedSentence());
        }
    }

    /** Under either lock. False as well if the parameters were closed with their manager, which may be right now. */
    private boolean hasParameters() {
        try {
            return layer.isInitialized() == 1;
        } catch (IllegalStateException error) {
            checkNotClosed();
            return false;
        }
    }

    private NDManager snapshotOwner() {
        if (owner != null) {
            return owner;
        }
        synchronized (nextSeed) {
            checkNotClosed();
            if (own == null) {
                own = NDManager.newBaseManager();
            }
            return own;
        }
    }

    // ---- streams ----------------------------------------------------------------------------------------------------

    /** What a .safetensors file of the parameters holds. */
    final ByteBuffer savedBytes() throws IOException {
        long stamp = lock.readLock();
        try {
            long numBytes = layer.saveBytes(null, 0);
            if (numBytes > Integer.MAX_VALUE) {
                throw new IOException("the parameters take " + numBytes
                        + " bytes, more than a stream is given: save(Path) has no such limit");
            }
            ByteBuffer bytes = ByteBuffer.allocateDirect((int) numBytes);
            layer.saveBytes(bytes, numBytes);
            return bytes;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    /** Null for a block that was not initialized for shapes. */
    final Shape[] savedShapes() {
        return inputShapes;
    }

    /** Parameters that are read and checked, and not yet the block's. */
    final ParameterFile.Staged stage(NDManager manager, Shape[] shapes, ByteBuffer bytes) {
        NativeContext wanted = manager.openContext();
        checkNotClosed();
        NativeLayer made = newLayer(wanted);
        try {
            made.loadMemory(bytes, bytes.limit(), null);
            if (!parameters.isEmpty()) {
                manager.own(made);
            }
        } catch (Throwable error) {
            made.close();
            throw error;
        }
        return new ParameterFile.Staged() {
            @Override
            public void commit() {
                long stamp = lock.writeLock();
                try {
                    put(made, wanted, manager);
                    inputShapes = shapes;
                } finally {
                    lock.unlockWrite(stamp);
                }
            }

            @Override
            public void discard() {
                made.close();
            }
        };
    }

    // ---- inputs -----------------------------------------------------------------------------------------------------

    private NDArray[] arraysOf(NDList inputs) {
        NDArray[] arrays = Objects.requireNonNull(inputs, "inputs").toArray(new NDArray[0]);
        checkInputs(arrays, "inputs has " + arrays.length + (arrays.length == 1 ? " array" : " arrays"));
        return arrays;
    }

    private Shape[] outputShapes(Shape[] shapes, NativeInputs.Types types) {
        checkInputs(shapes, "inputShapes has " + shapes.length + (shapes.length == 1 ? " shape" : " shapes"));
        long stamp = lock.readLock();
        try (NativeInputs inputs = NativeInputs.ofShapes(context, shapes, types);
                NativeTensor output = inputs.createOutput(layer, Wanted.OUTPUT)) {
            return new Shape[] {new Shape(dims(output))};
        } finally {
            lock.unlockRead(stamp);
        }
    }

    private static NativeTensor tensor(NDArray[] arrays, int index) {
        return index < arrays.length ? tensor(arrays[index]) : null;
    }

    private static NativeTensor tensor(NDArray array) {
        return array == null ? null : array.tensor();
    }

    private static long[] dims(NativeTensor tensor) {
        long[] dims = new long[tensor.rank()];
        for (int axis = 0; axis < dims.length; axis++) {
            dims[axis] = tensor.dim(axis);
        }
        return dims;
    }
}
