// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.ObjLongConsumer;

/**
 * The inputs of a block such as {@link MultiHeadAttention} for {@code forward(inputs, outputs, workspace)}. Make them
 * once and use them for many calls. An input that is not set is null, false or 0. Blocks with one input ({@link
 * Linear}, {@link Dropout}, {@link PositionalEncoding}, {@link LayerNorm}, {@link FeedForward}, {@link Embedding},
 * {@link PatchEmbedding}, {@link AudioEmbedding}) read it as queries. Encoders read their rows as queries, and what their
 * self-attention reads, but no keys and values.
 * Decoders read their rows as queries, the encoder's output as keys, and for their cross attention validLens, mask and
 * bias; those of their self-attention are {@link #setSelfValidLens}, {@link #setSelfMask} and {@link #setSelfBias}. A
 * {@link Transformer} reads what its decoder reads as queries, and what its encoder reads as keys. Blocks with an
 * embedding read ids in place of rows. Not thread-safe.
 *
 * <p>Letters in shapes: B batch, H query heads, Hkv key heads (Hkv divides H), Q queries, K keys, D head size, Dv
 * head size of values; Eq, Ek and Ev input sizes of queries, keys and values.
 *
 * <p>A packed batch has the rows of all batch elements one after another, without padding: {@link #setQueryOffsets}
 * says where each element begins. Queries are then (total, Eq), for {@link DotProductAttention} (total, D) or (H,
 * total, D); likewise keys and values. The output is (total, size), logSumExp (H, total), and there are no weights.
 * For {@link PositionalEncoding} the input is (total, numHiddens), and positions begin at 0 in each element. Without
 * dropout the results have the same bits as those of each element alone.
 *
 * <p>With a {@link #setCache cache}, K is the number of rows of the longest sequence of the batch after the call.
 */
public final class AttentionInputs {
    /** The inputs that are arrays, first those of an input list in its order. */
    private enum Input {
        QUERIES("queries"),
        KEYS("keys"),
        VALUES("values"),
        VALID_LENS("validLens"),
        MASK("mask"),
        BIAS("bias"),
        ALIBI_SLOPES("alibiSlopes"),
        SINKS("sinks"),
        TOKEN_TYPES("tokenTypes"),
        POSITIONS("positions"),
        QUERY_LENS("queryLens"),
        QUERY_OFFSETS("queryOffsets"),
        KEY_OFFSETS("keyOffsets"),
        SELF_VALID_LENS("selfValidLens"),
        SELF_MASK("selfMask"),
        SELF_BIAS("selfBias"),
        MEMORY("memory");

        private static final Input[] ALL = values();

        private final String label;

        Input(String label) {
            this.label = label;
        }
    }

    /** The setters of C's struct of inputs, by the index of the input. */
    static final List<ObjLongConsumer<NativeLayerInputs>> SETTERS = List.of(
            NativeLayerInputs::setQueries,
            NativeLayerInputs::setKeys,
            NativeLayerInputs::setValues,
            NativeLayerInputs::setValidLens,
            NativeLayerInputs::setMask,
            NativeLayerInputs::setBias,
            NativeLayerInputs::setAlibiSlopes,
            NativeLayerInputs::setSinks,
            NativeLayerInputs::setTokenTypes);

    /** Those of the inputs after them, which are in the struct of sequences. */
    static final List<ObjLongConsumer<NativeSequenceInputs>> SEQUENCE_SETTERS = List.of(
            NativeSequenceInputs::setPositions,
            NativeSequenceInputs::setQueryLens,
            NativeSequenceInputs::setQueryOffsets,
            NativeSequenceInputs::setKeyOffsets);

    /** Those of the last inputs, which are in the struct of decoders. */
    static final List<ObjLongConsumer<NativeDecoderInputs>> DECODER_SETTERS = List.of(
            NativeDecoderInputs::setSelfValidLens,
            NativeDecoderInputs::setSelfMask,
            NativeDecoderInputs::setSelfBias,
            NativeDecoderInputs::setMemory);

    private static final String[] NAMES =
            Arrays.stream(Input.ALL).map(input -> input.label).toArray(String[]::new);

    private final NDArray[] arrays = new NDArray[Input.ALL.length];
    private KvCache cache;
    private final SequenceNumbers sequences = new SequenceNumbers();
    private long cacheLayer;
    private CacheUse cacheUse = CacheUse.APPEND;
    private KvCache memoryCache;
    private final SequenceNumbers memorySequences = new SequenceNumbers();
    private long memoryCacheLayer;
    private boolean training;
    private boolean seeded;
    private long dropoutSeed;

