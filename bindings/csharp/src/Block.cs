// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;

namespace Heed;

/// <summary>A computation with parameters and possibly child blocks. heed's own blocks are
/// <see cref="MultiHeadAttention"/>, <see cref="DotProductAttention"/>, <see cref="AdditiveAttention"/>,
/// <see cref="GeneralAttention"/>, <see cref="PositionalEncoding"/>, <see cref="Linear"/>, <see cref="Dropout"/>,
/// <see cref="LayerNorm"/>, <see cref="FeedForward"/>, <see cref="Embedding"/>, <see cref="TransformerEncoderBlock"/>,
/// <see cref="TransformerDecoderBlock"/>, <see cref="TransformerEncoder"/>, <see cref="TransformerDecoder"/>,
/// <see cref="Transformer"/> and <see cref="ModelBlock"/>; a program composes others as a
/// <see cref="SequentialBlock"/> or as subclasses of <see cref="AbstractBlock"/>.</summary>
/// <remarks>Many threads may call Forward on one block at the same time. A call that changes a block's parameters waits
/// for the calls of Forward that use this block. On a disposed block, Dispose, SetSeed and ToString still work; a
/// member that needs the parameters throws <see cref="ObjectDisposedException"/>.</remarks>
public abstract class Block : IDisposable
{
    private protected Block()
    {
    }

    /// <summary>Whether all parameters of the block and of the blocks inside it have values. A block without parameters
    /// is initialized.</summary>
    public abstract bool IsInitialized { get; }

    /// <summary>The child blocks with their names: a copy of the list, with the same blocks each time.</summary>
    public abstract BlockList Children { get; }

    /// <summary>The parameters of this block itself: a copy of the list.</summary>
    public abstract ParameterList DirectParameters { get; }

    /// <summary>The parameters of this block and of all blocks inside it: first this block's own, then those of each
    /// child, named by the child's name, "_", and their own name, as in "01W_q_weight". heed's own blocks have dotted
    /// names, as in "self_attention.W_q.weight".</summary>
    public virtual ParameterList Parameters
    {
        get
        {
            ParameterList all = DirectParameters;
            foreach (Pair<string, Block> child in Children)
            {
                foreach (Pair<string, Parameter> parameter in child.Value.Parameters)
                {
                    all.Add(child.Key + "_" + parameter.Key, parameter.Value);
                }
            }
            return all;
        }
    }

    /// <summary>The shapes that the block was last initialized with: a copy.</summary>
    /// <exception cref="InvalidOperationException">The block was not initialized.</exception>
    public abstract Shape?[] InputShapes { get; }

    /// <summary>Computes the outputs without dropout, as <see cref="Forward(ParameterStore, NDList, bool,
    /// PairList{string, object}?)"/> does without training.</summary>
    /// <param name="inputs">The inputs that the block describes; null for one that is left out.</param>
    /// <returns>The outputs, which belong to the first input's manager.</returns>
    /// <exception cref="ArgumentException">The number of inputs is not the block's, or sizes, types or lengths do not
    /// fit.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    public NDList Forward(params NDArray?[] inputs) =>
        Forward(new ParameterStore(), new NDList(inputs ?? throw new ArgumentNullException(nameof(inputs))));

    /// <summary>Computes the outputs without dropout, and can be stopped: the calls of heed's blocks in this one end when
    /// the token is cancelled.</summary>
    /// <param name="stop">Stops the call.</param>
    /// <param name="inputs">The inputs that the block describes.</param>
    /// <returns>The outputs, which belong to the first input's manager.</returns>
    /// <exception cref="ArgumentException">The number of inputs is not the block's, or sizes, types or lengths do not
    /// fit.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public NDList Forward(CancellationToken stop, params NDArray?[] inputs) =>
        StoppableCall.With(stop, () => Forward(inputs));

