// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;

namespace Heed;

/// <summary>A function of arrays with parameters. heed's own blocks are <see cref="MultiHeadAttention"/>, <see
/// cref="DotProductAttention"/>, <see cref="AdditiveAttention"/>, <see cref="Linear"/> and <see cref="Dropout"/>;
/// <see cref="AbstractBlock"/> composes them to others.</summary>
/// <remarks>Many threads may call Forward on one block. Calls that change parameters wait for those of Forward that
/// run, block by block. Once a block is disposed, everything but Dispose, SetSeed and ToString throws <see
/// cref="ObjectDisposedException"/> where it needs the parameters.</remarks>
public abstract class Block : IDisposable
{
    private protected Block()
    {
    }

    /// <summary>Whether the block and all below it have their parameters. A block without parameters is
    /// initialized.</summary>
    public abstract bool IsInitialized { get; }

    /// <summary>The blocks that this one is made of, with their names: a copy, empty for heed's own.</summary>
    public abstract BlockList Children { get; }

    /// <summary>The parameters of this block itself: a copy of the list.</summary>
    public abstract ParameterList DirectParameters { get; }

    /// <summary>The parameters of this block and of all below it: the direct ones, then those of each child, under the
    /// name of the child, "_", and their name, as "01W_q_weight".</summary>
    public ParameterList Parameters
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

    /// <summary>The shapes that the block was last initialized for: a copy.</summary>
    /// <exception cref="InvalidOperationException">Initialize was not called yet.</exception>
    public abstract Shape?[] InputShapes { get; }

