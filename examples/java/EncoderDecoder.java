// SPDX-License-Identifier: Apache-2.0
import io.heed.AbstractBlock;
import io.heed.Block;
import io.heed.DataType;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.PairList;
import io.heed.ParameterStore;
import io.heed.Shape;

/**
 * An encoder, and a decoder that reads its output: of ids to read (B, S), their lengths (B) and the ids to continue
 * (B, T), the logits of the ids that follow (B, T, tokens).
 *
 * @param <E> the encoder's class: of ids and lengths it gives its output
 * @param <D> the decoder's class: of ids, the encoder's output and lengths it gives logits, and what else it has
 */
final class EncoderDecoder<E extends Block, D extends Block> extends AbstractBlock {
    final E encoder;
    final D decoder;

    EncoderDecoder(E encoder, D decoder) {
        this.encoder = addChildBlock("encoder", encoder);
        this.decoder = addChildBlock("decoder", decoder);
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray lens = inputs.get(1);
        NDArray memory = encoder.forward(ps, new NDList(inputs.get(0), lens), training).head();
        NDList results = decoder.forward(ps, new NDList(inputs.get(2), memory, lens), training);
        return new NDList(results.head());
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape[] read = {inputShapes[0], inputShapes[1]};
        encoder.initialize(manager, dataType, read);
        decoder.initialize(manager, dataType, inputShapes[2], encoder.getOutputShapes(read)[0], inputShapes[1]);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape[] read = {inputShapes[0], inputShapes[1]};
        return decoder.getOutputShapes(
                new Shape[] {inputShapes[2], encoder.getOutputShapes(read)[0], inputShapes[1]});
    }
}
