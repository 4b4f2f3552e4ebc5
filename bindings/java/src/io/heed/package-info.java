// SPDX-License-Identifier: Apache-2.0
/**
 * Multi-head attention with the classes of d2l-java and DJL, computed by the native library heed.
 *
 * <p>Arrays belong to an {@link io.heed.NDManager}, whose {@code close} frees them:
 *
 * <pre>{@code
 * try (NDManager manager = NDManager.newBaseManager()) {
 *   MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0.5f, false);
 *   NDArray words = manager.ones(new Shape(2, 4, 100));
 *   NDArray validLens = manager.create(new float[] {4, 3});
 *   NDList input = new NDList(words, words, words, validLens);
 *   attention.initialize(manager, DataType.FLOAT32, input.getShapes());
 *   NDList result = attention.forward(new ParameterStore(manager, false), input, false);
 *   System.out.println(result.get(0).getShape()); // (2, 4, 100)
 * }
 * }</pre>
 *
 * <p><b>Letters in shapes:</b> B batch, H heads, Q queries, K keys, E input size.
 *
 * <p><b>Freeing.</b> Close what you make. An object that the program has lost without closing it is freed some time
 * after the garbage collector has found it. The collector sees only Java's memory, so heed counts the native memory. It
 * calls {@link System#gc} when the native memory that was added since the last collection exceeds all of these: the
 * system property {@code heed.forgotten.bytes} (default 67108864; 0: never), the native memory that was in use after
 * that collection, and the Java heap that was in use then. If native memory cannot be allocated, heed also requests a
 * collection, and tries the call again. Closed objects are not counted. Managers close the objects that were made with
 * them and with their sub-managers. Closing twice does nothing, using a closed object throws IllegalStateException, and
 * an object that is closed during a call on another thread is freed after that call. With the system property {@code
 * heed.leaks=true}, every object that the collector had to free is reported to the {@link java.lang.System.Logger}
 * named {@code io.heed} at level WARNING, with the stack trace of its creation.
 *
 * <p><b>Buffers.</b> {@link io.heed.NDManager#create(java.nio.Buffer, Shape)} copies any buffer. Without a copy, {@link
 * io.heed.NDManager#wrap(java.nio.Buffer, Shape)} makes an array that uses the memory of a direct buffer, and {@link
 * io.heed.NDArray#toFloatBuffer} a buffer that uses the memory of an array. Arrays, views and buffers over the same
 * memory keep it alive, until the last of them is closed or lost.
 *
 * <p><b>Exceptions</b> have heed's sentence as their message: the argument, its value and the expected value.
 *
 * <table>
 * <caption>heed's statuses and their exceptions</caption>
 * <tr><th>status</th><th>exception</th></tr>
 * <tr><td>{@link io.heed.Status#INVALID_ARGUMENT}</td><td>{@link java.lang.IllegalArgumentException}</td></tr>
 * <tr><td>{@link io.heed.Status#OUT_OF_MEMORY}</td><td>{@link java.lang.OutOfMemoryError}</td></tr>
 * <tr><td>{@link io.heed.Status#UNSUPPORTED}</td><td>{@link java.lang.UnsupportedOperationException}</td></tr>
 * <tr><td>{@link io.heed.Status#NOT_INITIALIZED}, {@link io.heed.Status#BUSY}</td><td>{@link
 * java.lang.IllegalStateException}</td></tr>
 * <tr><td>{@link io.heed.Status#CACHE_FULL}</td><td>{@link io.heed.CacheFullException}, a HeedException</td></tr>
 * <tr><td>any other</td><td>{@link io.heed.HeedException}, with the status</td></tr>
 * </table>
 *
 * <p>A null argument is a {@link java.lang.NullPointerException} with the name of the argument. A native library that
 * cannot be loaded is an {@link java.lang.UnsatisfiedLinkError} that lists everything that was tried; the system
 * property {@code heed.native.path} can name its folder.
 *
 * <p><b>Blocks.</b> {@link io.heed.Linear}, {@link io.heed.Dropout}, {@link io.heed.LayerNorm}, {@link
 * io.heed.FeedForward}, {@link io.heed.Embedding}, {@link io.heed.PositionalEncoding}, {@link
 * io.heed.DotProductAttention}, {@link io.heed.AdditiveAttention}, {@link io.heed.GeneralAttention} and {@link
 * io.heed.MultiHeadAttention} each are one layer of heed. {@link io.heed.TransformerEncoderBlock}, {@link
 * io.heed.TransformerDecoderBlock}, their stacks, {@link io.heed.TransformerEncoder} and {@link
 * io.heed.TransformerDecoder}, and a {@link io.heed.Transformer} are made of others, their children; a {@link
 * io.heed.SequentialBlock} and subclasses of {@link io.heed.AbstractBlock} compose any blocks. A {@link io.heed.Model}
 * makes the block of a whole model from its folder, a {@link io.heed.ModelBlock}. Their constructors and calls are
 * those of d2l-java and DJL, where these have such a block. The builders have every option, and {@code forward(inputs,
 * outputs, workspace)} allocates nothing. A block owns its parameters: {@link io.heed.Parameter#getArray} returns a
 * copy of the values, whose {@code set} also changes the parameter. A {@link io.heed.KvCache} keeps the keys and values
 * of sequences that grow, for steps of {@link io.heed.MultiHeadAttention} and of decoders.
 *
 * <p><b>Training.</b> A {@link io.heed.GradientCollector} records what one thread computes, and computes gradients of it
 * by arrays with {@link io.heed.NDArray#setRequiresGradient} and by the parameters of blocks. A {@link io.heed.Trainer}
 * has what else a step of training needs.
 *
 * <p><b>Threads.</b> Many threads may use blocks, managers and arrays at the same time; a call that changes the
 * parameters of a block waits for those that use them. One call at a time changes a {@link io.heed.KvCache}. Lists,
 * {@link io.heed.AttentionInputs}, {@link io.heed.AttentionOutputs} and builders are for one thread at a time. If a
 * thread writes to an array while another uses it, the results are undefined.
 */
package io.heed;