    /// <summary>Computes.</summary>
    /// <param name="parameterStore">Taken as DJL's blocks do.</param>
    /// <param name="inputs">The inputs, as the block says.</param>
    /// <param name="training">Whether dropout is active; each such call drops others, from <see cref="SetSeed"/>
    /// on.</param>
    /// <param name="parameters">For blocks of your own; heed's take none.</param>
    /// <returns>The outputs, which belong to the first input's manager.</returns>
    /// <exception cref="ArgumentException">There are not as many inputs as the block takes, or sizes, types or lengths
    /// do not fit.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    public abstract NDList Forward(
        ParameterStore parameterStore, NDList inputs, bool training = false,
        PairList<string, object>? parameters = null);

    /// <summary>Gives the block, and all below it, parameters for inputs of these shapes. They belong to the manager:
    /// once it is disposed the block has none, and can be initialized or loaded anew. Parameters that are there are
    /// kept: shapes that need others are refused, and <see cref="Clear"/> makes room for those. heed's own blocks check
    /// the type as well; where only some were set, these stay, converted to the type. If it fails, nothing has
    /// changed.</summary>
    /// <param name="manager">The owner of the parameters.</param>
    /// <param name="dataType">Their type: Float32, Float16 or BFloat16.</param>
    /// <param name="inputShapes">The shapes of the inputs of Forward; null for one that is not given.</param>
    /// <exception cref="ArgumentException">The shapes do not fit each other or the parameters that are there, whose
    /// shapes the message has, or the type is another or not that of the parameters that are there.</exception>
    public abstract void Initialize(NDManager manager, DataType dataType, params Shape?[] inputShapes);

    /// <summary>The shapes of what Forward gives for inputs of these shapes.</summary>
    /// <param name="inputShapes">The shapes of the inputs; null for one that is not given.</param>
    /// <param name="dataTypes">Their types; null: that of the parameters, or Float32.</param>
    /// <returns>The shapes of the outputs.</returns>
    /// <exception cref="ArgumentException">Forward would not take such inputs.</exception>
    /// <exception cref="NotSupportedException">A block of your own that does not say.</exception>
    public abstract Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null);

    /// <summary>Sets what makes the first values of all parameters of a type, here and below. Without effect on those
    /// that have values.</summary>
    /// <param name="initializer">The initializer.</param>
    /// <param name="type">The type of the parameters.</param>
    public void SetInitializer(Initializer initializer, ParameterType type) =>
        SetInitializer(initializer, parameter => parameter.Type == type);

    /// <summary>Sets what makes the first values of one parameter. Without effect if it has values.</summary>
    /// <param name="initializer">The initializer.</param>
    /// <param name="parameterName">The name of a direct parameter.</param>
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

    /// <summary>Sets what makes the first values of some parameters, here and below. Without effect on those that have
    /// values.</summary>
    /// <param name="initializer">The initializer.</param>
    /// <param name="predicate">Which parameters.</param>
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

    /// <summary>Converts the parameters, here and below. They stay with their manager.</summary>
    /// <param name="dataType">Their new type: Float32, Float16 or BFloat16.</param>
    /// <exception cref="ArgumentException">The type is another; nothing is changed.</exception>
    /// <exception cref="InvalidOperationException">A parameter has no values; nothing is changed.</exception>
    public abstract void Cast(DataType dataType);

    /// <summary>Drops the parameters, here and below: the block is not initialized any more, unless it has
    /// none.</summary>
    public abstract void Clear();

    /// <summary>Freezes parameters, here and below, or frees them: see <see
    /// cref="Parameter.RequiresGradient"/>.</summary>
    /// <param name="freeze">Whether they are to be frozen.</param>
    /// <param name="predicate">Which parameters; null: all.</param>
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

    /// <summary>Sets where random numbers begin: those of <see cref="Initialize"/>, and of the dropout of each Forward
    /// that trains. The same seed repeats the same numbers. A block begins with a seed of its own, the first block of a
    /// process always with the same. Of several of heed's blocks below this one the n-th, depth first from 0, gets seed
    /// + n * 2^32.</summary>
    /// <param name="seed">Any number.</param>
    public void SetSeed(long seed) => SetSeeds(ref seed);

    /// <summary>Writes all parameters to a stream, in a format of heed's own with a checksum, the same as Java's
    /// saveParameters. <see cref="NativeBlock.Save(string)"/> writes a .safetensors file instead, for other
    /// programs.</summary>
    /// <param name="stream">Where to; it stays open.</param>
    /// <exception cref="InvalidOperationException">A parameter has no values; nothing is written.</exception>
    /// <exception cref="NotSupportedException">The parameters of one block take 2 GiB or more.</exception>
    public void SaveParameters(Stream stream) =>
        ParameterFile.Save(this, stream ?? throw new ArgumentNullException(nameof(stream)));

    /// <summary>Reads what <see cref="SaveParameters"/> of this block, or of one made alike, has written, in Java or
    /// here, and nothing behind it. Types and sizes are the stream's. If it fails, nothing has changed.</summary>
    /// <param name="manager">The owner of the parameters, as of <see cref="Initialize"/>.</param>
    /// <param name="stream">Where from; it stays open.</param>
    /// <exception cref="MalformedModelException">The bytes are of another format or version, of another block, or
    /// damaged.</exception>
    /// <exception cref="EndOfStreamException">The stream ends early; the message says after how many bytes, and what is
    /// missing.</exception>
    public void LoadParameters(NDManager manager, Stream stream)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        ParameterFile.Load(this, manager, stream ?? throw new ArgumentNullException(nameof(stream)));
    }

    /// <summary>Frees the parameters, here and below; if a call on another thread uses them, after that call. Doing so
    /// twice does nothing.</summary>
    public abstract void Dispose();

    /// <summary>Gives each native layer its seed, and moves on to the next one's.</summary>
    internal abstract void SetSeeds(ref long seed);

    /// <summary>Adds to <paramref name="undo"/> what restores the present state of the block and of the blocks inside,
    /// and to <paramref name="snapshots"/> what that needs. <see cref="BlockState"/> disposes the snapshots.</summary>
    internal abstract void RememberState(List<Action> undo, List<IDisposable> snapshots);

    /// <summary>The shapes of <see cref="InputShapes"/>, null where there are none.</summary>
    internal abstract Shape?[]? ShapesOrNull { get; }

    /// <summary>Throws if the block is disposed.</summary>
    internal abstract void CheckNotDisposed();
}