    /// <summary>Computes the outputs.</summary>
    /// <param name="parameterStore">Not read; there because DJL's blocks have it.</param>
    /// <param name="inputs">The inputs that the block describes.</param>
    /// <param name="training">Whether dropout is active. Each such call drops other elements, by the next seed after
    /// <see cref="SetSeed"/>.</param>
    /// <param name="parameters">Further arguments for blocks of your own; heed's own blocks read none.</param>
    /// <returns>The outputs, which belong to the first input's manager.</returns>
    /// <exception cref="ArgumentException">The number of inputs is not the block's, or sizes, types or lengths do not
    /// fit.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    public abstract NDList Forward(
        ParameterStore parameterStore, NDList inputs, bool training = false,
        PairList<string, object>? parameters = null);

    /// <summary>Computes the outputs as <see cref="Forward(ParameterStore, NDList, bool, PairList{string, object}?)"/> does,
    /// and can be stopped: the calls of heed's blocks in this one end when the token is cancelled.</summary>
    /// <param name="stop">Stops the call.</param>
    /// <param name="parameterStore">Not read; there because DJL's blocks have it.</param>
    /// <param name="inputs">The inputs that the block describes.</param>
    /// <param name="training">Whether dropout is active.</param>
    /// <param name="parameters">Further arguments for blocks of your own; heed's own blocks read none.</param>
    /// <returns>The outputs, which belong to the first input's manager.</returns>
    /// <exception cref="ArgumentException">The number of inputs is not the block's, or sizes, types or lengths do not
    /// fit.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public NDList Forward(
        CancellationToken stop, ParameterStore parameterStore, NDList inputs, bool training = false,
        PairList<string, object>? parameters = null) =>
        StoppableCall.With(stop, () => Forward(parameterStore, inputs, training, parameters));

    /// <summary>Creates the parameters of the block, and of the blocks inside it, for inputs of these shapes. They
    /// belong to the manager: once it is disposed the block has none, and can be initialized or loaded again. Existing
    /// parameters stay. If they do not fit the shapes, the call is refused; <see cref="Clear"/> removes them first.
    /// heed's own blocks check the type as well; if only some parameters were set, these stay, converted to the type. A
    /// call that fails changes nothing.</summary>
    /// <param name="manager">The owner of the parameters.</param>
    /// <param name="dataType">Their type: Float32, Float16 or BFloat16.</param>
    /// <param name="inputShapes">The shapes of the inputs of Forward; null for an input that is left out.</param>
    /// <exception cref="ArgumentException">The shapes do not fit each other, or do not fit existing parameters, whose
    /// shapes the message states; or the type is none of these, or not that of existing parameters.</exception>
    public abstract void Initialize(NDManager manager, DataType dataType, params Shape?[] inputShapes);

    /// <summary>Creates the parameters as <see cref="Initialize(NDManager, DataType, Shape?[])"/> does, and can be stopped:
    /// nothing is changed then. Initializers of the program run to their end.</summary>
    /// <param name="stop">Stops the call.</param>
    /// <param name="manager">The owner of the parameters.</param>
    /// <param name="dataType">Their type: Float32, Float16 or BFloat16.</param>
    /// <param name="inputShapes">The shapes of the inputs of Forward; null for an input that is left out.</param>
    /// <exception cref="ArgumentException">The shapes do not fit each other, or do not fit existing parameters, or the type
    /// is none of these, or not that of existing parameters.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void Initialize(
        CancellationToken stop, NDManager manager, DataType dataType, params Shape?[] inputShapes) =>
        StoppableCall.With(stop, () => Initialize(manager, dataType, inputShapes));

    /// <summary>The shapes of the outputs of Forward for inputs of these shapes.</summary>
    /// <param name="inputShapes">The shapes of the inputs; null for an input that is left out.</param>
    /// <param name="dataTypes">Their types; null: that of the parameters, or Float32.</param>
    /// <returns>The shapes of the outputs.</returns>
    /// <exception cref="ArgumentException">Forward does not take inputs of these shapes and types.</exception>
    /// <exception cref="NotSupportedException">The block is your own and does not override this method.</exception>
    public abstract Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null);

    /// <summary>Sets the initializer of all parameters of a type, including those of the blocks inside. A parameter
    /// that already has values keeps them.</summary>
    /// <param name="initializer">The initializer.</param>
    /// <param name="type">The type of the parameters.</param>
    public void SetInitializer(Initializer initializer, ParameterType type) =>
        SetInitializer(initializer, parameter => parameter.Type == type);

    /// <summary>Sets the initializer of one of this block's own parameters. A parameter that already has values keeps
    /// them.</summary>
    /// <param name="initializer">The initializer.</param>
    /// <param name="parameterName">The parameter's name.</param>
    /// <exception cref="ArgumentException">There is no such parameter.</exception>
    public void SetInitializer(Initializer initializer, string parameterName)
    {
        _ = initializer ?? throw new ArgumentNullException(nameof(initializer));
        _ = parameterName ?? throw new ArgumentNullException(nameof(parameterName));
        ParameterList direct = DirectParameters;
        if (!direct.TryGetValue(parameterName, out Parameter? parameter))
        {
            throw new ArgumentException(
                $"parameterName is {parameterName}, but the block has {string.Join(", ", direct.Keys)}",
                nameof(parameterName));
        }
        parameter.SetInitializer(initializer);
    }

    /// <summary>Sets the initializer of some parameters of this block and of the blocks inside. A parameter that
    /// already has values keeps them.</summary>
    /// <param name="initializer">The initializer.</param>
    /// <param name="predicate">Selects the parameters.</param>
    public void SetInitializer(Initializer initializer, Predicate<Parameter> predicate)
    {
        _ = initializer ?? throw new ArgumentNullException(nameof(initializer));
        _ = predicate ?? throw new ArgumentNullException(nameof(predicate));
        foreach (Pair<string, Parameter> parameter in Parameters)
        {
            if (predicate(parameter.Value))
            {
                parameter.Value.SetInitializer(initializer);
            }
        }
    }

    /// <summary>Converts the parameters of this block and of the blocks inside. They stay with their manager.</summary>
    /// <param name="dataType">Their new type: Float32, Float16 or BFloat16.</param>
    /// <exception cref="ArgumentException">The type is none of these; nothing is changed.</exception>
    /// <exception cref="InvalidOperationException">A parameter has no values; nothing is changed.</exception>
    public abstract void Cast(DataType dataType);

    /// <summary>Removes the parameters of this block and of the blocks inside. A block that has parameters is then no
    /// longer initialized.</summary>
    public abstract void Clear();

    /// <summary>Marks parameters of this block and of the blocks inside as frozen, or removes the mark: see
    /// <see cref="Parameter.RequiresGradient"/>.</summary>
    /// <param name="freeze">True to mark them, false to remove the mark.</param>
    /// <param name="predicate">Selects the parameters; null: all.</param>
    public void FreezeParameters(bool freeze, Predicate<Parameter>? predicate = null)
    {
        foreach (Pair<string, Parameter> parameter in Parameters)
        {
            if (predicate is null || predicate(parameter.Value))
            {
                parameter.Value.Freeze(freeze);
            }
        }
    }

    /// <summary>Sets the seed of the random numbers: those of <see cref="Initialize(NDManager, DataType, Shape?[])"/>, and those of the dropout of
    /// each Forward in training. The same seed gives the same numbers. Each block begins with a different seed; the
    /// first block of a process always has the same one. Of heed's own blocks below this one, the n-th, depth first
    /// from 0, gets seed + n * 2^32.</summary>
    /// <param name="seed">Any number.</param>
    public void SetSeed(long seed) => SetSeeds(ref seed);

    /// <summary>Writes all parameters to a stream, in heed's own format with a checksum, the same as Java's
    /// saveParameters. <see cref="NativeBlock.Save(string)"/> writes a .safetensors file instead, for other
    /// programs.</summary>
    /// <param name="stream">The stream to write to; it stays open.</param>
    /// <exception cref="InvalidOperationException">A parameter has no values; nothing is written.</exception>
    /// <exception cref="NotSupportedException">The parameters of one block take 2 GiB or more.</exception>
    public void SaveParameters(Stream stream) =>
        ParameterFile.Save(this, stream ?? throw new ArgumentNullException(nameof(stream)));

    /// <summary>Reads the parameters that <see cref="SaveParameters"/> of this block, or of one that was made alike,
    /// has written in Java or C#, and nothing that follows them. Types and sizes are the stream's. A call that fails
    /// changes nothing.</summary>
    /// <param name="manager">The owner of the parameters, as in <see cref="Initialize(NDManager, DataType, Shape?[])"/>.</param>
    /// <param name="stream">The stream to read from; it stays open.</param>
    /// <exception cref="MalformedModelException">The bytes have another format or version, were saved by another block,
    /// or are damaged.</exception>
    /// <exception cref="EndOfStreamException">The stream ends early; the message says after how many bytes, and what is
    /// missing.</exception>
    public void LoadParameters(NDManager manager, Stream stream)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        ParameterFile.Load(this, manager, stream ?? throw new ArgumentNullException(nameof(stream)));
    }

    /// <summary>Frees the parameters of this block and of the blocks inside. If a call on another thread uses them,
    /// they are freed after that call. A second call does nothing.</summary>
    public abstract void Dispose();

    /// <summary>Sets the seed of each native layer, and moves <paramref name="seed"/> on to the seed of the next
    /// layer.</summary>
    internal abstract void SetSeeds(ref long seed);

    /// <summary>Adds to <paramref name="undo"/> actions that restore the present state of the block and of the blocks
    /// inside, and to <paramref name="snapshots"/> the arrays that they need. <see cref="BlockState"/> disposes the
    /// snapshots.</summary>
    internal abstract void RememberState(List<Action> undo, List<IDisposable> snapshots);

    /// <summary>The shapes of <see cref="InputShapes"/>; null if the block has none.</summary>
    internal abstract Shape?[]? ShapesOrNull { get; }

    /// <summary>Throws if the block is disposed.</summary>
    internal abstract void CheckNotDisposed();
}
