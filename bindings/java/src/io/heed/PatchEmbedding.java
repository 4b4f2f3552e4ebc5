// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * The embedding of an image's patches (Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021, equation 1). The
 * patches lie side by side without overlap; row y * (W / patchWidth) + x of the output is that of the patch y from above
 * and x from the left, weight patch + bias, with the elements of the patch in the order (C, patchHeight, patchWidth).
 * With a class token the first row is that parameter.
 *
 * <p>Its parameters are "weight" (numHiddens, C * patchHeight * patchWidth), as option "bias" (numHiddens), and as
 * option "class_token" (numHiddens).
 *
 * <p>forward takes a list of images (B, C, H, W) of FLOAT32, FLOAT16 or BFLOAT16, with H a multiple of patchHeight and W
 * one of patchWidth, and returns a list of one array (B, N, numHiddens) of that type, N the number of patches and of the
 * class token. Many threads may call it on one block at the same time; a call that changes the parameters waits for
 * them.
 */
public final class PatchEmbedding extends SingleInputBlock<PatchEmbedding.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    PatchEmbedding(Builder options, ChildLayer.Place place) {
        super("PatchEmbedding", options);
        construct(place);
    }

    /**
     * Begins a patch embedding.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Makes a patch embedding. */
    public static final class Builder extends LayerOptions<Builder> {
        private long patchHeight;
        private long patchWidth;
        private long numChannels;
        private long numHiddens;
        private boolean classToken;
        private boolean bias = true;
        private long imageHeight;
        private long imageWidth;

        private Builder() {}

        @Override
        String describe() {
            return "PatchEmbedding(patchHeight=" + patchHeight + ", patchWidth="
                    + (patchWidth == 0 ? patchHeight : patchWidth) + ", numChannels=" + numChannels + ", numHiddens="
                    + numHiddens + ", classToken=" + classToken + ", bias=" + bias + ", imageHeight=" + imageHeight
                    + ", imageWidth=" + (imageWidth == 0 ? imageHeight : imageWidth) + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_patch_embedding_create(context, toNative(structs));
        }

        /** The options as C's struct. */
        NativePatchEmbeddingOptions toNative(NativeStructs structs) {
            NativePatchEmbeddingOptions members = structs.add(new NativePatchEmbeddingOptions());
            members.setPatchHeight(patchHeight);
            members.setPatchWidth(patchWidth);
            members.setNumChannels(numChannels);
            members.setSize(numHiddens);
            members.setClassToken(classToken ? 1 : 0);
            members.setNoBias(bias ? 0 : 1);
            members.setImageHeight(imageHeight);
            members.setImageWidth(imageWidth);
            return members;
        }

        /**
         * Sets the height of a patch, which is required.
         *
         * @param patchHeight the height, 1 or more
         * @return this
         */
        public Builder setPatchHeight(long patchHeight) {
            this.patchHeight = patchHeight;
            return this;
        }

        /**
         * Sets the width of a patch.
         *
         * @param patchWidth the width; 0, the default: that of a square
         * @return this
         */
        public Builder optPatchWidth(long patchWidth) {
            this.patchWidth = patchWidth;
            return this;
        }

        /**
         * Sets the number of channels of an image, which is required.
         *
         * @param numChannels the number, 1 or more; 3 for colours
         * @return this
         */
        public Builder setNumChannels(long numChannels) {
            this.numChannels = numChannels;
            return this;
        }

        /**
         * Sets the size of a row of the output, which is required but for the patches of an encoder.
         *
         * @param numHiddens the size, 1 or more; in an encoder also 0, the default: that of its rows
         * @return this
         */
        public Builder setNumHiddens(long numHiddens) {
            this.numHiddens = numHiddens;
            return this;
        }

        /**
         * Sets whether the first row is a parameter, for classification.
         *
         * @param classToken true: it is "class_token"; false, the default: it is that of the first patch
         * @return this
         */
        public Builder optClassToken(boolean classToken) {
            this.classToken = classToken;
            return this;
        }

        /**
         * Sets whether a bias is added.
         *
         * @param bias true, the default: it is; false: it is not
         * @return this
         */
        public Builder optBias(boolean bias) {
            this.bias = bias;
            return this;
        }

        /**
         * Sets the height of all images. A learned table of positions is for images of one size: those of 2 x 8 patches
         * have as many as those of 4 x 4.
         *
         * @param imageHeight the height, a multiple of the patches'; 0, the default: images may have any size
         * @return this
         */
        public Builder optImageHeight(long imageHeight) {
            this.imageHeight = imageHeight;
            return this;
        }

        /**
         * Sets the width of all images.
         *
         * @param imageWidth the width, a multiple of the patches'; 0, the default: that of a square
         * @return this
         */
        public Builder optImageWidth(long imageWidth) {
            this.imageWidth = imageWidth;
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if a size is missing or out of range
         */
        public PatchEmbedding build() {
            return new PatchEmbedding(this, null);
        }
    }
}
