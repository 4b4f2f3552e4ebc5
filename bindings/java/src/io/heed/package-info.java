// SPDX-License-Identifier: Apache-2.0
/**
 * Multi-head attention in the manner of d2l-java and DJL, computed by the native library heed.
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
 * <p><b>Letters in shapes:</b> B batch, H heads, Q queries (rows that attend), K keys (what is attended to), E input
 * size.
 *
 * <p><b>Freeing.</b> {@code close} is the way; what is forgotten is freed some time after the garbage collector has
 * found it. That looks at Java's memory alone, so heed counts the native memory, and calls {@link System#gc} when much
 * of it has come since the last collection: more than the system property {@code heed.forgotten.bytes} says, 67108864
 * where it says nothing, more than was in use after that collection, and more than was then in use of Java's heap; 0:
 * never. A call that gets no native memory has forgotten objects freed, too, and is tried again. What is closed counts
 * no more. Managers close what was made with them and with
 * their sub-managers. Closing twice does nothing, using a closed object throws IllegalStateException, and an object
 * that is closed during a call on another thread is freed after that call. With the system property {@code
 * heed.leaks=true}, every object that the collector had to free is reported to the {@link java.lang.System.Logger}
 * named {@code io.heed} at level WARNING, with the stack trace of where it was made.
 *
 * <p><b>Buffers.</b> {@link io.heed.NDManager#create(java.nio.Buffer, Shape)} copies any buffer; {@link
 * io.heed.NDManager#wrap(java.nio.Buffer, Shape)} makes an array over a direct one, and {@link
 * io.heed.NDArray#toFloatBuffer} a buffer over an array, both without a copy. Array, views and buffers over the same
 * memory keep it alive, in whatever order they are closed or forgotten.
 *
 * <p><b>Exceptions</b> carry heed's sentence, which names the argument, what it was and what was expected:
 *
 * <table>
 * <caption>heed's statuses and their exceptions</caption>
 * <tr><th>status</th><th>exception</th></tr>
 * <tr><td>{@link io.heed.Status#INVALID_ARGUMENT}</td><td>{@link java.lang.IllegalArgumentException}</td></tr>
 * <tr><td>{@link io.heed.Status#OUT_OF_MEMORY}</td><td>{@link java.lang.OutOfMemoryError}</td></tr>
 * <tr><td>{@link io.heed.Status#UNSUPPORTED}</td><td>{@link java.lang.UnsupportedOperationException}</td></tr>
 * <tr><td>{@link io.heed.Status#NOT_INITIALIZED}, {@link io.heed.Status#BUSY}</td><td>{@link
 * java.lang.IllegalStateException}</td></tr>
 * <tr><td>any other</td><td>{@link io.heed.HeedException}, with the status</td></tr>
 * </table>
 *
 * <p>A null argument is a {@link java.lang.NullPointerException} that names it. A native library that cannot be loaded
 * is an {@link java.lang.UnsatisfiedLinkError} that names all that was tried; the system property {@code
 * heed.native.path} says where it is.
 *
 * <p><b>Blocks.</b> {@link io.heed.Linear}, {@link io.heed.Dropout}, {@link io.heed.DotProductAttention}, {@link
 * io.heed.AdditiveAttention} and {@link io.heed.MultiHeadAttention} each are one layer of heed; {@link
 * io.heed.AbstractBlock} puts them together. Their constructors and calls are d2l-java's and DJL's; the builders have
 * every option, and {@code forward(inputs, outputs, workspace)} allocates nothing. Parameters are numbers that a block
 * owns: what {@link io.heed.Parameter#getArray} gives is a snapshot, whose {@code set} writes through to the block.
 *
 * <p><b>Threads.</b> Blocks, managers and arrays may be used from many threads at once; a call that changes a block's
 * parameters waits for those that use them. Lists, {@link io.heed.AttentionInputs}, {@link io.heed.AttentionOutputs}
 * and builders are for one thread at a time. Writing an array while another thread uses it is the caller's race.
 */
package io.heed;