    /** Makes inputs, none of which is set. */
    public AttentionInputs() {}

    /**
     * Sets the queries, which are required.
     *
     * @param queries (B, Q, Eq), packed (total, Eq); for {@link DotProductAttention} also (B, H, Q, D), packed (H,
     *     total, D); for {@link PositionalEncoding} (B, S, numHiddens), packed (total, numHiddens); for {@link Linear},
     *     {@link LayerNorm}, {@link FeedForward} and {@link Dropout} any shape; of FLOAT32, FLOAT16 or BFLOAT16. For
     *     {@link Embedding} ids of any shape of up to 7 axes, of INT32 or INT64; for encoders, decoders and a {@link
     *     Transformer} with an embedding ids (B, S), packed (total). Null: the {@link Transformer} computes its
     *     encoder's output alone
     * @return this
     */
    public AttentionInputs setQueries(NDArray queries) {
        return set(Input.QUERIES, queries);
    }

    /**
     * Sets the keys.
     *
     * @param keys (B, K, Ek), or (B, Hkv, K, D), of the queries' type; with a cache one for each query, (B, Q, Ek);
     *     for a {@link Transformer} what its encoder reads: rows (B, S, E), or with an embedding ids (B, S) of INT32 or
     *     INT64; null: the queries, for a {@link Transformer} and a decoder none
     * @return this
     */
    public AttentionInputs setKeys(NDArray keys) {
        return set(Input.KEYS, keys);
    }

    /**
     * Sets the values.
     *
     * @param values (B, K, Ev), or (B, Hkv, K, Dv), of the queries' type; null: the keys
     * @return this
     */
    public AttentionInputs setValues(NDArray values) {
        return set(Input.VALUES, values);
    }

    /**
     * Sets how many keys, from the first, a query may attend to. Not with a cache.
     *
     * @param validLens (B) or (B, Q) of FLOAT32, INT32 or INT64, whole numbers from 0 to K; null: all
     * @return this
     */
    public AttentionInputs setValidLens(NDArray validLens) {
        return set(Input.VALID_LENS, validLens);
    }

    /**
     * Sets which keys a query may attend to. With a cache the mask may also have Q in place of K, and then concerns
     * only the rows of this call.
     *
     * @param mask BOOLEAN of (B, H, Q, K) or (Q, K), where an axis that is repeated has size 1: true = may attend;
     *     null: all
     * @return this
     * @throws IllegalArgumentException if the mask is not BOOLEAN: a mask of 0 and -inf, to be added, is a bias
     */
    public AttentionInputs setMask(NDArray mask) {
        return set(Input.MASK, checkedMask(mask, Input.MASK, "setBias"));
    }

    /**
     * Sets the bias that is added to the scaled scores.
     *
     * @param bias FLOAT32 or the queries' type, of the same shapes as a mask; negative infinity hides a key; null:
     *     nothing
     * @return this
     */
    public AttentionInputs setBias(NDArray bias) {
        return set(Input.BIAS, bias);
    }

    /**
     * Sets the slopes of ALiBi. They lower each scaled score by slope * |distance from query to key|, where the last
     * query has the position of the last key unless {@link #setPositions} says another.
     *
     * @param alibiSlopes FLOAT32 of (H), one for each head, or (1) where there are no heads; {@link #createAlibiSlopes}
     *     makes those of the paper; null: none
     * @return this
     */
    public AttentionInputs setAlibiSlopes(NDArray alibiSlopes) {
        return set(Input.ALIBI_SLOPES, alibiSlopes);
    }

    /**
     * Sets the sinks: for each head one more score in the softmax, without a value.
     *
     * @param sinks FLOAT32 of (H), or (1) where there are no heads; null: none
     * @return this
     */
    public AttentionInputs setSinks(NDArray sinks) {
        return set(Input.SINKS, sinks);
    }

    /**
     * Sets which segment of the text each id belongs to (Devlin et al., "BERT", 2019), for encoders, decoders and a
     * {@link Transformer} with token types.
     *
     * @param tokenTypes INT32 or INT64 with the shape of the ids, each from 0 to numTokenTypes - 1; null: all are 0
     * @return this
     */
    public AttentionInputs setTokenTypes(NDArray tokenTypes) {
        return set(Input.TOKEN_TYPES, tokenTypes);
    }

