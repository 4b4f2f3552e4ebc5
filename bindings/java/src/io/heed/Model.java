// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.CancellationException;

/**
 * A whole model: a {@link ModelBlock} that is made from the folder of a model as Hugging Face's libraries write it, or
 * a block of the program's own, which a {@link Trainer} may train. Many threads may use it at the same time.
 *
 * <pre>{@code
 * try (Model model = Model.newInstance("bert");
 *     NDManager manager = NDManager.newBaseManager()) {
 *   model.load(Paths.get("bert-base-uncased"));
 *   NDArray ids = manager.create(new long[] {101, 7592, 102}, new Shape(1, 3));
 *   NDArray states = model.getBlock().forward(ids).singletonOrThrow();
 * }
 * }</pre>
 */
public final class Model implements AutoCloseable {
    private final String name;
    private static final String[] NOTHING = {};

    private final Device device;

    /** Null before load or setBlock. Guarded by this object's lock, as are the others. */
    private Block block;
    /** The model's own, or the one that load was given; null before either is needed. */
    private NDManager manager;

    private boolean ownsManager;
    private boolean isClosed;

    private Model(String name, Device device) {
        this.name = Objects.requireNonNull(name, "name");
        this.device = Objects.requireNonNull(device, "device");
    }

    /**
     * Makes a model without a block.
     *
     * @param name any name, which {@link #getName} returns
     * @return the model, which the caller closes
     */
    public static Model newInstance(String name) {
        return newInstance(name, Device.cpu());
    }

    /**
     * Makes a model without a block, whose {@link #getNDManager manager} is for a device.
     *
     * @param name any name, which {@link #getName} returns
     * @param device the device on which a block of the program's own is trained
     * @return the model, which the caller closes
     */
    public static Model newInstance(String name, Device device) {
        return new Model(name, device);
    }

    /**
     * Sets a block of the program's own, instead of one from a folder.
     *
     * @param block the block, which is closed with the model
     * @throws IllegalStateException if the model has a block already, or is closed
     */
    public synchronized void setBlock(Block block) {
        Objects.requireNonNull(block, "block");
        checkMayLoad();
        this.block = block;
    }

    /**
     * Makes the block of a folder, with its weights. The folder has config.json, and model.safetensors or
     * model.safetensors.index.json with the files that it names. The model_type in config.json says which block it is:
     *
     * <ul>
     *   <li>an encoder: bert, roberta, xlm-roberta, camembert, distilbert, electra, albert, modernbert,
     *       clip_text_model, and t5 and mt5 if the architectures in config.json name T5EncoderModel or
     *       MT5EncoderModel. ids (B, S) give hidden states (B, S, E), the model's last_hidden_state; vit likewise, of
     *       images (B, channels, height, width), a row for each patch behind that of the class token
     *   <li>a decoder: gpt2, opt, llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3_text, phi3, granite. ids (B, S)
     *       give logits (B, S, number of embeddings), or hidden states if the architectures in config.json name no head
     *   <li>a Transformer: bart, mbart, marian, t5, mt5. The ids of the decoder (B, T) and of the encoder (B, S) give
     *       logits (B, T, number of embeddings), likewise; whisper, whose encoder reads features (B, mels, frames)
     * </ul>
     *
     * Its options are those of config.json. Tensors that are not part of it, such as a pooler or another head, are not
     * read. If it fails, the model still has no block.
     *
     * <p>The block is on the CPU and computes with the default {@link ContextOptions}, as the managers of {@link
     * NDManager#newBaseManager()} do; arrays of others are refused.
     *
     * @param folder the folder
     * @throws IllegalArgumentException if a setting in config.json contradicts the files of weights
     * @throws UnsupportedOperationException if the family is not listed above, or config.json has a setting that heed
     *     does not know; the message names it
     * @throws IllegalStateException if the model has a block already, or is closed
     * @throws HeedException with {@link Status#IO} if a file is missing or cannot be read, {@link Status#CORRUPT_FILE}
     *     if it does not have the format, {@link Status#NOT_FOUND} if a tensor is missing
     * @throws CancellationException if the thread is interrupted; it stays interrupted
     */
    public void load(Path folder) {
        loadIn(folder, null, null, LoadOptions.DEFAULTS, NOTHING);
    }

