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

/**
 * A block that is one layer of the native library: the base of heed's own blocks. Public, so that its methods can be
 * called by reflection; only heed's own blocks extend it.
 */
public abstract class NativeBlock implements Block {
    /** How many blocks were made: each has different seeds. */
    private static final AtomicLong BLOCKS = new AtomicLong();

    private final AtomicLong nextSeed = new AtomicLong(BLOCKS.getAndIncrement() << 32);
    private final Object childrenLock = new Object();
    private BlockLayer layer;
    /** The inputs of the forward that takes a list. */
    private InputList list;
    /** The child blocks; null until they are asked for. Guarded by childrenLock. */
    private BlockList children;
    private volatile Shape[] inputShapes;

    /** The name of this class of blocks in parameter files. */
    final String kind;

    NativeBlock(String kind) {
        this.kind = kind;
    }

    /** Makes a layer without parameters. Throws if an option is invalid. */
    abstract NativeLayer newLayer(NativeContext context);

    /** Makes the layer, which checks the options. The last step of every constructor. */
    final void construct() {
        take(new OwnLayer(this));
    }

    /** The same for the block of a folder, which stays in the context of the manager; null: in the default context. */
    final void constructIn(NDManager manager) {
        take(new OwnLayer(this, manager));
    }

    /** The same for a block that may be the child of another; null: it is none. */
    final void construct(ChildPath path) {
        if (path == null) {
            construct();
        } else {
            take(new ChildLayer(this, path));
        }
    }

    private void take(BlockLayer made) {
        layer = made;
        list = new InputList(made.part().inputs);
    }

