// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A layer of a Transformer's encoder or decoder, a stack of such layers, or a whole Transformer.
 *
 * @param <B> the builder with its options
 */
abstract class TransformerBlock<B extends LayerOptions<B>> extends BuiltBlock<B> {
    private final InputList list;

    TransformerBlock(String kind, B options, InputList list) {
        super(kind, options);
        this.list = list;
    }

    /** The rows may come with what a list may have further; any of it may also be null. */
    @Override
    final void checkInputs(Object[] inputs, String found) {
        list.check(inputs, found);
    }

    @Override
    final <T> T[] inOrder(T[] inputs) {
        return list.inOrder(inputs);
    }

    /** Whether queries are ids of rows. */
    boolean readsIds() {
        return false;
    }

    /** Whether keys are ids of rows. */
    boolean readsIdsAsKeys() {
        return false;
    }

    @Override
    final DataType typeOfInput(int index, DataType dataType) {
        boolean areIds = index == AttentionInputs.indexOfTokenTypes()
                || (index == AttentionInputs.indexOfKeys() ? readsIdsAsKeys() : index == 0 && readsIds());
        return areIds ? DataType.INT32 : super.typeOfInput(index, dataType);
    }

    @Override
    final boolean inputsTellType() {
        return !readsIds();
    }

    @Override
    final Wanted smallestOutput() {
        return Wanted.OUTPUT;
    }
}
