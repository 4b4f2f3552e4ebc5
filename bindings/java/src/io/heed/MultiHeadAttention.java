// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Multi-head attention (Vaswani et al., "Attention Is All You Need", 2017), with d2l-java's constructor and calls.
 *
 * <p>Its parameters W_q, W_k and W_v are of shape (numHiddens, size of the input), W_o of (numHiddens, numHiddens);
 * scores are divided by the square root of numHiddens / numHeads (d2l-java's own class divides by the square root of
 * 2). The block gets them by {@link #initialize} or {@link #load}. Each forward keeps the attention weights in {@link
 * #attention}, as d2l does; {@link #setKeepAttentionWeights} turns it off.
 *
 * <p>Many threads may call {@code forward} on one block; a call that changes its parameters waits for them.
 */
public final class MultiHeadAttention implements AutoCloseable {
    private static final int BIAS_NONE = 0;
    private static final int BIAS_ALL = 15;
    private static final int WANT_OUTPUT = 1;
    private static final int WANT_WEIGHTS = 2;
    private static final int WANT_LOG_SUM_EXP = 4;
    private static final String[] INPUTS = {"queries", "keys", "values", "valid_lens"};

    /** How many blocks were made: each has its own seeds. */
    private static final AtomicLong BLOCKS = new AtomicLong();

    /** The attention inside, which holds the attention weights of the last forward. */
    public final DotProductAttention attention = new DotProductAttention();

    private final long numHiddens;
    private final long numHeads;
    private final float dropout;
    private final int biases;
    /** Read by calls that use the parameters, written by those that change them. */
    private final ReadWriteLock parameters = new ReentrantReadWriteLock();
    private final Object weightsLock = new Object();
    private final AtomicLong nextSeed = new AtomicLong(BLOCKS.getAndIncrement() << 32);
    private volatile NativeLayer layer;
    private volatile boolean closed;
    private volatile boolean keepAttentionWeights = true;
    /** The array that the block itself put into the public field last, whatever is in it now. Under weightsLock. */
    private NDArray keptWeights;

    /**
     * Makes a block without parameters.
     *
     * @param numHiddens the size of the output, a multiple of numHeads
     * @param numHeads the number of heads H
     * @param dropout the probability, from 0 to below 1, that an attention weight is dropped when training
     * @param useBias whether the four projections add a bias
     * @throws IllegalArgumentException if an argument is out of range, or numHiddens is not a multiple of numHeads
     */
    public MultiHeadAttention(long numHiddens, long numHeads, float dropout, boolean useBias) {
        this.numHiddens = numHiddens;
        this.numHeads = numHeads;
        this.dropout = dropout;
        this.biases = useBias ? BIAS_ALL : BIAS_NONE;
        layer = newLayer(Library.context());
    }

    /**
     * Gives the block parameters for inputs of these shapes: weights drawn from a normal distribution of variance 2 /
     * (size of the input), DJL's default, and biases of 0. They belong to the manager: once it is closed the block has
     * none, and can be initialized or loaded anew. On a block that has its parameters nothing changes, but the shapes
     * and the type are checked.
     *
     * @param manager the owner of the parameters
     * @param dataType their type: FLOAT32, FLOAT16 or BFLOAT16
     * @param inputShapes the shapes of queries (B, Q, E), keys (B, K, E), values (B, K, E) and, optional or null, the
     *     valid lengths (B) or (B, Q)
     * @throws IllegalArgumentException if the shapes do not fit each other or the parameters that are there, or the type
     *     is another or not that of the parameters that are there
     */
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        NativeContext context = Objects.requireNonNull(manager, "manager").openContext();
        Objects.requireNonNull(dataType, "dataType");
        Objects.requireNonNull(inputShapes, "inputShapes");
        checkInputs(inputShapes, "inputShapes has " + inputShapes.length + " shapes");
        parameters.writeLock().lock();
        try (NativeTensor queries = shapeOnly(context, dataType, inputShapes, 0);
                NativeTensor keys = shapeOnly(context, dataType, inputShapes, 1);
                NativeTensor values = shapeOnly(context, dataType, inputShapes, 2);
                NativeTensor validLens = shapeOnly(context, DataType.FLOAT32, inputShapes, 3)) {
            checkNotClosed();
            if (hasParameters()) {
                layer.createOutput(queries, keys, values, validLens, null, null, WANT_LOG_SUM_EXP).close();
                checkParametersAre(dataType);
                return;
            }
            NativeLayer made = newLayer(context);
            try {
                made.initializeFor(queries, keys, values, validLens, null, null, nextSeed.getAndIncrement());
                manager.own(made);
            } catch (Throwable error) {
                made.close();
                throw error;
            }
            replaceLayer(made);
        } finally {
            parameters.writeLock().unlock();
        }
    }

    /**
     * Tells whether the block has its parameters.
     *
     * @return false before {@link #initialize} or {@link #load}, and once the manager of the parameters is closed
     * @throws IllegalStateException if the block is closed
     */
    public boolean isInitialized() {
        parameters.readLock().lock();
        try {
            return hasParameters();
        } finally {
            parameters.readLock().unlock();
        }
    }

    /**
     * Attends.
     *
     * @param parameterStore taken as DJL's blocks do
     * @param inputs queries (B, Q, E), keys (B, K, E), values (B, K, E), of one type of FLOAT32, FLOAT16 and BFLOAT16,
     *     and, optional or null, the valid lengths (B) or (B, Q) of FLOAT32, INT32 or INT64: a query attends to as many
     *     keys from the first
     * @param training whether to drop attention weights; each such call draws new ones to drop, from {@link #setSeed}
     *     on
     * @return a list of one array (B, Q, numHiddens) of the queries' type, which belongs to the queries' manager
     * @throws IllegalArgumentException if the list has not three or four arrays, or sizes, types or lengths do not fit
     * @throws IllegalStateException if the block is not initialized, or an array, a manager or the block is closed
     */
    public NDList forward(ParameterStore parameterStore, NDList inputs, boolean training) {
        Objects.requireNonNull(parameterStore, "parameterStore");
        Objects.requireNonNull(inputs, "inputs");
        NDArray[] arrays = inputs.toArray(new NDArray[0]);
        checkInputs(arrays, "inputs has " + arrays.length + " arrays");
        NDManager manager = arrays[0].getManager();
        NativeTensor queries = arrays[0].tensor();
        NativeTensor keys = arrays[1].tensor();
        NativeTensor values = arrays[2].tensor();
        NativeTensor validLens = arrays.length == 4 && arrays[3] != null ? arrays[3].tensor() : null;
        boolean keep = keepAttentionWeights;
        NativeTensor output = null;
        NativeTensor weights = null;
        parameters.readLock().lock();
        try {
            output = layer.createOutput(queries, keys, values, validLens, null, null, WANT_OUTPUT);
            weights = keep ? layer.createOutput(queries, keys, values, validLens, null, null, WANT_WEIGHTS) : null;
            long seed = training ? nextSeed.getAndIncrement() : 0;
            layer.run(
                    queries, keys, values, validLens, null, null, seed, training ? 1 : 0, null, output, weights, null);
            NDArray result = manager.adopt(output);
            keepWeights(keep ? manager.adopt(headsInBatch(weights)) : null);
            return new NDList(result);
        } catch (Throwable error) {
            if (output != null) {
                output.close();
            }
            throw error;
        } finally {
            if (weights != null) {
                weights.close();
            }
            parameters.readLock().unlock();
        }
    }

    /**
     * Reads all parameters from a .safetensors file, which may be a whole model's: W_q is read from
     * "prefix.W_q.weight", its bias from "prefix.W_q.bias", and so on, or from the names of PyTorch, Hugging Face,
     * Keras, DJL or d2l-java (docs/weights.md has all). Sizes and types are the file's, or, on a block that has its
     * parameters, stay as they are. All or nothing. Once the manager of {@link #initialize} is closed, the block gets
     * parameters anew, which belong to the block.
     *
     * @param path the file
     * @param prefix what stands before the names, without the separator; empty or null: nothing
     * @throws IllegalArgumentException if a parameter has another shape, the file has a bias and the block none, or it
     *     has the parameters under the names of two frameworks
     * @throws UnsupportedOperationException if the file has what the block cannot do, as PyTorch's bias_k
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it is not
     *     what its format says, {@link Status#NOT_FOUND} if a parameter is missing
     */
    public void load(Path path, String prefix) {
        ByteBuffer file = NativeText.of(path);
        ByteBuffer before = prefix == null ? null : NativeText.of(prefix, "prefix");
        parameters.writeLock().lock();
        try {
            checkNotClosed();
            if (layer.isOpen()) {
                layer.load(file, before);
                return;
            }
            NativeLayer made = newLayer(Library.context());
            try {
                made.load(file, before);
            } catch (Throwable error) {
                made.close();
                throw error;
            }
            replaceLayer(made);
        } finally {
            parameters.writeLock().unlock();
        }
    }

    /**
     * Writes all parameters to a .safetensors file, under the names that {@link #load} reads without a prefix. The file
     * is replaced as a whole, or left as it was.
     *
     * @param path the file
     * @throws IllegalStateException if the block is not initialized
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public void save(Path path) {
        ByteBuffer file = NativeText.of(path);
        parameters.readLock().lock();
        try {
            layer.save(file);
        } finally {
            parameters.readLock().unlock();
        }
    }

    /**
     * Sets where the block's random numbers begin: those of {@link #initialize}, and of the dropout of each forward
     * that trains. The same seed repeats the same numbers. A block begins with a seed of its own, the first block of a
     * process always with the same.
     *
     * @param seed any number
     */
    public void setSeed(long seed) {
        nextSeed.set(seed);
    }

    /**
     * Sets whether each forward computes and keeps the attention weights, which take B * H * Q * K elements. The result
     * is the same. Those of the last forward are closed when they are no longer kept.
     *
     * @param keep true, as it is from the beginning, to keep them in {@link #attention}
     */
    public void setKeepAttentionWeights(boolean keep) {
        keepAttentionWeights = keep;
        if (!keep) {
            keepWeights(null);
        }
    }

    /** Frees the parameters; if a call on another thread uses them, after that call. Closing twice does nothing. */
    @Override
    public void close() {
        closed = true;
        layer.close();
    }

    @Override
    public String toString() {
        return "MultiHeadAttention(numHiddens=" + numHiddens + ", numHeads=" + numHeads + ", useBias="
                + (biases != BIAS_NONE) + ", dropout=" + dropout + ")";
    }

    private NativeLayer newLayer(NativeContext context) {
        return NativeLayer.multiHeadAttention(
                context, numHiddens, numHeads, 0, 0, 0, 0, 0, biases, 0, 0, 0, dropout, 0, 0, 0, 0, 0);
    }

    /** Under the write lock. */
    private void replaceLayer(NativeLayer made) {
        layer.close();
        layer = made;
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

    private void checkParametersAre(DataType dataType) {
        for (long index = 0; index < layer.parameterCount(); index++) {
            try (NativeTensor parameter = layer.parameter(NativeText.of(layer.parameterName(index), "name"))) {
                DataType found = DataType.of(parameter.dtype());
                if (found != dataType) {
                    throw new IllegalArgumentException("dataType is " + dataType.name()
                            + ", but the block has parameters of " + found.name() + " already");
                }
            }
        }
    }

    /** Puts the weights of a forward, or null, in the place of those before, which are closed. */
    private void keepWeights(NDArray weights) {
        NDArray before;
        synchronized (weightsLock) {
            before = keptWeights;
            keptWeights = weights;
            attention.attentionWeights = weights;
        }
        if (before != null) {
            before.close();
        }
    }

    /** Three or four inputs, of which the first three are there. */
    private static void checkInputs(Object[] inputs, String found) {
        if (inputs.length != 3 && inputs.length != 4) {
            throw new IllegalArgumentException(
                    found + ", expected 3 or 4: queries, keys, values and, optional, valid_lens");
        }
        for (int i = 0; i < 3; i++) {
            Objects.requireNonNull(inputs[i], INPUTS[i]);
        }
    }

    private static NativeTensor shapeOnly(NativeContext context, DataType dataType, Shape[] shapes, int index) {
        Shape shape = index < shapes.length ? shapes[index] : null;
        return shape == null ? null : NativeTensor.shapeOnly(context, dataType.code, shape.dims());
    }

    /** A view (B * H, Q, K) of weights (B, H, Q, K). */
    private static NativeTensor headsInBatch(NativeTensor weights) {
        return weights.reshape(new long[] {weights.dim(0) * weights.dim(1), weights.dim(2), weights.dim(3)});
    }
}
