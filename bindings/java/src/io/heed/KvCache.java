// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Objects;

/**
 * The projected keys and values of sequences that grow row by row, such as texts that are generated. A {@link
 * MultiHeadAttention} whose inputs have a {@link AttentionInputs#setCache cache} appends the rows of the call to it and
 * attends to all rows of the sequence, so that earlier rows are not projected again; so do decoders, of which each
 * layer has its own. {@link Builder#setBlock} gives a cache the sizes of a block. It belongs to a manager, like an
 * array.
 *
 * <p>Row i of a sequence is the i-th that was appended, from 0; every layer has keys and values of its own for it. A
 * row also has a position: its index, unless {@link AttentionInputs#setPositions} or {@link #discard} say otherwise.
 * Rotary positions, ALiBi, relative bias and windows use the position, causal masks the index.
 *
 * <p>Calls that only read run together. One call at a time changes a cache: another call meanwhile throws
 * IllegalStateException, and changes nothing. All memory is allocated by {@link Builder#build}, and freed by {@link
 * #close} or with the manager. Every method but {@code close}, {@code getManager} and {@code toString} throws
 * IllegalStateException once the cache or its manager is closed.
 */
public final class KvCache implements AutoCloseable {
    private final NDManager manager;
    private final Builder options;
    private final NativeCache handle;
    private final long numBytes;

    private KvCache(NDManager manager, Builder options) {
        this.manager = Objects.requireNonNull(manager, "manager");
        this.options = options;
        NativeContext context = manager.openContext();
        try (NativeCacheOptions members = options.toNative()) {
            numBytes = NativeCache.size(members);
            handle = NativeCache.create(context, members);
        }
        handle.count(numBytes);
        NativeMemory.limit();
        manager.own(handle);
    }

    /**
     * Begins a cache.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns the manager that the cache belongs to, which may be closed.
     *
     * @return the manager
     */
    public NDManager getManager() {
        return manager;
    }

    /**
     * Returns the size of the cache's memory, all of which was allocated when the cache was made.
     *
     * @return the number of bytes
     */
    public long getNumBytes() {
        handle.checkOpen();
        return numBytes;
    }

    /**
     * Returns how many pages no sequence has. In a contiguous cache and in a ring a page has all rows of a sequence,
     * and there are maxSequences of them.
     *
     * @return the number of pages
     */
    public long getFreePages() {
        return handle.freePages();
    }

    /**
     * Returns the number of rows of a sequence that all layers have, with those that a ring has dropped. While another
     * call changes the cache, it is the length before or after that call.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @return the number of rows
     * @throws IllegalArgumentException if there is no such sequence
     */
    public long length(long sequence) {
        return handle.length(sequence);
    }

    /**
     * Returns the oldest row after the sinks that is kept. A ring keeps up to 79 rows more than a query attends to, so
     * that these can be rewound.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @return the index of the row; 0 if no row was dropped
     * @throws IllegalArgumentException if there is no such sequence
     */
    public long first(long sequence) {
        return handle.first(sequence);
    }

    /**
     * Gives a sequence pages for a number of rows, so that appending up to there has room, unless the sequence shares a
     * page with a fork. Does nothing if it has them.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @param length the number of rows, from the first of the sequence
     * @throws IllegalArgumentException if there is no such sequence, or the length is negative
     * @throws CacheFullException if there are too few free pages, or the length is above capacity
     * @throws IllegalStateException if another call uses the cache
     */
    public void reserve(long sequence, long length) {
        handle.reserve(sequence, length);
    }

    /**
     * Drops the last rows of a sequence, in all layers, and frees their pages, also those that were reserved. What
     * follows has the same bits as if the rows had never been appended.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @param length the number of rows that stay; 0 empties the sequence
     * @throws IllegalArgumentException if there is no such sequence, it has fewer rows, or a ring has dropped rows that
     *     the next query would attend to; the message names the oldest row that is kept
     * @throws IllegalStateException if another call uses the cache
     */
    public void rewind(long sequence, long length) {
        handle.rewind(sequence, length);
    }