    /**
     * Sets where each query stands among the keys, of which key j has the position j. The causal mask and the window,
     * whatever their alignment, ALiBi, relative bias and rotary positions use it; {@link PositionalEncoding} adds the
     * row of that position. With a cache: the positions of the rows that are appended, on which causal masks do not
     * depend.
     *
     * @param positions INT32 or INT64 of (B, Q), in a packed batch (total), each from 0 to 2147483647; null: K - Q + i
     *     for rotary positions and ALiBi, what the alignment says for causal mask and window, and the index of the row
     *     for PositionalEncoding; with a cache they continue after the last row's
     * @return this
     */
    public AttentionInputs setPositions(NDArray positions) {
        return set(Input.POSITIONS, positions);
    }

    /**
     * Sets how many queries, from the first, each batch element has. Later rows are padding: they are not computed, and
     * their results are 0, logSumExp negative infinity. In self-attention, padding rows are also hidden as keys.
     *
     * @param queryLens INT32 or INT64 of (B), from 0 to Q; null: all rows are queries
     * @return this
     */
    public AttentionInputs setQueryLens(NDArray queryLens) {
        return set(Input.QUERY_LENS, queryLens);
    }

    /**
     * Sets where the rows of each batch element begin in packed queries: element b has the rows from offset b to below
     * offset b + 1. Not together with queryLens, validLens, mask, bias or weights.
     *
     * @param queryOffsets INT32 or INT64 of (B + 1), from 0 to the number of rows, never falling; null: not packed
     * @return this
     */
    public AttentionInputs setQueryOffsets(NDArray queryOffsets) {
        return set(Input.QUERY_OFFSETS, queryOffsets);
    }

    /**
     * Sets where the rows of each batch element begin in packed keys and values. Not with a cache.
     *
     * @param keyOffsets as queryOffsets, which must be set too; null: not packed, or without keys those of the queries
     * @return this
     */
    public AttentionInputs setKeyOffsets(NDArray keyOffsets) {
        return set(Input.KEY_OFFSETS, keyOffsets);
    }

    /**
     * Sets the validLens of the self-attention of a {@link TransformerDecoderBlock}, {@link TransformerDecoder} or
     * {@link Transformer}. Not with a cache.
     *
     * @param selfValidLens (B) or (B, T) of FLOAT32, INT32 or INT64, whole numbers from 0 to T; null: all
     * @return this
     */
    public AttentionInputs setSelfValidLens(NDArray selfValidLens) {
        return set(Input.SELF_VALID_LENS, selfValidLens);
    }

    /**
     * Sets the mask of the self-attention of a {@link TransformerDecoderBlock} or {@link TransformerDecoder}.
     *
     * @param selfMask BOOLEAN of (B, H, T, T) or (T, T), where an axis that is repeated has size 1: true = may attend;
     *     null: all
     * @return this
     * @throws IllegalArgumentException if the mask is not BOOLEAN: a mask of 0 and -inf, to be added, is a bias
     */
    public AttentionInputs setSelfMask(NDArray selfMask) {
        return set(Input.SELF_MASK, checkedMask(selfMask, Input.SELF_MASK, "setSelfBias"));
    }

    /**
     * Sets the bias that is added to the scaled scores in the self-attention of a {@link TransformerDecoderBlock} or
     * {@link TransformerDecoder}.
     *
     * @param selfBias FLOAT32 or the queries' type, of the same shapes as a selfMask; negative infinity hides a key;
     *     null: nothing
     * @return this
     */
    public AttentionInputs setSelfBias(NDArray selfBias) {
        return set(Input.SELF_BIAS, selfBias);
    }

    /**
     * Sets the encoder's output for the decoder of a {@link Transformer}, so that only the decoder is computed.
     * Decoders by themselves have it as keys.
     *
     * @param memory (B, S, E), which an earlier call without queries gave; null: the encoder computes it from the keys.
     *     With it, keys must be null
     * @return this
     */
    public AttentionInputs setMemory(NDArray memory) {
        return set(Input.MEMORY, memory);
    }

