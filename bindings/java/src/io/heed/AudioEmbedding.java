// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * The convolutions in front of Whisper's encoder (Radford et al., "Robust Speech Recognition via Large-Scale Weak
 * Supervision", 2022, section 2.2): two of three frames each with GELU behind them, the second one in steps of two
 * frames.
 *
 * <p>Its parameters are "conv_1.weight" (numHiddens, 3 * numMels), "conv_1.bias" (numHiddens), "conv_2.weight"
 * (numHiddens, 3 * numHiddens) and "conv_2.bias" (numHiddens). A weight is that of PyTorch's Conv1d, (out, in, 3), with
 * its last two axes exchanged, as a matrix (out, 3 * in).
 *
 * <p>forward takes a list of features (B, numMels, T) of FLOAT32, FLOAT16 or BFLOAT16, such as a log-Mel spectrogram,
 * and returns a list of one array (B, T / 2 rounded up, numHiddens) of that type. Many threads may call it on one block
 * at the same time; a call that changes the parameters waits for them.
 */
public final class AudioEmbedding extends SingleInputBlock<AudioEmbedding.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    AudioEmbedding(Builder options, ChildLayer.Place place) {
        super("AudioEmbedding", options);
        construct(place);
    }

    /**
     * Begins an audio embedding.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Makes an audio embedding. */
    public static final class Builder extends LayerOptions<Builder> {
        private long numMels;
        private long numHiddens;

        private Builder() {}

        @Override
        String describe() {
            return "AudioEmbedding(numMels=" + numMels + ", numHiddens=" + numHiddens + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_audio_embedding_create(context, toNative(structs));
        }

        /** The options as C's struct. */
        NativeAudioEmbeddingOptions toNative(NativeStructs structs) {
            NativeAudioEmbeddingOptions members = structs.add(new NativeAudioEmbeddingOptions());
            members.setNumMels(numMels);
            members.setSize(numHiddens);
            return members;
        }

        /**
         * Sets the number of features of a frame, which is required.
         *
         * @param numMels the number, 1 or more
         * @return this
         */
        public Builder setNumMels(long numMels) {
            this.numMels = numMels;
            return this;
        }

        /**
         * Sets the size of a row of the output, which is required but for the audio of an encoder.
         *
         * @param numHiddens the size, 1 or more; in an encoder also 0, the default: that of its rows
         * @return this
         */
        public Builder setNumHiddens(long numHiddens) {
            this.numHiddens = numHiddens;
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if a size is missing or out of range
         */
        public AudioEmbedding build() {
            return new AudioEmbedding(this, null);
        }
    }
}