    /**
     * Makes a sequence a copy of the first rows of another one. The two share pages; a page is copied when one of them
     * first writes to it. If from and to are the same, it is {@link #rewind}.
     *
     * @param from the sequence that is copied, 0 to maxSequences - 1
     * @param length the number of rows of the copy, as for {@link #rewind}
     * @param to the sequence that becomes the copy, and loses its rows
     * @throws IllegalArgumentException if there is no such sequence, or no such length
     * @throws IllegalStateException if another call uses the cache
     */
    public void fork(long from, long length, long to) {
        handle.fork(from, length, to);
    }

    /**
     * Makes each sequence i a copy of what the sequence sources[i] was before the call, as a beam search needs it.
     * Pages are shared as by {@link #fork}.
     *
     * @param sources a sequence, 0 to maxSequences - 1, for each of the first sequences. One may be the source of
     *     several or of none; later sequences stay as they are
     * @throws IllegalArgumentException if there are more sources than sequences, or a source is no sequence
     * @throws IllegalStateException if another call uses the cache
     */
    public void reorder(long... sources) {
        handle.reorder(Objects.requireNonNull(sources, "sources"));
    }

    /**
     * Keeps some of the last rows of a sequence and drops the others: the accepted path of a tree of drafts. Rows from
     * + kept[0], from + kept[1], ... move to from, from + 1, ... with their positions. All layers must have the same
     * rows.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @param from the first row that may be dropped
     * @param kept the rows that are kept, counted from there, in rising order; none: all from there on are dropped
     * @throws IllegalArgumentException if there is no such sequence or row, a ring has dropped it, the numbers do not
     *     rise, or layers have different lengths
     * @throws CacheFullException if pages that are shared with a fork must be copied, and there are too few free ones
     * @throws IllegalStateException if another call uses the cache
     */
    public void accept(long sequence, long from, long... kept) {
        handle.accept(sequence, from, Objects.requireNonNull(kept, "kept"));
    }

    /**
     * Drops rows in the middle of a sequence; later rows move down and keep their positions, so that there is a gap.
     * All layers must have the same rows.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @param first the first row that is dropped
     * @param numRows how many rows are dropped
     * @throws IllegalArgumentException if there is no such sequence, it does not have these rows, or layers have
     *     different lengths
     * @throws CacheFullException if pages that are shared with a fork must be copied, and there are too few free ones
     * @throws IllegalStateException if another call uses the cache
     */
    public void discard(long sequence, long first, long numRows) {
        discard(sequence, first, numRows, false);
    }

    /**
     * Drops rows in the middle of a sequence; later rows move down. All layers must have the same rows.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @param first the first row that is dropped
     * @param numRows how many rows are dropped
     * @param renumber false: later rows keep their positions, and there is a gap. True: numRows is subtracted from
     *     their positions, and keys with rotary positions are rotated back, which rounds them once more, unless
     *     unrotatedKeys is set
     * @throws IllegalArgumentException if there is no such sequence, it does not have these rows, layers have different
     *     lengths, or positions would be negative
     * @throws UnsupportedOperationException if rotary positions of INT8 keys would be renumbered without unrotatedKeys,
     *     or rotary positions of a cache that was loaded and that no block has used since
     * @throws CacheFullException if pages that are shared with a fork must be copied, and there are too few free ones
     * @throws IllegalStateException if another call uses the cache
     */
    public void discard(long sequence, long first, long numRows, boolean renumber) {
        handle.discard(sequence, first, numRows, renumber ? 1 : 0);
    }