    /**
     * Sets a cache with the keys and values of the encoder's output, for decoders with cross attention and a {@link
     * Transformer}, so that steps do not project them again. {@link Transformer#fillCache} and {@link
     * TransformerDecoder#fillCache} have filled it. The call only reads it. With it, keys, validLens and memory must be
     * null, and {@link #setCache} must have another cache.
     *
     * @param memoryCache the cache; null: none
     * @return this
     */
    public AttentionInputs setMemoryCache(KvCache memoryCache) {
        this.memoryCache = memoryCache;
        return this;
    }

    /**
     * Sets the sequence of the memory cache that each batch element attends to. The numbers are copied.
     *
     * @param memorySequences for each batch element one from 0 to maxSequences - 1; several elements, as the beams of a
     *     search, may have the same; null: batch element b attends to sequence b
     * @return this
     */
    public AttentionInputs setMemorySequences(long... memorySequences) {
        this.memorySequences.set(memorySequences);
        return this;
    }

    /**
     * Sets which layer of the memory cache the first layer of the decoder reads; the others follow.
     *
     * @param memoryCacheLayer the layer, from 0, which is the default
     * @return this
     */
    public AttentionInputs setMemoryCacheLayer(long memoryCacheLayer) {
        this.memoryCacheLayer = memoryCacheLayer;
        return this;
    }

    /**
     * Sets the cache that holds the keys and values, for {@link MultiHeadAttention} with {@link Scoring#DOT_PRODUCT},
     * and for the self-attention of a {@link TransformerDecoderBlock}, {@link TransformerDecoder} or {@link
     * Transformer}, which only append.
     * The call appends its rows to sequences of the cache, as many as it has queries: row i of batch element b is
     * appended to the sequence of b, and attends to all rows of the sequence that causal mask and window leave visible,
     * those of this call included. queryLens and queryOffsets say how many rows each element has, which may be none. A
     * row has the same bits alone, in any batch, and with any other number of rows in the same call. A call that fails
     * leaves the cache as it was. With {@link #setCacheUse} the call only attends to the rows, and appends none.
     *
     * @param cache the cache; null: none
     * @return this
     */
    public AttentionInputs setCache(KvCache cache) {
        this.cache = cache;
        return this;
    }

    /**
     * Sets the sequence of the cache of each batch element. The numbers are copied.
     *
     * @param sequences for each batch element one from 0 to maxSequences - 1; with {@link CacheUse#APPEND} all are
     *     different; null: batch element b is sequence b
     * @return this
     */
    public AttentionInputs setSequences(long... sequences) {
        this.sequences.set(sequences);
        return this;
    }

    /**
     * Sets which of the cache's layers the block is. For a {@link TransformerDecoder} it is that of its first layer,
     * after which the others follow.
     *
     * @param cacheLayer the layer, from 0, which is the default
     * @return this
     */
    public AttentionInputs setCacheLayer(long cacheLayer) {
        this.cacheLayer = cacheLayer;
        return this;
    }

    /**
     * Sets what the call does with the cache.
     *
     * @param cacheUse whether it appends rows and attends, the default, or only attends
     * @return this
     */
    public AttentionInputs setCacheUse(CacheUse cacheUse) {
        this.cacheUse = Objects.requireNonNull(cacheUse, "cacheUse");
        return this;
    }

    /**
     * Makes the slopes of ALiBi for a number of heads (Press et al., 2022): for a power of two 2^(-8/H), 2^(-16/H),
     * ..., 2^-8; for another H those of n heads, where n is the largest power of two below H, then the first, third,
     * fifth, ... slope of 2n heads.
     *
     * @param manager the manager that the array belongs to
     * @param numHeads the number of heads H, at least 0
     * @return FLOAT32 of (numHeads)
     */
    public static NDArray createAlibiSlopes(NDManager manager, int numHeads) {
        NDArray slopes = Objects.requireNonNull(manager, "manager").create(new Shape(numHeads), DataType.FLOAT32);
        slopes.tensor().fillAlibiSlopes();
        return slopes;
    }

    /**
     * Sets whether dropout is active. Not with a cache.
     *
     * @param training true to drop weights, or elements
     * @return this
     */
    public AttentionInputs setTraining(boolean training) {
        this.training = training;
        return this;
    }

    /**
     * Sets the seed of the dropout. The same seed drops the same weights. Without a seed, each call uses the block's
     * next one.
     *
     * @param dropoutSeed any number
     * @return this
     */
    public AttentionInputs setDropoutSeed(long dropoutSeed) {
        this.dropoutSeed = dropoutSeed;
        seeded = true;
        return this;
    }