    /**
     * Makes the block of a folder as {@link #load(Path)} does, on the device and with the options of a manager. Arrays of
     * that manager, of its sub-managers for the same device, and of all managers with equal options can be its inputs.
     *
     * @param folder the folder
     * @param manager the owner of the parameters: once it is closed, the block can no longer compute
     * @throws IllegalArgumentException if a setting in config.json contradicts the files of weights
     * @throws UnsupportedOperationException if the family is not one of load(folder), or config.json has a setting that
     *     heed does not know; the message names it
     * @throws IllegalStateException if the model has a block already, or the model or the manager is closed
     * @throws HeedException with {@link Status#IO} if a file is missing or cannot be read, {@link Status#CORRUPT_FILE}
     *     if it does not have the format, {@link Status#NOT_FOUND} if a tensor is missing
     * @throws CancellationException if the thread is interrupted; it stays interrupted
     */
    public void load(Path folder, NDManager manager) {
        loadIn(folder, Objects.requireNonNull(manager, "manager"), null, LoadOptions.DEFAULTS, NOTHING);
    }

    /**
     * Makes the block of a folder as {@link #load(Path, NDManager)} does, and reports how far it is. If the listener throws
     * an exception, the load ends with it, and the model still has no block.
     *
     * @param folder the folder
     * @param manager the owner of the parameters; null: the block itself, on the CPU with the default options
     * @param progress hears of the bytes that have been read, on this thread
     * @throws IllegalArgumentException as load(folder, manager)
     * @throws UnsupportedOperationException as load(folder, manager)
     * @throws IllegalStateException as load(folder, manager)
     * @throws HeedException as load(folder, manager)
     * @throws CancellationException if the thread is interrupted; it stays interrupted
     */
    public void load(Path folder, NDManager manager, LoadProgress progress) {
        loadIn(folder, manager, Objects.requireNonNull(progress, "progress"), LoadOptions.DEFAULTS, NOTHING);
    }

    /**
     * Makes the block of a folder as {@link #load(Path, NDManager)} does, although its files have tensors or settings that
     * the block does not compute. The message of an exception that this can override ends with the names to give.
     *
     * @param folder the folder
     * @param manager the owner of the parameters; null: the block itself, on the CPU with the default options
     * @param progress hears of the bytes that have been read, on this thread; null: nothing does
     * @param accept the names of tensors, or the ends of them, and of settings that heed does not know
     * @throws IllegalArgumentException as load(folder, manager); also if a name is neither one of the files nor a feature
     *     that docs/weights.md lists
     * @throws UnsupportedOperationException as load(folder, manager)
     * @throws IllegalStateException as load(folder, manager)
     * @throws HeedException as load(folder, manager)
     * @throws CancellationException if the thread is interrupted; it stays interrupted
     */
    public void load(Path folder, NDManager manager, LoadProgress progress, String... accept) {
        load(folder, manager, progress, LoadOptions.DEFAULTS, accept);
    }

    /**
     * Makes the block of a folder as {@code load(folder, manager, progress, accept)} does, with options, such as whether
     * parameters of 16 bits become FLOAT32.
     *
     * @param folder the folder
     * @param manager the owner of the parameters; null: the block itself, on the CPU with the default options
     * @param progress hears of the bytes that have been read, on this thread; null: nothing does
     * @param options the options
     * @param accept the names of tensors, or the ends of them, and of settings that heed does not know
     * @throws IllegalArgumentException as load(folder, manager); also if a name is neither one of the files nor a feature
     *     that docs/weights.md lists
     * @throws UnsupportedOperationException as load(folder, manager)
     * @throws IllegalStateException as load(folder, manager)
     * @throws HeedException as load(folder, manager)
     * @throws CancellationException if the thread is interrupted; it stays interrupted
     */
    public void load(Path folder, NDManager manager, LoadProgress progress, LoadOptions options, String... accept) {
        Objects.requireNonNull(options, "options");
        loadIn(folder, manager, progress, options, Objects.requireNonNull(accept, "accept").clone());
    }