    /**
     * Copies the rows of a layer that are kept, in their order, also those that other layers do not have yet. Keys are
     * as they are kept: rotated, unless unrotatedKeys is set.
     *
     * @param layer the layer, 0 to numLayers - 1
     * @param sequence the sequence, 0 to maxSequences - 1
     * @return new arrays of the cache's manager: keys (numKvHeads, rows, headSize) and values (numKvHeads, rows,
     *     valueHeadSize), of the cache's type, or of FLOAT32 if that is INT8
     * @throws IllegalArgumentException if there is no such layer or sequence
     * @throws IllegalStateException if another call changes the cache
     */
    public NDList read(long layer, long sequence) {
        long numRows = handle.numRows(layer, sequence);
        DataType type = options.dataType == DataType.INT8 ? DataType.FLOAT32 : options.dataType;
        long valueHeadSize = options.valueHeadSize == 0 ? options.headSize : options.valueHeadSize;
        NDList made = new NDList();
        try {
            made.add(manager.create(new Shape(options.numKvHeads, numRows, options.headSize), type));
            made.add(manager.create(new Shape(options.numKvHeads, numRows, valueHeadSize), type));
            handle.read(layer, sequence, made.get(0).tensor(), made.get(1).tensor());
            return made;
        } catch (Throwable error) {
            made.close();
            throw error;
        }
    }

    /**
     * Writes the rows of a sequence that all layers have to a .safetensors file, without those that a ring has dropped.
     * If writing fails, an existing file is unchanged.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @param path the file
     * @throws IllegalArgumentException if there is no such sequence
     * @throws IllegalStateException if another call changes the cache
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public void save(long sequence, Path path) {
        handle.save(sequence, NativeText.of(path));
    }

    /**
     * Replaces the rows of a sequence by those of a file that {@link #save} has written, also from a cache of another
     * layout, page size, capacity or number of sequences. What follows has the same bits as in that cache, if both keep
     * the same rows. If it fails, the sequence is as it was.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @param path the file
     * @throws IllegalArgumentException if there is no such sequence, or the file is of a cache with other layers,
     *     heads, head sizes, data type, unrotatedKeys or rotary positions; the message names both
     * @throws CacheFullException if there is no room for the rows
     * @throws IllegalStateException if another call uses the cache
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it does
     *     not have the format, {@link Status#NOT_FOUND} if it is no file of a cache
     */
    public void load(long sequence, Path path) {
        handle.load(sequence, NativeText.of(path));
    }

    /**
     * Returns the bytes that {@link #save} writes to a file.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @return the bytes, for {@link #load(long, byte[])}
     * @throws IllegalArgumentException if there is no such sequence
     * @throws IllegalStateException if another call changes the cache, or there are more bytes than a Java array can
     *     hold
     */
    public byte[] toBytes(long sequence) {
        long numBytes = handle.saveMemory(sequence, null, 0);
        if (numBytes > ArrayData.MAX_JAVA_ARRAY) {
            throw new IllegalStateException("sequence " + sequence + " takes " + numBytes
                    + " bytes, more than a Java array can hold: save(sequence, path) has no such limit");
        }
        ByteBuffer memory = Buffers.direct((int) numBytes);
        // Another thread may have dropped rows meanwhile.
        byte[] bytes = new byte[(int) handle.saveMemory(sequence, memory, numBytes)];
        memory.get(bytes);
        return bytes;
    }

    /**
     * Replaces the rows of a sequence by those that {@link #toBytes} has returned, as {@link #load(long, Path)} does.
     *
     * @param sequence the sequence, 0 to maxSequences - 1
     * @param bytes the bytes
     * @throws IllegalArgumentException if there is no such sequence, or the bytes are of a cache with other layers,
     *     heads, head sizes, data type, unrotatedKeys or rotary positions; the message names both
     * @throws CacheFullException if there is no room for the rows
     * @throws IllegalStateException if another call uses the cache
     * @throws HeedException with {@link Status#CORRUPT_FILE} if the bytes do not have the format, {@link
     *     Status#NOT_FOUND} if they are not those of a cache
     */
    public void load(long sequence, byte[] bytes) {
        ByteBuffer memory = Buffers.direct(Objects.requireNonNull(bytes, "bytes").length);
        memory.put(bytes);
        handle.loadMemory(sequence, memory, bytes.length);
    }

