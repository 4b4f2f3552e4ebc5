// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Makes blocks of layers inside others, which say what they are. */
final class ChildBlocks {
    private ChildBlocks() {}

    static NativeBlock make(ChildPath path) {
        SaidOptions said = new SaidOptions(path.part.options);
        switch (path.part.kind) {
            case "linear":
                return new Linear(Linear.builder().read(said), path);
            case "dropout":
                return new Dropout(Dropout.builder().read(said), path);
            case "layer_norm":
                return new LayerNorm(LayerNorm.builder().read(said), path);
            case "feed_forward":
                return new FeedForward(FeedForward.builder().read(said), path);
            case "embedding":
                return new Embedding(Embedding.builder().read(said), path);
            case "patch_embedding":
                return new PatchEmbedding(PatchEmbedding.builder().read(said), path);
            case "audio_embedding":
                return new AudioEmbedding(AudioEmbedding.builder().read(said), path);
            case "positional_encoding":
                return new PositionalEncoding(PositionalEncoding.builder().read(said), path);
            case "multi_head_attention":
                return new MultiHeadAttention(MultiHeadAttention.builder().read(said), false, path);
            case "encoder_layer":
                return new TransformerEncoderBlock(TransformerEncoderBlock.builder().read(said), path);
            case "decoder_layer":
                return new TransformerDecoderBlock(TransformerDecoderBlock.builder().read(said), path);
            case "encoder":
                return new TransformerEncoder(TransformerEncoder.builder().read(said), path);
            case "decoder":
                return new TransformerDecoder(TransformerDecoder.builder().read(said), path);
            default:
                throw new AssertionError(path.part.kind);
        }
    }
}
