// SPDX-License-Identifier: Apache-2.0
import io.heed.Block;
import io.heed.Causal;
import io.heed.FeedForward;
import io.heed.OutputOptions;
import io.heed.Pair;
import io.heed.Parameter;
import io.heed.PositionalEncoding;
import io.heed.TransformerDecoder;
import io.heed.TransformerDecoderBlock;
import io.heed.TransformerEncoder;
import io.heed.TransformerEncoderBlock;

/** heed's own encoder and decoder with the options of {@link ComposedTransformer}, and copies of its parameters. */
final class HeedsTransformer {
    /** Of the rows of embeddings. */
    private static final float SCALE = (float) Math.sqrt(ComposedTransformer.NUM_HIDDENS);

    private HeedsTransformer() {}

    /** heed's encoder with the same options, and the parameters of ours. */
    static TransformerEncoder encoder(ComposedTransformer.Encoder ours) {
        TransformerEncoder encoder = TransformerEncoder.builder()
                .setLayer(TransformerEncoderBlock.builder()
                        .setAttention(ComposedTransformer.attention())
                        .setFeedForward(FeedForward.builder().setHiddenSize(ComposedTransformer.HIDDEN_SIZE)))
                .setNumLayers(ComposedTransformer.NUM_BLOCKS)
                .optEmbedding(ComposedTransformer.embedding(ours.numTokens).optScale(SCALE))
                .optPositions(PositionalEncoding.builder().setMaxLen(ComposedTransformer.MAX_LEN))
                .build();
        give(ours.embedding, encoder, "embedding.");
        for (int i = 0; i < ComposedTransformer.NUM_BLOCKS; i++) {
            ComposedTransformer.EncoderBlock block = ours.blocks.get(i);
            String layer = "layers." + i + ".";
            give(block.attention, encoder, layer + "self_attention.");
            give(block.addNorm1.norm, encoder, layer + "norm_1.");
            give(block.ffn.dense1, encoder, layer + "feed_forward.W_1.");
            give(block.ffn.dense2, encoder, layer + "feed_forward.W_2.");
            give(block.addNorm2.norm, encoder, layer + "norm_2.");
        }
        return encoder;
    }

    static TransformerDecoder decoder(ComposedTransformer.Decoder ours) {
        TransformerDecoder decoder = TransformerDecoder.builder()
                .setLayer(TransformerDecoderBlock.builder()
                        .setSelfAttention(ComposedTransformer.attention().optCausal(Causal.BOTTOM_RIGHT))
                        .optCrossAttention(ComposedTransformer.attention())
                        .setFeedForward(FeedForward.builder().setHiddenSize(ComposedTransformer.HIDDEN_SIZE)))
                .setNumLayers(ComposedTransformer.NUM_BLOCKS)
                .optEmbedding(ComposedTransformer.embedding(ours.numTokens).optScale(SCALE))
                .optPositions(PositionalEncoding.builder().setMaxLen(ComposedTransformer.MAX_LEN))
                .optOutput(OutputOptions.builder().setSize(ours.numTokens).optBias(true).build())
                .build();
        give(ours.embedding, decoder, "embedding.");
        give(ours.dense, decoder, "output.");
        for (int i = 0; i < ComposedTransformer.NUM_BLOCKS; i++) {
            ComposedTransformer.DecoderBlock block = ours.blocks.get(i);
            String layer = "layers." + i + ".";
            give(block.attention1, decoder, layer + "self_attention.");
            give(block.addNorm1.norm, decoder, layer + "norm_1.");
            give(block.attention2, decoder, layer + "cross_attention.");
            give(block.addNorm2.norm, decoder, layer + "norm_2.");
            give(block.ffn.dense1, decoder, layer + "feed_forward.W_1.");
            give(block.ffn.dense2, decoder, layer + "feed_forward.W_2.");
            give(block.addNorm3.norm, decoder, layer + "norm_3.");
        }
        return decoder;
    }

    /** Sets the parameters of a whole whose names begin with the prefix to those of a part. */
    private static void give(Block part, Block whole, String prefix) {
        for (Pair<String, Parameter> parameter : part.getParameters()) {
            whole.getParameters()
                    .get(prefix + parameter.getKey())
                    .setArray(parameter.getValue().getArray());
        }
    }
}
