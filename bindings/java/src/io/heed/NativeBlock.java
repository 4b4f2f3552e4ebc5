// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/** A block that is one layer of heed. */
abstract class NativeBlock implements Block {
    /** How many blocks were made: each has its own seeds. */
    private static final AtomicLong BLOCKS = new AtomicLong();

    private final AtomicLong nextSeed = new AtomicLong(BLOCKS.getAndIncrement() << 32);
    private BlockLayer layer;
    private volatile Shape[] inputShapes;

    /** The name of this kind of block in files. */
    final String kind;

    NativeBlock(String kind) {
        this.kind = kind;
    }

    /** Makes a layer without parameters; throws if an option is invalid. */
    abstract NativeLayer newLayer(NativeContext context);

    /** The last step of every constructor: has heed check the options. */
    final void construct() {
        layer = new BlockLayer(this);
    }

    /**
     * Gives the block parameters for inputs of these shapes: weights drawn from a normal distribution of variance 2 /
     * (size of the input), DJL's default, and biases of 0, or what {@link #setInitializer} says. They belong to the
     * manager: once it is closed the block has none, and can be initialized or loaded anew. A block without parameters
     * outlives the manager. On a block that has its parameters nothing changes, but the shapes and the type are
     * checked; where only some were set, these stay, converted to the type.
     *
     * @param manager the owner of the parameters
     * @param dataType their type: FLOAT32, FLOAT16 or BFLOAT16
     * @param inputShapes the shape of each input, as {@link #forward} takes them
     * @throws IllegalArgumentException if the shapes do not fit each other or the parameters that are there, or the
     *     type is another or not that of the parameters that are there
     * @throws IllegalStateException if the block or the manager is closed
     */
    @Override
    public final void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        NativeContext context = Objects.requireNonNull(manager, "manager").openContext();
        Objects.requireNonNull(dataType, "dataType");
        Shape[] shapes = Objects.requireNonNull(inputShapes, "inputShapes").clone();
        checkInputs(shapes, "inputShapes has " + shapes.length + (shapes.length == 1 ? " shape" : " shapes"));
        try (LayerCall call = LayerCall.in(context)) {
            int validLens = AttentionInputs.indexOfValidLens();
            call.read(context, shapes, index -> index == validLens ? DataType.FLOAT32 : dataType);
            layer.initialize(manager, dataType, call, nextSeed);
            this.inputShapes = shapes;
        }
    }

    /**
     * Tells whether the block has its parameters; one without parameters always has.
     *
     * @return false before {@link #initialize} or {@link #load(Path, String)}, and once the manager of the parameters
     *     is closed
     * @throws IllegalStateException if the block is closed
     */
    @Override
    public final boolean isInitialized() {
        return layer.isInitialized();
    }

    /**
     * Computes the block. The class states its inputs and outputs.
     *
     * @param parameterStore taken as DJL's blocks do
     * @param inputs the inputs, of open managers
     * @param training whether dropout is active: each such call draws another seed, from {@link #setSeed} on
     * @param params not read; may be null
     * @return a list of one new array, which belongs to the first input's manager
     * @throws IllegalArgumentException if the list has more or fewer arrays than the block takes, or sizes, types or
     *     lengths do not fit
     * @throws IllegalStateException if the block is not initialized, or an array, a manager or the block is closed
     */
    @Override
    public final NDList forward(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Objects.requireNonNull(parameterStore, "parameterStore");
        NDArray[] arrays = arraysOf(inputs);
        NDManager manager = arrays[0].getManager();
        layer.bindTo(arrays[0]);
        boolean keep = keepsWeights();
        NativeTensor output = null;
        NativeTensor weights = null;
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            call.read(arrays);
            output = call.createOutput(layer.get(), Wanted.OUTPUT);
            weights = keep ? call.createOutput(layer.get(), Wanted.WEIGHTS) : null;
            call.dropout(training, training ? nextSeed.getAndIncrement() : 0).write(output, weights);
            call.forward(layer.get(), null);
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
            layer.leave(stamp);
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
     * @throws IllegalStateException if the block is not initialized, the workspace is in use, or an array, the
     *     workspace or the block is closed
     * @throws HeedException with {@link Status#WORKSPACE_TOO_SMALL}, naming both sizes
     */
    public final void forward(AttentionInputs inputs, AttentionOutputs outputs, Workspace workspace) {
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(outputs, "outputs");
        layer.bindTo(inputs.getQueries());
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            boolean training = inputs.isTraining();
            long seed = training && !inputs.hasDropoutSeed() ? nextSeed.getAndIncrement() : inputs.getDropoutSeed();
            call.dropout(training, seed).read(inputs).write(outputs);
            call.forward(layer.get(), workspace == null ? null : workspace.handle());
        } finally {
            layer.leave(stamp);
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
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(wanted, "wanted");
        NDManager manager = Objects.requireNonNull(inputs.getQueries(), "queries").getManager();
        layer.bindTo(inputs.getQueries());
        AttentionOutputs made = new AttentionOutputs();
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            call.read(inputs);
            for (Wanted each : wanted.length == 0 ? new Wanted[] {Wanted.OUTPUT} : wanted) {
                if (made.get(Objects.requireNonNull(each, "wanted")) == null) {
                    made.set(each, manager.adopt(call.createOutput(layer.get(), each)));
                }
            }
            return made;
        } catch (Throwable error) {
            made.close();
            throw error;
        } finally {
            layer.leave(stamp);
        }
    }

    /**
     * Returns how large a workspace {@code forward(inputs, outputs, workspace)} needs. One made for the largest sizes
     * serves all that are the same or smaller.
     *
     * @param inputs the inputs, of which only shapes and types are read
     * @param outputs the outputs, likewise
     * @return the number of bytes
     * @throws IllegalArgumentException if the inputs and outputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or it or an array is closed
     */
    public final long workspaceSize(AttentionInputs inputs, AttentionOutputs outputs) {
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(outputs, "outputs");
        layer.bindTo(inputs.getQueries());
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            return call.dropout(false, 0).read(inputs).write(outputs).workspaceSize(layer.get());
        } finally {
            layer.leave(stamp);
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
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(outputs, "outputs");
        layer.bindTo(inputs.getQueries());
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            return call.dropout(inputs.isTraining(), 0).read(inputs).write(outputs).explain(layer.get());
        } finally {
            layer.leave(stamp);
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
        return explain(inputs, false);
    }

    /**
     * Tells how heed would compute {@link #forward(ParameterStore, NDList, boolean)}.
     *
     * @param inputs the list that forward takes
     * @param training whether dropout is active
     * @return JSON text
     * @throws IllegalArgumentException if the inputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or it or an array is closed
     */
    public final String explain(NDList inputs, boolean training) {
        NDArray[] arrays = arraysOf(inputs);
        layer.bindTo(arrays[0]);
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            call.dropout(training, 0).read(arrays);
            try (NativeTensor output = call.createOutput(layer.get(), Wanted.OUTPUT);
                    NativeTensor weights = keepsWeights() ? call.createOutput(layer.get(), Wanted.WEIGHTS) : null) {
                return call.write(output, weights).explain(layer.get());
            }
        } finally {
            layer.leave(stamp);
        }
    }

    /**
     * Reads all parameters from a .safetensors file, under the names that {@code save(path)} writes.
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
     * @param path the file; of a model in several files the index (model.safetensors.index.json), or any of the files
     *     with the index beside it
     * @param prefix what stands before the names, with or without the separator behind it; empty or null: nothing
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
        layer.change(changed -> changed.load(file, before));
    }

    /**
     * Reads all parameters as {@code load(path, prefix)}, where the file says more than the block computes and the
     * program takes that on itself. Of a model in several files all must be there.
     *
     * @param path the file
     * @param prefix what stands before the names; empty or null: nothing
     * @param accept the names of what the file says and the block does not compute, as docs/weights.md has them
     */
    public final void load(Path path, String prefix, String... accept) {
        try (Weights weights = Weights.open(path)) {
            load(weights, prefix, accept);
        }
    }

    /**
     * Reads all parameters as {@code load(path, prefix)} from files that are open already.
     *
     * @param weights the files, which stay open
     * @param prefix what stands before the names; empty or null: nothing
     * @param accept the names of what the files say and the block does not compute, as docs/weights.md has them
     * @throws IllegalStateException if the block or the weights are closed
     */
    public final void load(Weights weights, String prefix, String... accept) {
        Objects.requireNonNull(weights, "weights");
        load(weights.handle(), prefix, accept);
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
        layer.change(changed -> changed.loadMemory(bytes, bytes.limit(), before));
    }

    /**
     * Reads all parameters as {@code load(stream, prefix)}, where the bytes say more than the block computes and
     * the program takes that on itself.
     *
     * @param stream where from
     * @param prefix what stands before the names; empty or null: nothing
     * @param accept the names of what the bytes say and the block does not compute, as docs/weights.md has them
     * @throws IOException as {@link #load(InputStream, String)}
     */
    public final void load(InputStream stream, String prefix, String... accept) throws IOException {
        Objects.requireNonNull(stream, "stream");
        ByteBuffer bytes = Streams.readAll(stream);
        try (NativeWeights weights = NativeWeights.openMemory(Library.context(), bytes, bytes.limit())) {
            weights.keep(bytes);
            load(weights, prefix, accept);
        }
    }

    private void load(NativeWeights weights, String prefix, String... accept) {
        ByteBuffer before = prefix == null ? null : NativeText.of(prefix, "prefix");
        Objects.requireNonNull(accept, "accept");
        for (String name : accept) {
            Objects.requireNonNull(name, "accept");
        }
        try (NativeLoadOptions options = new NativeLoadOptions()) {
            options.setAccept(NativeText.of(String.join(",", accept), "accept"));
            layer.change(changed -> changed.loadWeights(weights, before, options));
        }
    }

    /**
     * Writes all parameters to a .safetensors file, under the names that {@code load(path, prefix)} reads without a
     * prefix. The file is replaced as a whole, or left as it was.
     *
     * @param path the file
     * @throws IllegalStateException if the block is not initialized, or closed
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public final void save(Path path) {
        ByteBuffer file = NativeText.of(path);
        long stamp = layer.enter();
        try {
            layer.get().save(file);
        } finally {
            layer.leave(stamp);
        }
    }

    /**
     * Writes to a stream what {@code save(path)} writes to a file.
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
     * Converts the parameters. Their manager stays the owner.
     *
     * @param dataType their new type: FLOAT32, FLOAT16 or BFLOAT16
     * @throws IllegalArgumentException if it is another
     * @throws IllegalStateException if the block is not initialized, or closed
     */
    @Override
    public final void cast(DataType dataType) {
        layer.cast(Objects.requireNonNull(dataType, "dataType"));
    }

    /**
     * Removes the parameters, so that the block can be initialized or loaded again.
     *
     * @throws IllegalStateException if the block is closed
     */
    @Override
    public final void clear() {
        layer.clear();
        inputShapes = null;
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
        return layer.parameters();
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
        layer.close();
    }

    // ---- what kinds of blocks do differently ------------------------------------------------------------------------

    /** Throws unless forward takes this number of inputs and no required one is null. */
    void checkInputs(Object[] inputs, String found) {
        if (inputs.length != 3 && inputs.length != 4) {
            throw new IllegalArgumentException(
                    found + ", expected 3 or 4: queries, keys, values and, optional, validLens");
        }
        for (int i = 0; i < 3; i++) {
            Objects.requireNonNull(inputs[i], AttentionInputs.nameOf(i));
        }
    }

    /** The smallest output, which is made to check whether inputs fit. */
    Wanted smallestOutput() {
        return Wanted.LOG_SUM_EXP;
    }

    /** Whether forward computes the attention weights as well. */
    boolean keepsWeights() {
        return false;
    }

    /** Takes the weights of a forward, or null where they were not computed. */
    void keepWeights(NDManager manager, NativeTensor weights) {}

    // ---- initialize -------------------------------------------------------------------------------------------------

    /** Returns an action that restores the present input shapes and parameters. The caller closes the snapshots. */
    final Runnable undo(List<NativeTensor> snapshots) {
        Shape[] shapes = inputShapes;
        Runnable undo = layer.undo(snapshots);
        return () -> {
            undo.run();
            inputShapes = shapes;
        };
    }

    // ---- streams ----------------------------------------------------------------------------------------------------

    /** Throws if a parameter is missing. */
    final void checkSavable() {
        long stamp = layer.enter();
        try {
            layer.get().saveMemory(null, 0);
        } finally {
            layer.leave(stamp);
        }
    }

    /** The parameters as the bytes of a .safetensors file. */
    final ByteBuffer savedBytes() throws IOException {
        long stamp = layer.enter();
        try {
            long numBytes = layer.get().saveMemory(null, 0);
            if (numBytes > Integer.MAX_VALUE) {
                throw new IOException("the parameters take " + numBytes
                        + " bytes, more than a stream is given: save(Path) has no such limit");
            }
            ByteBuffer bytes = ByteBuffer.allocateDirect((int) numBytes);
            layer.get().saveMemory(bytes, numBytes);
            return bytes;
        } finally {
            layer.leave(stamp);
        }
    }

    /** Null for a block that was not initialized for shapes. */
    final Shape[] savedShapes() {
        return inputShapes;
    }

    /** Parameters that have been read and checked, for the block to take over. */
    final ParameterFile.Staged stage(NDManager manager, Shape[] shapes, ByteBuffer bytes) {
        NativeLayer made = layer.read(manager, bytes);
        return new ParameterFile.Staged() {
            @Override
            public void commit() {
                layer.replace(made, manager);
                inputShapes = shapes;
            }

            @Override
            public void discard() {
                made.close();
            }
        };
    }

    // ---- inputs -----------------------------------------------------------------------------------------------------

    /** Throws unless forward takes these inputs, and all of them are open. */
    private NDArray[] arraysOf(NDList inputs) {
        NDArray[] arrays = Objects.requireNonNull(inputs, "inputs").toArray(new NDArray[0]);
        checkInputs(arrays, "inputs has " + arrays.length + (arrays.length == 1 ? " array" : " arrays"));
        for (int i = 0; i < arrays.length; i++) {
            NDArray.tensorOf(arrays[i], arrays.length == 1 ? "input" : AttentionInputs.nameOf(i));
        }
        return arrays;
    }

    private Shape[] outputShapes(Shape[] shapes, LayerCall.Types types) {
        checkInputs(shapes, "inputShapes has " + shapes.length + (shapes.length == 1 ? " shape" : " shapes"));
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            call.read(layer.context(), shapes, types);
            try (NativeTensor output = call.createOutput(layer.get(), Wanted.OUTPUT)) {
                return new Shape[] {new Shape(ArrayData.dimsOf(output))};
            }
        } finally {
            layer.leave(stamp);
        }
    }
}