    /**
     * Resets all inputs, so that none is set.
     *
     * @return this
     */
    public AttentionInputs clear() {
        Arrays.fill(arrays, null);
        cache = null;
        sequences.set(null);
        cacheLayer = 0;
        cacheUse = CacheUse.APPEND;
        memoryCache = null;
        memorySequences.set(null);
        memoryCacheLayer = 0;
        training = false;
        seeded = false;
        dropoutSeed = 0;
        return this;
    }

    /**
     * Returns the queries.
     *
     * @return what was set, or null
     */
    public NDArray getQueries() {
        return arrays[Input.QUERIES.ordinal()];
    }

    /**
     * Returns the keys.
     *
     * @return what was set, or null
     */
    public NDArray getKeys() {
        return arrays[Input.KEYS.ordinal()];
    }

    /**
     * Returns the values.
     *
     * @return what was set, or null
     */
    public NDArray getValues() {
        return arrays[Input.VALUES.ordinal()];
    }

    /**
     * Returns the valid lengths.
     *
     * @return what was set, or null
     */
    public NDArray getValidLens() {
        return arrays[Input.VALID_LENS.ordinal()];
    }

    /**
     * Returns the mask.
     *
     * @return what was set, or null
     */
    public NDArray getMask() {
        return arrays[Input.MASK.ordinal()];
    }

    /**
     * Returns the bias that is added to the scaled scores.
     *
     * @return what was set, or null
     */
    public NDArray getBias() {
        return arrays[Input.BIAS.ordinal()];
    }

    /**
     * Returns the slopes of ALiBi.
     *
     * @return what was set, or null
     */
    public NDArray getAlibiSlopes() {
        return arrays[Input.ALIBI_SLOPES.ordinal()];
    }

    /**
     * Returns the sinks.
     *
     * @return what was set, or null
     */
    public NDArray getSinks() {
        return arrays[Input.SINKS.ordinal()];
    }

    /**
     * Returns the token types.
     *
     * @return what was set, or null
     */
    public NDArray getTokenTypes() {
        return arrays[Input.TOKEN_TYPES.ordinal()];
    }

    /**
     * Returns the positions of the queries.
     *
     * @return what was set, or null
     */
    public NDArray getPositions() {
        return arrays[Input.POSITIONS.ordinal()];
    }

    /**
     * Returns the numbers of queries.
     *
     * @return what was set, or null
     */
    public NDArray getQueryLens() {
        return arrays[Input.QUERY_LENS.ordinal()];
    }

    /**
     * Returns where the batch elements begin in packed queries.
     *
     * @return what was set, or null
     */
    public NDArray getQueryOffsets() {
        return arrays[Input.QUERY_OFFSETS.ordinal()];
    }

    /**
     * Returns where the batch elements begin in packed keys.
     *
     * @return what was set, or null
     */
    public NDArray getKeyOffsets() {
        return arrays[Input.KEY_OFFSETS.ordinal()];
    }

    /**
     * Returns the valid lengths of a decoder's self-attention.
     *
     * @return what was set, or null
     */
    public NDArray getSelfValidLens() {
        return arrays[Input.SELF_VALID_LENS.ordinal()];
    }

    /**
     * Returns the mask of a decoder's self-attention.
     *
     * @return what was set, or null
     */
    public NDArray getSelfMask() {
        return arrays[Input.SELF_MASK.ordinal()];
    }

    /**
     * Returns the bias of a decoder's self-attention.
     *
     * @return what was set, or null
     */
    public NDArray getSelfBias() {
        return arrays[Input.SELF_BIAS.ordinal()];
    }

    /**
     * Returns the encoder's output.
     *
     * @return what was set, or null
     */
    public NDArray getMemory() {
        return arrays[Input.MEMORY.ordinal()];
    }

    /**
     * Returns the cache with the keys and values of the encoder's output.
     *
     * @return what was set, or null
     */
    public KvCache getMemoryCache() {
        return memoryCache;
    }

    /**
     * Returns the sequence of the memory cache of each batch element.
     *
     * @return a copy of what was set, or null
     */
    public long[] getMemorySequences() {
        return memorySequences.get();
    }

    /**
     * Returns which layer of the memory cache the first layer of the decoder reads.
     *
     * @return what was set, or 0
     */
    public long getMemoryCacheLayer() {
        return memoryCacheLayer;
    }

