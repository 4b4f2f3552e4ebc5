// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>A whole model: a <see cref="ModelBlock"/> that is made from the folder of a model as Hugging Face's
/// libraries write it. Many threads may use it at the same time.
/// <code>
/// using var model = new Model("bert");
/// model.Load("bert-base-uncased");
/// using NDManager manager = NDManager.NewBaseManager();
/// NDArray ids = manager.Create(new long[] { 101, 7592, 102 }, new Shape(1, 3));
/// NDArray states = model.Block.Forward(ids).SingletonOrThrow();
/// </code></summary>
public sealed class Model : IDisposable
{
    private readonly object gate = new object();

    /// <summary>Null before Load.</summary>
    private ModelBlock? block;
    private bool isDisposed;

    /// <summary>Makes a model without a block.</summary>
    /// <param name="name">Any name, which <see cref="Name"/> returns.</param>
    public Model(string name)
    {
        Name = name ?? throw new ArgumentNullException(nameof(name));
    }

    /// <summary>The name that the model was made with.</summary>
    public string Name { get; }

    /// <summary>The block, which is disposed with the model.</summary>
    /// <exception cref="InvalidOperationException">The model has not been loaded.</exception>
    /// <exception cref="ObjectDisposedException">The model is disposed.</exception>
    public ModelBlock Block
    {
        get
        {
            lock (gate)
            {
                CheckNotDisposed();
                return block ?? throw new InvalidOperationException(
                    $"the model \"{Name}\" has no block: expected Load first");
            }
        }
    }

    /// <summary>Makes the block of a folder, with its weights. The folder has config.json, and model.safetensors or
    /// model.safetensors.index.json with the files that it names. The model_type in config.json says which block it is:
    /// <code>
    /// encoder       bert, roberta, xlm-roberta, camembert, distilbert, electra, albert, modernbert, clip_text_model,
    ///               vit, and t5 and mt5 if the architectures in config.json name T5EncoderModel or MT5EncoderModel
    /// decoder       gpt2, opt, llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3_text, phi3, granite
    /// Transformer   bart, mbart, marian, t5, mt5, whisper
    /// </code>
    /// Its options are those of config.json. Ids that pad are hidden by lengths, not by their value. Tensors that are
    /// not part of it, such as a pooler or another head, are not read. If it fails, the model still has no
    /// block.</summary>
    /// <param name="folder">The folder.</param>
    /// <param name="manager">The owner of the parameters, whose device and options the block has: arrays of this manager, of
    /// its sub-managers for the same device, and of all managers with equal options can be its inputs, and once it is
    /// disposed, the block can no longer compute. Null: the block owns its parameters, is on the CPU and computes with the
    /// default <see cref="ContextOptions"/>, as managers without options do.</param>
    /// <param name="progress">Hears of the bytes that have been read; null: nothing does. An exception that its Report
    /// throws ends the call, which throws it.</param>
    /// <param name="stop">Stops the load.</param>
    /// <exception cref="ArgumentException">A setting in config.json contradicts the files of weights.</exception>
    /// <exception cref="NotSupportedException">The family is not listed above, config.json has a setting that heed does
    /// not know, or the files need something that heed cannot do; the sentence names it.</exception>
    /// <exception cref="InvalidOperationException">The model has a block already.</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: a file is missing or cannot be read;
    /// <see cref="Status.CorruptFile"/>: a file does not follow its format; <see cref="Status.NotFound"/>: a parameter
    /// is missing.</exception>
    /// <exception cref="ObjectDisposedException">The model or the manager is disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Load(
        string folder, NDManager? manager = null, IProgress<LoadProgress>? progress = null,
        CancellationToken stop = default) =>
        Load(folder, manager, progress, stop, Array.Empty<string>());

    /// <summary>Makes the block of a folder as
    /// <see cref="Load(string, NDManager?, IProgress{LoadProgress}?, CancellationToken)"/> does, although its files have
    /// tensors or settings that the block does not compute. The message of an exception that this can override ends with
    /// the names to give.</summary>
    /// <param name="folder">The folder.</param>
    /// <param name="manager">The owner of the parameters; null: the block, on the CPU with the default options.</param>
    /// <param name="progress">Hears of the bytes that have been read; null: nothing does.</param>
    /// <param name="stop">Stops the load.</param>
    /// <param name="accept">The names of tensors, or the ends of them, and of settings that heed does not know.</param>
    /// <exception cref="ArgumentException">A setting in config.json contradicts the files of weights; a name is neither one
    /// of the files nor a feature that docs/weights.md lists.</exception>
    public void Load(
        string folder, NDManager? manager, IProgress<LoadProgress>? progress, CancellationToken stop,
        params string[] accept) =>
        Load(folder, manager, progress, new LoadOptions(), stop, accept);

    /// <summary>Makes the block of a folder as
    /// <see cref="Load(string, NDManager?, IProgress{LoadProgress}?, CancellationToken, string[])"/> does, with options,
    /// such as whether parameters of 16 bits become Float32.</summary>
    /// <param name="folder">The folder.</param>
    /// <param name="manager">The owner of the parameters; null: the block, on the CPU with the default options.</param>
    /// <param name="progress">Hears of the bytes that have been read; null: nothing does.</param>
    /// <param name="options">The options.</param>
    /// <param name="stop">Stops the load.</param>
    /// <param name="accept">The names of tensors, or the ends of them, and of settings that heed does not know.</param>
    /// <exception cref="ArgumentException">A setting in config.json contradicts the files of weights; a name is neither one
    /// of the files nor a feature that docs/weights.md lists.</exception>
    public void Load(
        string folder, NDManager? manager, IProgress<LoadProgress>? progress, LoadOptions options,
        CancellationToken stop = default, params string[] accept)
    {
        _ = folder ?? throw new ArgumentNullException(nameof(folder));
        _ = options ?? throw new ArgumentNullException(nameof(options));
        _ = accept ?? throw new ArgumentNullException(nameof(accept));
        lock (gate)
        {
            CheckMayLoad();
            ModelBlock made = StoppableCall.With(stop, () => new ModelBlock(folder, manager, options, accept), progress);
            try
            {
                // The progress may have disposed the model, or loaded it.
                CheckMayLoad();
            }
            catch
            {
                made.Dispose();
                throw;
            }
            block = made;
        }
    }

    /// <summary>Frees the block. If a call on another thread uses it, it is freed after that call. A second call does
    /// nothing.</summary>
    public void Dispose()
    {
        lock (gate)
        {
            isDisposed = true;
            block?.Dispose();
        }
    }

    /// <summary>Describes the model.</summary>
    /// <returns>The text.</returns>
    public override string ToString()
    {
        lock (gate)
        {
            return $"Model({Name}, {block?.ToString() ?? "not loaded"}{(isDisposed ? ", closed" : string.Empty)})";
        }
    }

    private void CheckMayLoad()
    {
        CheckNotDisposed();
        if (block != null)
        {
            throw new InvalidOperationException($"the model \"{Name}\" has been loaded already: make another one");
        }
    }

    private void CheckNotDisposed()
    {
        if (isDisposed)
        {
            throw new ObjectDisposedException(nameof(Model), "the model is closed");
        }
    }
}
