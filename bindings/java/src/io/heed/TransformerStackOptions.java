// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * The options of a stack of encoder or decoder layers. Public, so that its methods can be called by reflection; only
 * heed's own builders extend it.
 *
 * @param <B> the builder
 * @param <L> the builder of the layers
 */
public abstract class TransformerStackOptions<
                B extends TransformerStackOptions<B, L>, L extends TransformerBlockOptions<L>>
        extends LayerOptions<B> {
    /** The members that both of C's structs have. */
    interface Members {
        void setLayer(long layer);

        void setLayers(long layers);

        void setNumLayers(long numLayers);

        void setFinalNorm(int finalNorm);

        void setEmbedding(long embedding);

        void setPositions(long positions);

        void setOutput(long output);

        void setNumTokenTypes(long numTokenTypes);

        void setEmbeddingNorm(int embeddingNorm);

        void setShareLayers(int shareLayers);

        void setNoProjectionBias(int noProjectionBias);
    }

    private L layer;
    /** The options of each layer; null: all have those of `layer`. */
    private List<L> layers;

    private long numLayers;
    private boolean finalNorm;
    private Embedding.Builder embedding;
    private PositionalEncoding.Builder positions;
    private OutputOptions output;
    private long numTokenTypes;
    private boolean embeddingNorm;
    private boolean shareLayers;
    private boolean projectionBias = true;

    TransformerStackOptions() {}

    abstract B self();

    /** Makes a layer of the stack. */
    abstract NativeBlock newBlockOf(L layer, ChildLayer.Place place);

    final void fill(Members members, NativeStructs structs) {
        members.setLayer(NativeStruct.pointerOf(layer == null ? null : layer.toNative(structs)));
        members.setLayers(layers == null ? 0 : structs.addressesOf(layers.stream()
                .map(each -> each.toNative(structs))
                .collect(Collectors.toList())));
        members.setNumLayers(checkedNumLayers());
        members.setFinalNorm(finalNorm ? 1 : 0);
        members.setEmbedding(NativeStruct.pointerOf(embedding == null ? null : embedding.toNative(structs)));
        members.setPositions(NativeStruct.pointerOf(positions == null ? null : positions.toNative(structs)));
        members.setOutput(NativeStruct.pointerOf(output == null ? null : output.toNative(structs)));
        members.setNumTokenTypes(numTokenTypes);
        members.setEmbeddingNorm(embeddingNorm ? 1 : 0);
        members.setShareLayers(shareLayers ? 1 : 0);
        members.setNoProjectionBias(projectionBias ? 0 : 1);
    }

    /** The number of layers. C reads as many options of layers, so there must be no fewer. */
    private long checkedNumLayers() {
        if (layers == null || numLayers == layers.size()) {
            return numLayers;
        }
        if (numLayers != 0) {
            throw new IllegalArgumentException("numLayers is " + numLayers + ", but layers has options for "
                    + layers.size() + ": expected the same number, or none");
        }
        return layers.size();
    }

    /** The options of the first layer. The final norm, the embedding's norm and its dropout have them too. */
    final L first() {
        return layers == null ? layer : layers.get(0);
    }

    /** The text of a block with these options. */
    final String describe(String kind) {
        return kind + "(numLayers=" + (numLayers == 0 && layers != null ? layers.size() : numLayers) + ", finalNorm=" + finalNorm
                + (layers == null
                        ? ", layer=" + textOf(layer)
                        : ", layers=" + layers.stream().map(L::describe).collect(Collectors.toList()))
                + (embedding == null ? "" : ", embedding=" + embedding.describe())
                + describeFirst()
                + (numTokenTypes == 0 ? "" : ", numTokenTypes=" + numTokenTypes)
                + (positions == null ? "" : ", positions=" + positions.describe())
                + (embeddingNorm ? ", embeddingNorm=true" : "")
                + (shareLayers ? ", shareLayers=true" : "")
                + (projectionBias ? "" : ", projectionBias=false")
                + (output == null ? "" : ", output=" + output.describe()) + ")";
    }

    /** What stands in the text for options of some stacks that read something else in place of rows. */
    String describeFirst() {
        return "";
    }

    final boolean hasEmbedding() {
        return embedding != null;
    }

    final boolean hasTokenTypes() {
        return numTokenTypes != 0;
    }

    /** The size of the layers' rows. */
    final long numHiddens() {
        return first().numHiddens();
    }

    /** Makes a child, by its name. */
    final NativeBlock newChild(String name, ChildLayer.Place place) {
        long size = embedding == null ? numHiddens() : embedding.sizeOr(numHiddens());
        switch (name) {
            case "embedding":
                return new Embedding(embedding.copy().setEmbeddingSize(size), place);
            case "token_type_embedding":
                return new Embedding(
                        Embedding.builder().setNumEmbeddings(numTokenTypes).setEmbeddingSize(size), place);
            case "positions":
                return new PositionalEncoding(positions.copy().setNumHiddens(positions.sizeOr(size)), place);
            case "embedding_projection":
                return new Linear(Linear.builder().setUnits(numHiddens()).optBias(projectionBias), place);
            case "output_projection":
                return new Linear(Linear.builder().setUnits(size).optBias(false), place);
            case "embedding_dropout":
                return first().newDropout(place);
            case "embedding_norm":
            case "norm":
                return first().newNorm(place);
            case "output":
                return output.newChild(embedding, place);
            default:
                return newBlockOf(
                        layers == null ? layer : layers.get(Integer.parseInt(name.substring("layers.".length()))), place);
        }
    }

    /**
     * Sets the layers. Either these are required, or {@code setLayers}.
     *
     * @param layer the options of all of them
     * @return this
     */
    public final B setLayer(L layer) {
        this.layer = Objects.requireNonNull(layer, "layer").copy();
        return self();
    }

    /**
     * Sets the layers, each with its own options, in place of {@code setLayer}. All have the same numHiddens. The
     * final norm, the embedding's norm and its dropout have the options of the first layer.
     *
     * @param layers the options of each; there are as many layers
     * @return this
     */
    public final B setLayers(List<L> layers) {
        List<L> copies = new ArrayList<>();
        for (L each : Objects.requireNonNull(layers, "layers")) {
            copies.add(Objects.requireNonNull(each, "layers").copy());
        }
        this.layers = copies;
        return self();
    }

    /**
     * Sets the number of layers, which is required with {@code setLayer}.
     *
     * @param numLayers the number, 1 to 4096; 0, the default, with {@code setLayers}: as many as there are options
     * @return this
     */
    public final B setNumLayers(long numLayers) {
        this.numLayers = numLayers;
        return self();
    }

    /**
     * Sets whether a norm, with the options of the layers' norms, follows the last layer. It is never assumed: with
     * normFirst a stack usually has it, in PyTorch's nn.Transformer without normFirst too.
     *
     * @param finalNorm true: one follows; false, the default: none does
     * @return this
     */
    public final B optFinalNorm(boolean finalNorm) {
        this.finalNorm = finalNorm;
        return self();
    }

    /**
     * Sets the embedding, with which forward reads ids in place of rows. Its rows are those of the first layer; an
     * embedding of another size is projected to that of the layers (ALBERT). The layers' dropout follows.
     *
     * @param embedding its options; embeddingSize may be left out; null, the default: forward reads rows
     * @return this
     */
    public final B optEmbedding(Embedding.Builder embedding) {
        this.embedding = embedding == null ? null : embedding.copy();
        return self();
    }

    /**
     * Sets the positions that are added to the rows of the embedding, or without one to those that forward reads. With
     * a cache they continue those of its sequences.
     *
     * @param positions their options; numHiddens may be left out for the size of the embedding's rows; if it is that of
     *     the layers' rows, and the embedding has another, the rows are projected first (OPT); null, the default: none
     *     are added
     * @return this
     */
    public final B optPositions(PositionalEncoding.Builder positions) {
        this.positions = positions == null ? null : positions.copy();
        return self();
    }

    /**
     * Sets the number of token types, whose rows are added to those of the embedding (Devlin et al., "BERT", 2019).
     *
     * @param numTokenTypes the number, only with an embedding; 0, the default: none
     * @return this
     */
    public final B optNumTokenTypes(long numTokenTypes) {
        this.numTokenTypes = numTokenTypes;
        return self();
    }

    /**
     * Sets whether a norm, with the options of the layers' norms, precedes the first layer, after embedding and
     * positions.
     *
     * @param embeddingNorm true: one does; false, the default: none does
     * @return this
     */
    public final B optEmbeddingNorm(boolean embeddingNorm) {
        this.embeddingNorm = embeddingNorm;
        return self();
    }

    /**
     * Sets whether all layers are the same (Lan et al., "ALBERT", 2020).
     *
     * @param shareLayers true: all have the parameters of "layers.0"; false, the default: each has its own
     * @return this
     */
    public final B optShareLayers(boolean shareLayers) {
        this.shareLayers = shareLayers;
        return self();
    }

    /**
     * Sets whether the projection of an embedding of another size than the layers' rows has a bias.
     *
     * @param projectionBias true, the default: "embedding_projection" has one; false: it has none (OPT)
     * @return this
     */
    public final B optProjectionBias(boolean projectionBias) {
        this.projectionBias = projectionBias;
        return self();
    }

    /**
     * Sets the projection of the last rows, for example to logits. If it is tied to an embedding of another size, the
     * child "output_projection" first projects the rows to that size, without bias (OPT).
     *
     * @param output its options; null, the default: the output are the rows
     * @return this
     */
    public final B optOutput(OutputOptions output) {
        this.output = output;
        return self();
    }
}