    /**
     * Creates the parameters for inputs of these shapes. Weights are drawn from a normal distribution of variance 2 /
     * (size of the input), DJL's default; weights of norms are 1; biases, sinks, bias_k, bias_v and the table of a
     * relative bias are 0; unless {@link #setInitializer} has set another initializer. The parameters belong to the
     * manager: once it is closed the block has none, and can be initialized or loaded again. A block without parameters
     * outlives the manager. If the block already has all its parameters, the call only checks the shapes and the type.
     * If only some were set, they are kept, converted to the type.
     *
     * @param manager the owner of the parameters
     * @param dataType the type of the parameters: FLOAT32, FLOAT16 or BFLOAT16
     * @param inputShapes the shape of each input of {@link #forward}
     * @throws IllegalArgumentException if the shapes do not fit each other or existing parameters, or the type is
     *     another one, or differs from that of existing parameters
     * @throws IllegalStateException if the block or the manager is closed, or the block is the child of another of
     *     heed's blocks and has not all its parameters: the other one makes them
     */
    @Override
    public final void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        NativeContext context = Objects.requireNonNull(manager, "manager").openContext();
        Objects.requireNonNull(dataType, "dataType");
        Shape[] shapes = Objects.requireNonNull(inputShapes, "inputShapes").clone();
        list.check(shapes, "inputShapes", "shape");
        try (LayerCall call = LayerCall.in(context)) {
            call.read(context, list.inOrder(shapes), index -> list.typeAt(index, dataType));
            layer.initialize(manager, dataType, call, nextSeed);
            this.inputShapes = shapes;
        }
    }

    /**
     * Tells whether the block has its parameters. A block without parameters always does.
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
     * Computes the outputs. The class describes the inputs and outputs.
     *
     * @param parameterStore not read; there because DJL's blocks have it
     * @param inputs the inputs, whose managers must be open
     * @param training whether dropout is active: each such call uses the next seed after that of {@link #setSeed}
     * @param params not read; may be null
     * @return a list of one new array, which belongs to the first input's manager
     * @throws IllegalArgumentException if the list does not have the block's number of arrays, or if sizes, types or
     *     lengths do not fit
     * @throws IllegalStateException if the block is not initialized, or an array, a manager or the block is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted; it stays interrupted
     */
    @Override
    public final NDList forward(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        return computed(parameterStore, inputs, null, training);
    }

    /**
     * Computes the outputs, and the attention weights and log-sum-exps of attentions inside the block.
     *
     * @param parameterStore not read; there because DJL's blocks have it
     * @param inputs the inputs, whose managers must be open
     * @param taps which children's; gets new arrays, which belong to the first input's manager. If the call fails, they
     *     are as they were
     * @param training whether dropout is active: each such call uses the next seed after that of {@link #setSeed}
     * @return a list of one new array, which belongs to the first input's manager
     * @throws IllegalArgumentException if the list does not have the block's number of arrays, or if sizes, types or
     *     lengths do not fit, or a child of the taps is no attention, or such a call does not run it
     * @throws IllegalStateException if the block is not initialized, or an array, a manager or the block is closed
     * @throws HeedException with {@link Status#NOT_FOUND} if there is no child of that name; the message has the names
     */
    public final NDList forward(ParameterStore parameterStore, NDList inputs, Taps taps, boolean training) {
        return computed(parameterStore, inputs, Objects.requireNonNull(taps, "taps"), training);
    }

    /** The same; taps may be null. */
    private NDList computed(ParameterStore parameterStore, NDList inputs, Taps taps, boolean training) {
        Objects.requireNonNull(parameterStore, "parameterStore");
        NDArray[] arrays = arraysOf(inputs);
        NDManager manager = arrays[0].getManager();
        layer.bindTo(arrays[0]);
        boolean keep = keepsWeights();
        NativeTensor output = null;
        NativeTensor weights = null;
        Taps tapped = null;
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            call.read(arrays);
            output = call.createOutput(layer.get(), Wanted.OUTPUT);
            weights = keep ? call.createOutput(layer.get(), Wanted.WEIGHTS) : null;
            tapped = taps == null ? null : taps.made(call, layer.get(), manager);
            call.dropout(training, training ? nextSeed.getAndIncrement() : 0).write(output, weights);
            call.write(tapped).forward(layer.get(), null);
            NDArray result = manager.adopt(output);
            keepWeights(manager, weights);
            if (taps != null) {
                taps.take(tapped);
            }
            return new NDList(result);
        } catch (Throwable error) {
            if (output != null) {
                output.close();
            }
            if (weights != null) {
                weights.close();
            }
            if (tapped != null) {
                tapped.close();
            }
            throw error;
        } finally {
            layer.leave(stamp);
        }
    }

    /**
     * Computes the outputs into existing arrays. Without taps Java allocates nothing, and with a workspace neither does
     * heed.
     *
     * @param inputs the arrays to read
     * @param outputs the arrays to write, at least one
     * @param workspace scratch memory for this call alone, of {@link #workspaceSize} bytes; null: heed uses memory of
     *     its own
     * @throws IllegalArgumentException if sizes, types or lengths do not fit, an output is missing or overlaps another
     *     array, or the cache is of another device, of other sizes, or has rows with other rotary positions
     * @throws CacheFullException if the cache has no room for the rows; it is as it was
     * @throws IllegalStateException if the block is not initialized, the workspace or the cache is in use, or an array,
     *     the workspace, the cache or the block is closed
     * @throws UnsupportedOperationException if there is a cache, and this kind of block takes none, or the inputs are
     *     for training
     * @throws HeedException with {@link Status#WORKSPACE_TOO_SMALL}; the message has both sizes
     * @throws java.util.concurrent.CancellationException if the thread is interrupted; it stays interrupted, the outputs
     *     are undefined, and a cache is as it was
     */
    public final void forward(AttentionInputs inputs, AttentionOutputs outputs, Workspace workspace) {
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(outputs, "outputs");
        bindTo(inputs);
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
     * @param wanted the outputs to make; if none is named, the output alone
     * @return outputs of new arrays, which belong to the manager of the queries, or of the keys if there are none;
     *     null for outputs that were not requested
     * @throws IllegalArgumentException if the inputs do not fit each other or the block, or it has no such output
     */
    public final AttentionOutputs createOutputs(AttentionInputs inputs, Wanted... wanted) {
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(wanted, "wanted");
        NDManager manager = Objects.requireNonNull(inputs.first(), "queries").getManager();
        bindTo(inputs);
        AttentionOutputs made = new AttentionOutputs();
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            call.dropout(inputs.isTraining(), 0).read(inputs);
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
     * Makes the arrays of FLOAT32 that calls with these inputs write when {@link AttentionOutputs#setTaps} is given
     * these taps.
     *
     * @param inputs the inputs, of which only shapes and types are read
     * @param taps which children's; gets the arrays, which belong to the manager of the queries, or of the keys if there
     *     are none. If the call fails, the taps are as they were
     * @throws IllegalArgumentException if the inputs do not fit each other or the block, a child is no attention, or
     *     such a call does not run it
     * @throws UnsupportedOperationException if weights of a packed batch are wanted
     * @throws IllegalStateException if an array, a manager or the block is closed
     * @throws HeedException with {@link Status#NOT_FOUND} if there is no child of that name; the message has the names
     */
    public final void createTaps(AttentionInputs inputs, Taps taps) {
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(taps, "taps");
        NDManager manager = Objects.requireNonNull(inputs.first(), "queries").getManager();
        bindTo(inputs);
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            layer.get().checkOpen();
            call.dropout(inputs.isTraining(), 0).read(inputs);
            taps.take(taps.made(call, layer.get(), manager));
        } finally {
            layer.leave(stamp);
        }
    }

    /**
     * Returns the size of the workspace that {@code forward(inputs, outputs, workspace)} needs. A workspace for the
     * largest sizes is enough for all smaller ones.
     *
     * @param inputs the inputs, of which only shapes and types are read. With a cache and keys they may have no
     *     queries: then it is the size that fillCache needs, as {@link MultiHeadAttention#fillCache}
     * @param outputs the outputs, of which only shapes and types are read; without queries they must not be set
     * @return the number of bytes
     * @throws IllegalArgumentException if the inputs and outputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or the block or an array is closed
     */
    public final long workspaceSize(AttentionInputs inputs, AttentionOutputs outputs) {
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(outputs, "outputs");
        bindTo(inputs);
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            return call.dropout(false, 0).read(inputs).write(outputs).workspaceSize(layer.get());
        } finally {
            layer.leave(stamp);
        }
    }

    /**
     * Tells how heed would compute a forward, without computing it: its operations, their kernels and costs,
     * and the reasons if it is not the fastest path.
     *
     * @param inputs the inputs, of which shapes, types and lengths are read
     * @param outputs the outputs, of which shapes and types are read
     * @return JSON text
     * @throws IllegalArgumentException if the inputs and outputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or the block or an array is closed
     */
    public final String explain(AttentionInputs inputs, AttentionOutputs outputs) {
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(outputs, "outputs");
        bindTo(inputs);
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
     * @param inputs the list of inputs of forward
     * @return JSON text
     * @throws IllegalArgumentException if the inputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or the block or an array is closed
     */
    public final String explain(NDList inputs) {
        return explain(inputs, false);
    }

    /**
     * Tells how heed would compute {@link #forward(ParameterStore, NDList, boolean)}.
     *
     * @param inputs the list of inputs of forward
     * @param training whether dropout is active
     * @return JSON text
     * @throws IllegalArgumentException if the inputs do not fit each other or the block
     * @throws IllegalStateException if the block is not initialized, or the block or an array is closed
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
     * Reads all parameters from a .safetensors file, by the names that {@code save(path)} writes.
     *
     * @param path the file
     * @see #load(Path, String)
     */
    public final void load(Path path) {
        load(path, null);
    }

    /**
     * Reads all parameters from a .safetensors file, which may have a whole model: for example W_q from
     * "prefix.W_q.weight" and its bias from "prefix.W_q.bias", or from the names of PyTorch, Hugging Face, Keras, DJL
     * or d2l-java (docs/weights.md lists all). Sizes and types become those of the file; if the block already has its
     * parameters, they stay as they are. Either all parameters are read, or none. If the manager of {@link #initialize}
     * is closed, the block gets new parameters, which belong to the block itself.
     *
     * @param path the file; of a model in several files the index (model.safetensors.index.json), or any of the files
     *     with the index beside it
     * @param prefix the part of the names before the parameter's name, with or without the separator at its end; empty
     *     or null: nothing
     * @throws IllegalArgumentException if a parameter has another shape, the file has a bias and the block has none, or
     *     the file has the parameters by the names of two frameworks, or the block's options are not those of the model
     * @throws UnsupportedOperationException if the file has something that the block cannot compute, such as clipped
     *     queries, keys and values (clip_qkv)
     * @throws IllegalStateException if the block is closed
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it does
     *     not have the format, {@link Status#NOT_FOUND} if a parameter is missing
     * @throws java.util.concurrent.CancellationException if the thread is interrupted before the file is opened; it stays
     *     interrupted, and nothing has changed. A later interruption does not end the call: that of a load from
     *     {@link Weights} does
     */
    public final void load(Path path, String prefix) {
        ByteBuffer file = NativeText.of(path);
        ByteBuffer before = prefix == null ? null : NativeText.of(prefix, "prefix");
        StoppedCalls.check();
        // Not Weights.open, which opens every file of a model: this opens those that have the block's parameters.
        layer.change(changed -> changed.load(file, before));
    }

    /**
     * Reads all parameters as {@code load(path, prefix)} does, from a model with features that the block does not
     * compute: the program accepts them by name and computes them itself. If the model is in several files, all of them
     * must exist.
     *
     * @param path the file
     * @param prefix the part of the names before the parameter's name; empty or null: nothing
     * @param accept the names of the accepted features, as docs/weights.md lists them
     * @throws java.util.concurrent.CancellationException if the thread is interrupted, also during the call; it stays
     *     interrupted, and nothing has changed
     */
    public final void load(Path path, String prefix, String... accept) {
        try (Weights weights = Weights.open(path)) {
            load(weights, prefix, accept);
        }
    }

    /**
     * Reads all parameters as {@code load(path, prefix)} does, from files that are already open.
     *
     * @param weights the files, which stay open
     * @param prefix the part of the names before the parameter's name; empty or null: nothing
     * @param accept the names of the accepted features, as docs/weights.md lists them
     * @throws IllegalStateException if the block or the weights are closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted, also during the call; it stays
     *     interrupted, and nothing has changed
     */
    public final void load(Weights weights, String prefix, String... accept) {
        Objects.requireNonNull(weights, "weights");
        load(weights.handle(), prefix, accept);
    }

    /**
     * Reads all parameters from a stream with the content of a .safetensors file, to its end, piece by piece into native
     * memory, which has no other limit. The stream stays open. Otherwise the same as {@link #load(Path, String)}.
     *
     * @param stream the stream to read from
     * @param prefix the part of the names before the parameter's name, with or without the separator at its
     *     end; empty or null: nothing
     * @throws IOException if the stream throws it, in which case nothing has changed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted while the stream is read; it stays
     *     interrupted, and nothing has changed
     */
    public final void load(InputStream stream, String prefix) throws IOException {
        Objects.requireNonNull(stream, "stream");
        ByteBuffer before = prefix == null ? null : NativeText.of(prefix, "prefix");
        try (NativeBytes bytes = NativeBytes.readAll(stream)) {
            StoppedCalls.check();
            layer.change(changed -> changed.loadMemory(bytes.begin(), bytes.length(), before));
        }
    }

    /**
     * Reads all parameters as {@code load(stream, prefix)} does, from a model with features that the block does not
     * compute: the program accepts them by name and computes them itself.
     *
     * @param stream the stream to read from
     * @param prefix the part of the names before the parameter's name; empty or null: nothing
     * @param accept the names of the accepted features, as docs/weights.md lists them
     * @throws IOException as {@link #load(InputStream, String)}
     */
    public final void load(InputStream stream, String prefix, String... accept) throws IOException {
        Objects.requireNonNull(stream, "stream");
        try (NativeBytes bytes = NativeBytes.readAll(stream);
                NativeWeights weights = NativeWeights.openMemory(Library.context(), bytes.begin(), bytes.length())) {
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
            options.setProgress(StoppedCalls.OF_LOAD);
            StoppedCalls.check();
            layer.change(changed -> changed.loadWeights(weights, before, options));
        }
    }

    /**
     * Writes all parameters to a .safetensors file. {@code load(path, prefix)} reads their names without a prefix. If
     * writing fails, an existing file is unchanged.
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
     * Writes to a stream the bytes that {@code save(path)} writes to a file.
     *
     * @param stream the stream to write to; it stays open
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
     * Converts the parameters to another type. Their manager stays the owner.
     *
     * @param dataType the new type: FLOAT32, FLOAT16 or BFLOAT16
     * @throws IllegalArgumentException if it is another type
     * @throws IllegalStateException if the block is not initialized, closed, that of a {@link Model}, or the child of
     *     another of heed's blocks, which is cast as a whole
     */
    @Override
    public final void cast(DataType dataType) {
        Objects.requireNonNull(dataType, "dataType");
        checkMayLackParameters();
        layer.cast(dataType);
    }

    /**
     * Removes the parameters, so that the block can be initialized or loaded again.
     *
     * @throws IllegalStateException if the block is closed, is that of a {@link Model}, or is the child of another of
     *     heed's blocks, which is cleared as a whole
     */
    @Override
    public final void clear() {
        checkMayLackParameters();
        layer.clear();
        inputShapes = null;
    }

    /**
     * Returns the child blocks, by names such as "self_attention" and "layers.0"; an empty list for a block that is not
     * made of others. They share their parameters with this block: what one of them sets or loads, the other has too. A
     * child computes, loads and saves as any block. Parameters are made, cast and removed for the whole block. Closing
     * this block closes the children; closing a child leaves this block as it is.
     *
     * @return a copy of the list; each call has the same blocks
     */
    @Override
    public final BlockList getChildren() {
        BlockList copy = new BlockList();
        synchronized (childrenLock) {
            if (children == null) {
                children = newChildren();
            }
            copy.addAll(children);
        }
        return copy;
    }

    /**
     * Returns all parameters, those of child blocks by dotted names as "layers.0.self_attention.W_q.weight".
     *
     * @return a copy of the list, also with parameters that have no values
     */
    @Override
    public final ParameterList getDirectParameters() {
        return layer.parameters();
    }

    /**
     * Returns the same parameters as {@link #getDirectParameters}, which has those of child blocks too.
     *
     * @return a copy of the list, also with parameters that have no values
     */
    @Override
    public final ParameterList getParameters() {
        return getDirectParameters();
    }

    /**
     * Returns the shape of the output for FLOAT32 inputs of these shapes. The block need not be initialized.
     *
     * @param inputShapes the shape of each input of {@link #forward}
     * @return an array of one shape
     * @throws IllegalArgumentException if the shapes do not fit each other or the block
     */
    @Override
    public final Shape[] getOutputShapes(Shape[] inputShapes) {
        Objects.requireNonNull(inputShapes, "inputShapes");
        return outputShapes(inputShapes, index -> list.typeAt(index, DataType.FLOAT32));
    }

    /**
     * Returns the shape of the output for inputs of these shapes and types. The block need not be initialized.
     *
     * @param inputShapes the shape of each input of {@link #forward}
     * @param inputDataTypes the type of each input
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
        DataType[] types = list.inOrder(inputDataTypes);
        return outputShapes(inputShapes, index -> Objects.requireNonNull(types[index], "inputDataTypes"));
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

    /**
     * Frees the parameters and closes the child blocks. If a call on another thread uses them, they are freed after
     * that call. Closing twice does nothing. A child of another of heed's blocks leaves the parameters to that one.
     */
    @Override
    public void close() {
        layer.close();
        synchronized (childrenLock) {
            if (children != null) {
                children.values().forEach(Block::close);
            }
        }
    }

    // ---- what kinds of blocks do differently ------------------------------------------------------------------------

    /** The purpose of the parameter of this name. */
    Parameter.Type typeOf(String parameterName) {
        return LayerParameter.typeOf(parameterName);
    }

    /** Makes a child of what its native layer is. */
    NativeBlock newChild(ChildPath path) {
        return ChildBlocks.make(path);
    }

    final InputList list() {
        return list;
    }

    /** Throws if no layer of the block can be made without parameters. */
    void checkMayLackParameters() {}

    /** Whether forward also computes the attention weights. */
    boolean keepsWeights() {
        return false;
    }

    /** Receives the weights of a forward, or null if they were not computed. */
    void keepWeights(NDManager manager, NativeTensor weights) {}

    /** Appends the keys and values of a call to its cache; see {@link MultiHeadAttention#fillCache}. */
    final void appendToCache(AttentionInputs inputs, Workspace workspace) {
        Objects.requireNonNull(inputs, "inputs");
        if (inputs.getKeys() != null) {
            layer.bindTo(inputs.getKeys(), "keys");
        } else {
            bindTo(inputs);
        }
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            call.dropout(inputs.isTraining(), 0).read(inputs);
            call.fillCache(layer.get(), workspace == null ? null : workspace.handle());
        } finally {
            layer.leave(stamp);
        }
    }

    /** Sets a cache's sizes to those of the block. Throws if it uses no cache. */
    final void setCacheSizes(NativeCacheOptions members) {
        long stamp = layer.enter();
        try {
            layer.get().cacheOptions(members);
        } finally {
            layer.leave(stamp);
        }
    }

    /** Moves the layer to the context of the inputs. */
    private void bindTo(AttentionInputs inputs) {
        if (inputs.getQueries() != null) {
            layer.bindTo(inputs.getQueries());
        } else if (inputs.getKeys() != null) {
            layer.bindTo(inputs.getKeys(), "keys");
        } else {
            layer.bindTo(inputs.getMemory(), "memory");
        }
    }

    private BlockList newChildren() {
        BlockList made = new BlockList();
        for (LayerPart child : layer.part().children) {
            made.add(child.name, newChild(new ChildPath(layer, child)));
        }
        return made;
    }

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

    /** The shapes that the block was initialized with; null if it was not initialized for shapes. */
    final Shape[] savedShapes() {
        return inputShapes;
    }

    /**
     * Reads and checks parameters, which the block takes over when they are committed. They are the numBytes from
     * `begin` on, which may be shorter.
     */
    final ParameterFile.Staged stage(NDManager manager, Shape[] shapes, ByteBuffer begin, long numBytes) {
        NativeLayer made = layer.read(manager, begin, numBytes);
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

    /** Returns the inputs as an array. Throws unless forward takes them, and all of them are open. */
    private NDArray[] arraysOf(NDList inputs) {
        NDArray[] arrays = Objects.requireNonNull(inputs, "inputs").toArray(new NDArray[0]);
        list.check(arrays, "inputs", "array");
        NDArray[] inOrder = list.inOrder(arrays);
        for (int i = 0; i < inOrder.length; i++) {
            NDArray.tensorOf(inOrder[i], inOrder.length == 1 ? "input" : AttentionInputs.nameOf(i));
        }
        return inOrder;
    }

    private Shape[] outputShapes(Shape[] shapes, LayerCall.Types types) {
        list.check(shapes, "inputShapes", "shape");
        long stamp = layer.enter();
        try (LayerCall call = LayerCall.in(layer.context())) {
            call.read(layer.context(), list.inOrder(shapes), types);
            try (NativeTensor output = call.createOutput(layer.get(), Wanted.OUTPUT)) {
                return new Shape[] {new Shape(ArrayData.dimsOf(output))};
            }
        } finally {
            layer.leave(stamp);
        }
    }
}