    /**
     * Frees the memory. If a call on another thread uses the cache, it is freed after that call. Closing twice does
     * nothing.
     */
    @Override
    public void close() {
        handle.close();
    }

    @Override
    public String toString() {
        return "KvCache " + options.layout + " " + options.dataType.name() + " " + numBytes + " bytes"
                + (handle.isOpen() ? "" : " (closed)");
    }

    /** The native cache. Throws if it is closed. */
    NativeCache open() {
        handle.checkOpen();
        return handle;
    }

    /** Makes a cache. What a layout does not use must be 0. */
    public static final class Builder implements Cloneable {
        private long numLayers;
        private long maxSequences;
        private long numKvHeads;
        private long headSize;
        private long valueHeadSize;
        private long capacity;
        private long numSinks;
        private long pageSize;
        private long numPages;
        private CacheLayout layout = CacheLayout.CONTIGUOUS;
        private DataType dataType = DataType.FLOAT32;
        private boolean unrotatedKeys;

        private Builder() {}

        @Override
        public String toString() {
            return "KvCache.Builder(layout=" + layout + ", dataType=" + dataType.name() + ", numLayers=" + numLayers
                    + ", maxSequences=" + maxSequences + ", numKvHeads=" + numKvHeads + ", headSize=" + headSize
                    + ", capacity=" + capacity + ")";
        }

        /**
         * Sets numLayers, numKvHeads, headSize and valueHeadSize to those of a block.
         *
         * @param block a {@link MultiHeadAttention}, {@link TransformerDecoderBlock}, {@link TransformerDecoder},
         *     {@link Transformer} or {@link ModelBlock}; it need not be initialized, and is not kept
         * @return this
         * @throws UnsupportedOperationException if the block uses no cache, or its attentions have different sizes
         * @throws IllegalStateException if the block is closed
         */
        public Builder setBlock(Block block) {
            Objects.requireNonNull(block, "block");
            if (!(block instanceof NativeBlock)) {
                throw new UnsupportedOperationException(
                        "block is a " + block.getClass().getSimpleName() + ", expected one of heed's own");
            }
            try (NativeCacheOptions members = new NativeCacheOptions()) {
                ((NativeBlock) block).setCacheSizes(members);
                numLayers = members.getNumLayers();
                numKvHeads = members.getNumKvHeads();
                headSize = members.getHeadSize();
                valueHeadSize = members.getValueHeadSize();
            }
            return this;
        }

        /**
         * Sets the number of heads of keys and values in the blocks, which is required unless {@link #setBlock} says
         * it.
         *
         * @param numKvHeads the number, 1 or more: the blocks' numKvHeads, or numHeads if that is 0
         * @return this
         */
        public Builder setNumKvHeads(long numKvHeads) {
            this.numKvHeads = numKvHeads;
            return this;
        }

        /**
         * Sets the size of a head's keys, which is required unless {@link #setBlock} says it.
         *
         * @param headSize the size, 1 to 4096
         * @return this
         */
        public Builder setHeadSize(long headSize) {
            this.headSize = headSize;
            return this;
        }

        /**
         * Sets the largest number of rows of a sequence, which is required.
         *
         * @param capacity the number, 1 to 2147483647; in a ring the rows that a query attends to besides the sinks,
         *     itself included
         * @return this
         */
        public Builder setCapacity(long capacity) {
            this.capacity = capacity;
            return this;
        }

        /**
         * Sets how many layers keep their keys and values in the cache.
         *
         * @param numLayers the number; 0, the default, means 1
         * @return this
         */
        public Builder optNumLayers(long numLayers) {
            this.numLayers = numLayers;
            return this;
        }