    /**
     * Returns the cache.
     *
     * @return what was set, or null
     */
    public KvCache getCache() {
        return cache;
    }

    /**
     * Returns the sequence of each batch element.
     *
     * @return a copy of what was set, or null
     */
    public long[] getSequences() {
        return sequences.get();
    }

    /**
     * Returns which of the cache's layers the block is.
     *
     * @return what was set, or 0
     */
    public long getCacheLayer() {
        return cacheLayer;
    }

    /**
     * Returns what the call does with the cache.
     *
     * @return what was set, or {@link CacheUse#APPEND}
     */
    public CacheUse getCacheUse() {
        return cacheUse;
    }

    /**
     * Tells whether dropout is active.
     *
     * @return what was set, or false
     */
    public boolean isTraining() {
        return training;
    }

    /**
     * Returns the seed of the dropout.
     *
     * @return what was set, or 0
     */
    public long getDropoutSeed() {
        return dropoutSeed;
    }

    /**
     * Tells whether the seed of the dropout was set.
     *
     * @return false if each call uses the block's next seed
     */
    public boolean hasDropoutSeed() {
        return seeded;
    }

    /** The index of keys in a list of inputs. */
    static int indexOfKeys() {
        return Input.KEYS.ordinal();
    }

    /** The index of values in a list of inputs. */
    static int indexOfValues() {
        return Input.VALUES.ordinal();
    }

    /** The index of validLens in a list of inputs. */
    static int indexOfValidLens() {
        return Input.VALID_LENS.ordinal();
    }

    /** The index of selfValidLens among the inputs that are arrays. */
    static int indexOfSelfValidLens() {
        return Input.SELF_VALID_LENS.ordinal();
    }

    /** The index of tokenTypes among the inputs that are arrays. */
    static int indexOfTokenTypes() {
        return Input.TOKEN_TYPES.ordinal();
    }

    /** The input whose manager owns the outputs: queries or, where only the encoder of a Transformer runs, keys. */
    NDArray first() {
        return getQueries() == null ? getKeys() : getQueries();
    }

    /** The name of an input in exceptions. */
    static String nameOf(int index) {
        return NAMES[index];
    }

    /** Sets all members of C's structs. Throws if an array or a cache is closed. */
    void fill(TensorMembers members, CacheMembers cacheMembers, CacheMembers memoryMembers) {
        for (int index = 0; index < arrays.length; index++) {
            members.set(index, NDArray.tensorOf(arrays[index], nameOf(index)));
        }
        if (cache != null) {
            NativeCache open = cache.open();
            cacheMembers.set(open, sequences.in(cache.getManager()), cacheLayer, cacheUse);
        } else {
            checkNoCacheIsNeeded();
            cacheMembers.clear();
        }
        if (memoryCache != null) {
            NativeCache open = memoryCache.open();
            NativeTensor numbers = memorySequences.in(memoryCache.getManager());
            memoryMembers.set(open, numbers, memoryCacheLayer, CacheUse.READ);
        } else {
            checkNoMemoryCacheIsNeeded();
            memoryMembers.clear();
        }
    }

    private void checkNoMemoryCacheIsNeeded() {
        String wrong = memorySequences.areSet()
                ? "memorySequences are set"
                : memoryCacheLayer != 0 ? "memoryCacheLayer is " + memoryCacheLayer : null;
        if (wrong != null) {
            throw new IllegalArgumentException(wrong + ", but memoryCache is null: expected a cache");
        }
    }

    private void checkNoCacheIsNeeded() {
        String wrong = sequences.areSet()
                ? "sequences are set"
                : cacheLayer != 0
                        ? "cacheLayer is " + cacheLayer
                        : cacheUse != CacheUse.APPEND ? "cacheUse is " + cacheUse : null;
        if (wrong != null) {
            throw new IllegalArgumentException(wrong + ", but cache is null: expected a cache");
        }
    }

    private static NDArray checkedMask(NDArray mask, Input input, String setterOfBias) {
        if (mask != null && mask.data().dataType != DataType.BOOLEAN) {
            throw new IllegalArgumentException(input.label + " is of " + mask.data().dataType.name()
                    + ", expected BOOLEAN with true = may attend; " + setterOfBias
                    + " takes numbers that are added to the scores");
        }
        return mask;
    }

    private AttentionInputs set(Input input, NDArray array) {
        arrays[input.ordinal()] = array;
        return this;
    }
}