    /** A manager of null: the default context; a progress of null: none. */
    private synchronized void loadIn(
            Path folder, NDManager manager, LoadProgress progress, LoadOptions options, String[] accept) {
        Objects.requireNonNull(folder, "folder");
        checkMayLoad();
        ModelBlock made = StoppedCalls.listened(progress, () -> new ModelBlock(folder, manager, options, accept));
        try {
            // The listener may have closed the model, or loaded it.
            checkMayLoad();
        } catch (IllegalStateException refused) {
            made.close();
            throw refused;
        }
        block = made;
        if (manager != null && this.manager == null) {
            this.manager = manager;
        }
    }

    /**
     * Returns the block: the {@link ModelBlock} of a folder, or what {@link #setBlock} has set.
     *
     * @param <B> the class of the block, as which the program takes it: {@code ModelBlock block = model.getBlock()}
     * @return the block; each call returns the same one, which is closed with the model
     * @throws IllegalStateException if the model has no block, or is closed
     * @throws ClassCastException in the program, if the block is of another class
     */
    @SuppressWarnings("unchecked")
    public synchronized <B extends Block> B getBlock() {
        checkOpen();
        if (block == null) {
            throw new IllegalStateException("the model \"" + name + "\" has no block: expected load first");
        }
        return (B) block;
    }

    /**
     * Returns the manager of the parameters that a trainer makes.
     *
     * @return the manager that load was given; otherwise one of the model's own, for its device with the default {@link
     *     ContextOptions}, which is closed with the model
     * @throws IllegalStateException if the model is closed
     */
    public synchronized NDManager getNDManager() {
        checkOpen();
        if (manager == null) {
            manager = NDManager.newBaseManager(device);
            ownsManager = true;
        }
        return manager;
    }

    /**
     * Makes a trainer of the block. The initializers of the configuration become those of the block's parameters.
     *
     * @param trainingConfig the loss, the optimizer and the listeners
     * @return the trainer, which the caller closes
     * @throws IllegalArgumentException if the configuration has another device than the model
     * @throws IllegalStateException if the model has no block, or is closed
     */
    public Trainer newTrainer(TrainingConfig trainingConfig) {
        return new Trainer(this, Objects.requireNonNull(trainingConfig, "trainingConfig")).begin();
    }

    /**
     * Writes the parameters of the block to {@code <name>.safetensors} in a folder, which is made if it is missing. If
     * writing fails, an existing file is unchanged.
     *
     * @param folder the folder
     * @param name the name of the file without its end
     * @throws UnsupportedOperationException if the block is neither one of heed's own nor an {@link AbstractBlock}
     * @throws IllegalStateException if a parameter has no values, the model has no block, or it is closed
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public void save(Path folder, String name) {
        BlockFile.save(getBlock(), folder, name);
    }

    /**
     * Reads the parameters of a block that {@link #setBlock} has set from the file that {@link #save} has written.
     * Parameters of a block that has none belong to it, or to the manager of this model. A call that fails changes
     * nothing.
     *
     * @param folder the folder
     * @param name the name of the file without its end
     * @throws IllegalArgumentException if a parameter has another shape
     * @throws UnsupportedOperationException if the block is neither one of heed's own nor an {@link AbstractBlock}
     * @throws IllegalStateException if the model has no block, or it is closed
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it does not
     *     have the format, {@link Status#NOT_FOUND} if a parameter is missing
     * @throws CancellationException if the thread is interrupted; it stays interrupted
     */
    public void load(Path folder, String name) {
        BlockFile.load(getBlock(), folder, name, this::getNDManager);
    }

    /**
     * Returns the name.
     *
     * @return the name that the model was made with
     */
    public String getName() {
        return name;
    }

    /** Closes the block and the model's own manager. Closing twice does nothing. */
    @Override
    public synchronized void close() {
        isClosed = true;
        if (block != null) {
            block.close();
        }
        if (ownsManager) {
            manager.close();
        }
    }

    @Override
    public synchronized String toString() {
        return "Model(" + name + ", " + (block == null ? "not loaded" : block) + (isClosed ? ", closed" : "") + ")";
    }

    private void checkMayLoad() {
        checkOpen();
        if (block instanceof ModelBlock) {
            throw new IllegalStateException("the model \"" + name + "\" has been loaded already: make another one");
        }
        if (block != null) {
            throw new IllegalStateException("the model \"" + name + "\" has a block already: make another one");
        }
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("the model is closed");
        }
    }
}
