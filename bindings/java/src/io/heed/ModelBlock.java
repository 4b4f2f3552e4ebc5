// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.file.Path;
import java.util.List;

/**
 * The block of a {@link Model}: an encoder, a decoder or a Transformer, with the options and the parameters of a
 * folder. Its {@link #getChildren children} are those of a {@link TransformerEncoder}, {@link TransformerDecoder} or
 * {@link Transformer}, as blocks of this class, and their parameters have the same names.
 *
 * <p>forward takes a list of ids of INT32 or INT64, or of numbers, and, optional, lengths of FLOAT32, INT32 or INT64 that hide padding,
 * each of which may be missing or null; it returns a list of one array of the type of the embedding's table:
 *
 * <ul>
 *   <li>an encoder: ids (B, S), validLens (B), tokenTypes (B, S) of INT32 or INT64; of vit images (B, channels, height,
 *       width) in place of ids
 *   <li>a decoder: ids (B, S), selfValidLens (B)
 *   <li>a Transformer: ids of the decoder (B, T), ids of the encoder (B, S), validLens (B) of the latter; of whisper
 *       features (B, mels, frames) in place of the encoder's ids
 * </ul>
 *
 * {@link AttentionInputs} are those of the same three classes; for steps, {@link KvCache.Builder#setBlock} makes a
 * cache that fits.
 *
 * <p>The parameters are there from the start, and belong to the block, or to the manager that {@link Model#load(Path,
 * NDManager)} was given. The folder is read once: the block stays on the device, and computes with the options, with
 * which the model was loaded, and refuses arrays of a manager that has others. Only {@link #loadParameters} reads the
 * folder again, which must still be there then. {@link #clear} and {@link #cast} are refused. Many threads may call it at
 * the same time; a call that changes the parameters waits for them.
 */
public final class ModelBlock extends NativeBlock {
    private final Path folder;
    /** The name of a child in the whole model; null for the whole. */
    private final String path;

    /** What the native layer is, in C's words. */
    private final String kindOfLayer;

    private final InputList list;

    /** A manager of null: the block owns its parameters, and computes on the CPU with the default options. */
    ModelBlock(Path folder, NDManager manager) {
        super("ModelBlock");
        this.folder = folder;
        path = null;
        constructIn(manager);
        kindOfLayer = kindOfLayer();
        list = listOf(kindOfLayer, InputList.ENCODER_OF_IDS, InputList.DECODER_OF_IDS);
    }

    private ModelBlock(ModelBlock parent, String name, ChildPath at) {
        super("ModelBlock");
        folder = parent.folder;
        path = parent.path == null ? name : parent.path + "." + name;
        construct(at);
        kindOfLayer = at.kind();
        list = listOf(kindOfLayer, InputList.ENCODER, InputList.DECODER);
    }

    /**
     * Computes the output of a Transformer's encoder, projects its keys and values for the decoder and appends them to
     * the inputs' cache, layer n to the cache's layer cacheLayer + n, so that steps of the decoder attend to them with
     * {@link AttentionInputs#setMemoryCache} and compute them only once.
     *
     * @param inputs what the encoder reads as keys, (B, S), or its output as memory, and a cache; with validLens (B)
     *     the padding of each element is not appended. queries are null
     * @param workspace scratch memory for this call alone, of {@link #workspaceSize} bytes for these inputs and outputs
     *     that are not set; null: heed uses memory of its own
     * @throws IllegalArgumentException if sizes, types or lengths do not fit, or the cache is missing, of another
     *     device, of other sizes, or has rows with other rotary positions
     * @throws CacheFullException if the cache has no room for the rows; it is as it was
     * @throws IllegalStateException if the block is not initialized, the workspace or the cache is in use, or an array,
     *     the workspace, the cache or the block is closed
     * @throws UnsupportedOperationException if the model has no encoder and decoder
     * @throws HeedException with {@link Status#WORKSPACE_TOO_SMALL}; the message has both sizes
     */
    public void fillCache(AttentionInputs inputs, Workspace workspace) {
        appendToCache(inputs, workspace);
    }

    @Override
    public String toString() {
        return "ModelBlock(" + folder + (path == null ? "" : ", " + path) + ")";
    }

    @Override
    NativeLayer newLayer(NativeContext context) {
        StoppedCalls.check();
        try (NativeLoadOptions load = new NativeLoadOptions();
                NativeModelOptions options = new NativeModelOptions()) {
            load.setProgress(StoppedCalls.OF_LOAD);
            options.setLoad(NativeStruct.pointerOf(load));
            return HeedNative.heed_model_create(context, NativeText.of(folder), options);
        }
    }

    @Override
    List<String> childNamesAt(ChildPath path) {
        return path.childNames();
    }

    @Override
    NativeBlock newChild(String name, ChildPath path) {
        return new ModelBlock(this, name, path);
    }

    @Override
    void checkInputs(Object[] inputs, String found) {
        list.check(inputs, found);
    }

    @Override
    <T> T[] inOrder(T[] inputs) {
        return list.inOrder(inputs);
    }

    @Override
    DataType typeOfInput(int index, DataType dataType) {
        return readsIds(index) ? DataType.INT32 : super.typeOfInput(index, dataType);
    }

    /** Whether that input is ids, not rows of a layer, lengths, images or features of audio. */
    private boolean readsIds(int index) {
        if (index == AttentionInputs.indexOfValidLens()) {
            return false;
        }
        List<String> children = childNames();
        if (index == AttentionInputs.indexOfKeys() && kindOfLayer.equals("transformer")) {
            return ((ModelBlock) getChildren().get("encoder")).readsIds(0) || children.contains("embedding");
        }
        boolean isWhole = path == null && !children.contains("patches") && !children.contains("audio");
        return isWhole || children.contains("embedding") || kindOfLayer.equals("embedding");
    }

    /** The list of inputs of a layer of this kind. The lists of stacks are those of a whole model or of a child. */
    private static InputList listOf(String kindOfLayer, InputList ofEncoder, InputList ofDecoder) {
        switch (kindOfLayer) {
            case "transformer":
                return InputList.TRANSFORMER;
            case "encoder":
                return ofEncoder;
            case "decoder":
                return ofDecoder;
            case "encoder_layer":
                return InputList.ENCODER;
            case "decoder_layer":
                return InputList.DECODER;
            case "multi_head_attention":
                return InputList.ATTENTION;
            default:
                return InputList.SINGLE;
        }
    }

    @Override
    Wanted smallestOutput() {
        return Wanted.OUTPUT;
    }

    @Override
    void checkMayLackParameters() {
        if (path == null && isInitialized()) {
            throw new IllegalStateException(
                    "the block is that of a model, whose parameters have the types of its folder: expected neither "
                            + "clear nor cast");
        }
    }
}