        /**
         * Sets how many sequences the cache has, with the numbers from 0 to maxSequences - 1.
         *
         * @param maxSequences the number; 0, the default, means 1
         * @return this
         */
        public Builder optMaxSequences(long maxSequences) {
            this.maxSequences = maxSequences;
            return this;
        }

        /**
         * Sets the size of a head's values.
         *
         * @param valueHeadSize the size, at most 4096; 0, the default, means headSize
         * @return this
         */
        public Builder optValueHeadSize(long valueHeadSize) {
            this.valueHeadSize = valueHeadSize;
            return this;
        }

        /**
         * Sets how many of the first rows a ring never drops (Xiao et al., "Efficient Streaming Language Models with
         * Attention Sinks", 2023).
         *
         * @param numSinks the number; 0 is the default
         * @return this
         */
        public Builder optNumSinks(long numSinks) {
            this.numSinks = numSinks;
            return this;
        }

        /**
         * Sets how many rows a page has, for {@link CacheLayout#PAGED}.
         *
         * @param pageSize a multiple of 16; 0, the default, means 64 on the CPU and 128 on Ascend
         * @return this
         */
        public Builder optPageSize(long pageSize) {
            this.pageSize = pageSize;
            return this;
        }

        /**
         * Sets how many pages all sequences share, which is required for {@link CacheLayout#PAGED}.
         *
         * @param numPages the number, 1 or more
         * @return this
         */
        public Builder optNumPages(long numPages) {
            this.numPages = numPages;
            return this;
        }

        /**
         * Sets where rows are kept.
         *
         * @param layout the layout; the default is {@link CacheLayout#CONTIGUOUS}
         * @return this
         */
        public Builder optLayout(CacheLayout layout) {
            this.layout = Objects.requireNonNull(layout, "layout");
            return this;
        }

        /**
         * Sets the type in which keys and values are kept, which need not be that of the inputs.
         *
         * @param dataType FLOAT32, the default, FLOAT16, BFLOAT16, or INT8 with a FLOAT32 scale for each key and each
         *     value of a head: its largest magnitude / 127
         * @return this
         */
        public Builder optDataType(DataType dataType) {
            this.dataType = Objects.requireNonNull(dataType, "dataType");
            return this;
        }

        /**
         * Sets whether keys are kept as they are before rotary positions, and rotated whenever they are read, which
         * takes time. {@link KvCache#discard(long, long, long, boolean)} can then renumber rows without rounding, also
         * for INT8.
         *
         * @param unrotatedKeys true: they are; false, the default: they are kept rotated. Not for a ring
         * @return this
         */
        public Builder optUnrotatedKeys(boolean unrotatedKeys) {
            this.unrotatedKeys = unrotatedKeys;
            return this;
        }

        /**
         * Makes an empty cache for blocks on the manager's device.
         *
         * @param manager the manager that the cache belongs to
         * @return the cache
         * @throws IllegalArgumentException if an option is out of range, has no meaning for the layout, or the size
         *     overflows
         * @throws UnsupportedOperationException if unrotatedKeys is set for a ring
         * @throws OutOfMemoryError if there is not enough memory
         * @throws IllegalStateException if the manager is closed
         */
        public KvCache build(NDManager manager) {
            try {
                return new KvCache(manager, (Builder) clone());
            } catch (CloneNotSupportedException error) {
                throw new AssertionError(error);
            }
        }

        private NativeCacheOptions toNative() {
            NativeCacheOptions members = new NativeCacheOptions();
            members.setNumLayers(numLayers);
            members.setMaxSequences(maxSequences);
            members.setNumKvHeads(numKvHeads);
            members.setHeadSize(headSize);
            members.setValueHeadSize(valueHeadSize);
            members.setCapacity(capacity);
            members.setNumSinks(numSinks);
            members.setPageSize(pageSize);
            members.setNumPages(numPages);
            members.setLayout(layout.code);
            members.setDtype(dataType.code);
            members.setUnrotatedKeys(unrotatedKeys ? 1 : 0);
            return members;
        }
    }
}
