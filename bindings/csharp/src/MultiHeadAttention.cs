// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using System.Threading;

namespace Heed;

/// <summary>Multi-head attention (Vaswani et al., "Attention Is All You Need", 2017), with d2l-java's constructor
/// and calls.</summary>
/// <remarks>Its parameters W_q, W_k and W_v are of shape (numHiddens, size of the input), W_o of (numHiddens,
/// numHiddens); scores are divided by the square root of numHiddens / numHeads (d2l-java's own class divides by the
/// square root of 2). The block gets them by <see cref="Initialize"/> or <see cref="Load"/>. Each Forward keeps the
/// attention weights in <see cref="Attention"/>, as d2l does; <see cref="KeepAttentionWeights"/> turns it off. Many
/// threads may call Forward on one block; a call that changes its parameters waits for them.</remarks>
public sealed class MultiHeadAttention : IDisposable
{
    private const int BiasNone = 0;
    private const int BiasAll = 15;
    private const int WantOutput = 1;
    private const int WantWeights = 2;
    private static readonly string[] InputNames = { "queries", "keys", "values", "valid_lens" };

    /// <summary>How many blocks were made: each has its own seeds.</summary>
    private static long blocks = -1;

    private readonly long numHiddens;
    private readonly long numHeads;
    private readonly float dropout;
    private readonly int biases;

    /// <summary>Read by calls that use the parameters, written by those that change them.</summary>
    private readonly ReaderWriterLockSlim parameters = new ReaderWriterLockSlim();
    private long nextSeed = Interlocked.Increment(ref blocks) << 32;
    private volatile NativeLayer layer;
    private volatile bool disposed;
    private volatile bool keepAttentionWeights = true;

    /// <summary>Makes a block without parameters.</summary>
    /// <param name="numHiddens">The size of the output, a multiple of numHeads.</param>
    /// <param name="numHeads">The number of heads H.</param>
    /// <param name="dropout">The probability, from 0 to below 1, that an attention weight is dropped when
    /// training.</param>
    /// <param name="useBias">Whether the four projections add a bias.</param>
    /// <exception cref="ArgumentException">An argument is out of range, or numHiddens is not a multiple of
    /// numHeads.</exception>
    public MultiHeadAttention(long numHiddens, long numHeads, float dropout = 0, bool useBias = false)
    {
        this.numHiddens = numHiddens;
        this.numHeads = numHeads;
        this.dropout = dropout;
        biases = useBias ? BiasAll : BiasNone;
        layer = NewLayer(Library.Context);
    }

    /// <summary>The attention inside, which holds the attention weights of the last Forward.</summary>
    public DotProductAttention Attention { get; } = new DotProductAttention();

    /// <summary>Whether each Forward computes and keeps the attention weights, which take B * H * Q * K elements;
    /// true from the beginning. The result is the same. Those of the last Forward are disposed when they are no longer
    /// kept.</summary>
    public bool KeepAttentionWeights
    {
        get => keepAttentionWeights;
        set
        {
            keepAttentionWeights = value;
            if (!value)
            {
                Attention.Keep(null);
            }
        }
    }

    /// <summary>Whether the block has its parameters: false before <see cref="Initialize"/> or <see cref="Load"/>,
    /// and once the manager of the parameters is disposed.</summary>
    /// <exception cref="ObjectDisposedException">The block is disposed.</exception>
    public bool IsInitialized
    {
        get
        {
            parameters.EnterReadLock();
            try
            {
                return HasParameters();
            }
            finally
            {
                parameters.ExitReadLock();
            }
        }
    }

    /// <summary>Gives the block parameters for inputs of these shapes: weights drawn from a normal distribution of
    /// variance 2 / (size of the input), DJL's default, and biases of 0. They belong to the manager: once it is
    /// disposed the block has none, and can be initialized or loaded anew. On a block that has its parameters nothing
    /// changes, but the shapes and the type are checked.</summary>
    /// <param name="manager">The owner of the parameters.</param>
    /// <param name="dataType">Their type: Float32, Float16 or BFloat16.</param>
    /// <param name="inputShapes">The shapes of queries (B, Q, E), keys (B, K, E), values (B, K, E) and, optional or
    /// null, the valid lengths (B) or (B, Q).</param>
    /// <exception cref="ArgumentException">The shapes do not fit each other or the parameters that are there, or
    /// the type is another or not that of the parameters that are there.</exception>
    public void Initialize(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        _ = inputShapes ?? throw new ArgumentNullException(nameof(inputShapes));
        NativeContext context = manager.OpenContext();
        CheckInputs(inputShapes, nameof(inputShapes), "shapes");
        parameters.EnterWriteLock();
        try
        {
            using NativeTensor? queries = ShapeOnly(context, dataType, inputShapes, 0);
            using NativeTensor? keys = ShapeOnly(context, dataType, inputShapes, 1);
            using NativeTensor? values = ShapeOnly(context, dataType, inputShapes, 2);
            using NativeTensor? validLens = ShapeOnly(context, DataType.Float32, inputShapes, 3);
            CheckNotDisposed();
            if (HasParameters())
            {
                layer.CreateOutput(queries, keys, values, validLens, null, null, WantOutput).Dispose();
                CheckParametersAre(dataType);
                return;
            }
            NativeLayer made = NewLayer(context);
            try
            {
                made.InitializeFor(queries, keys, values, validLens, null, null, NextSeed());
                manager.Own(made.SafeHandle);
            }
            catch
            {
                made.Dispose();
                throw;
            }
            ReplaceLayer(made);
        }
        finally
        {
            parameters.ExitWriteLock();
        }
    }

    /// <summary>Attends.</summary>
    /// <param name="parameterStore">Taken as DJL's blocks do.</param>
    /// <param name="inputs">Queries (B, Q, E), keys (B, K, E), values (B, K, E), of one type of Float32, Float16
    /// and BFloat16, and, optional or null, the valid lengths (B) or (B, Q) of Float32, Int32 or Int64: a query
    /// attends to as many keys from the first.</param>
    /// <param name="training">Whether to drop attention weights; each such call draws new ones to drop, from <see
    /// cref="SetSeed"/> on.</param>
    /// <returns>A list of one array (B, Q, numHiddens) of the queries' type, which belongs to the queries'
    /// manager.</returns>
    /// <exception cref="ArgumentException">The list has not three or four arrays, or sizes, types or lengths do not
    /// fit.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="ObjectDisposedException">An array, a manager or the block is disposed.</exception>
    public NDList Forward(ParameterStore parameterStore, NDList inputs, bool training = false)
    {
        _ = parameterStore ?? throw new ArgumentNullException(nameof(parameterStore));
        _ = inputs ?? throw new ArgumentNullException(nameof(inputs));
        NDArray?[] arrays = inputs.ToArray();
        CheckInputs(arrays, nameof(inputs), "arrays");
        NDManager manager = arrays[0]!.Manager;
        NativeTensor queries = arrays[0]!.Tensor;
        NativeTensor keys = arrays[1]!.Tensor;
        NativeTensor values = arrays[2]!.Tensor;
        NativeTensor? validLens = arrays.Length == 4 ? arrays[3]?.Tensor : null;
        bool keep = keepAttentionWeights;
        NativeTensor? output = null;
        NativeTensor? weights = null;
        parameters.EnterReadLock();
        try
        {
            NativeLayer open = layer;
            output = open.CreateOutput(queries, keys, values, validLens, null, null, WantOutput);
            weights = keep ? open.CreateOutput(queries, keys, values, validLens, null, null, WantWeights) : null;
            open.Run(
                queries, keys, values, validLens, null, null, training ? NextSeed() : 0, training ? 1 : 0, null, output,
                weights, null);
            NDArray result = manager.Adopt(output);
            Attention.Keep(weights is null ? null : manager.Adopt(HeadsInBatch(weights)));
            return new NDList(result);
        }
        catch
        {
            output?.Dispose();
            throw;
        }
        finally
        {
            weights?.Dispose();
            parameters.ExitReadLock();
        }
    }

    /// <summary>Reads all parameters from a .safetensors file, which may be a whole model's: W_q is read from
    /// "prefix.W_q.weight", its bias from "prefix.W_q.bias", and so on, or from the names of PyTorch, Hugging Face,
    /// Keras, DJL or d2l-java (docs/weights.md has all). Sizes and types are the file's, or, on a block that has its
    /// parameters, stay as they are. All or nothing. Once the manager of <see cref="Initialize"/> is disposed, the block
    /// gets parameters anew, which belong to the block.</summary>
    /// <param name="path">The file.</param>
    /// <param name="prefix">What stands before the names, without the separator; empty or null: nothing.</param>
    /// <exception cref="ArgumentException">A parameter has another shape, the file has a bias and the block none, or
    /// it has the parameters under the names of two frameworks.</exception>
    /// <exception cref="NotSupportedException">The file has what the block cannot do, as PyTorch's bias_k.</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: the file cannot be read; <see
    /// cref="Status.CorruptFile"/>: it is not what its format says; <see cref="Status.NotFound"/>: a parameter is
    /// missing.</exception>
    public unsafe void Load(string path, string? prefix = null)
    {
        byte[] file = NativeText.ToNative(path, nameof(path));
        byte[]? before = prefix is null ? null : NativeText.ToNative(prefix, nameof(prefix));
        parameters.EnterWriteLock();
        try
        {
            fixed (byte* nativeFile = file, nativeBefore = before)
            {
                CheckNotDisposed();
                if (!layer.SafeHandle.IsClosed)
                {
                    layer.Load(nativeFile, nativeBefore);
                    return;
                }
                NativeLayer made = NewLayer(Library.Context);
                try
                {
                    made.Load(nativeFile, nativeBefore);
                }
                catch
                {
                    made.Dispose();
                    throw;
                }
                ReplaceLayer(made);
            }
        }
        finally
        {
            parameters.ExitWriteLock();
        }
    }

    /// <summary>Writes all parameters to a .safetensors file, under the names that <see cref="Load"/> reads without
    /// a prefix. The file is replaced as a whole, or left as it was.</summary>
    /// <param name="path">The file.</param>
    /// <exception cref="InvalidOperationException">The block is not initialized.</exception>
    /// <exception cref="HeedException">With <see cref="Status.IO"/>: the file cannot be written.</exception>
    public unsafe void Save(string path)
    {
        byte[] file = NativeText.ToNative(path, nameof(path));
        parameters.EnterReadLock();
        try
        {
            fixed (byte* nativeFile = file)
            {
                layer.Save(nativeFile);
            }
        }
        finally
        {
            parameters.ExitReadLock();
        }
    }

    /// <summary>Sets where the block's random numbers begin: those of <see cref="Initialize"/>, and of the dropout
    /// of each Forward that trains. The same seed repeats the same numbers. A block begins with a seed of its own,
    /// the first block of a process always with the same.</summary>
    /// <param name="seed">Any number.</param>
    public void SetSeed(long seed) => Interlocked.Exchange(ref nextSeed, seed);

    /// <summary>Frees the parameters; if a call on another thread uses them, after that call. Doing so twice does
    /// nothing.</summary>
    public void Dispose()
    {
        disposed = true;
        layer.Dispose();
    }

    /// <summary>Says what the block is.</summary>
    /// <returns>The text.</returns>
    public override string ToString()
    {
        string options = $"numHiddens={numHiddens}, numHeads={numHeads}, useBias={biases != BiasNone}";
        return $"MultiHeadAttention({options}, dropout={dropout.ToString(CultureInfo.InvariantCulture)})";
    }

    /// <summary>Three or four inputs, of which the first three are there.</summary>
    private static void CheckInputs(object?[] inputs, string name, string what)
    {
        if (inputs.Length is not (3 or 4))
        {
            throw new ArgumentException(
                $"{name} has {inputs.Length} {what}, expected 3 or 4: queries, keys, values and, optional, valid_lens");
        }
        for (int i = 0; i < 3; i++)
        {
            if (inputs[i] is null)
            {
                throw new ArgumentNullException(InputNames[i]);
            }
        }
    }

    private static unsafe NativeTensor? ShapeOnly(NativeContext context, DataType dataType, Shape?[] shapes, int index)
    {
        Shape? shape = index < shapes.Length ? shapes[index] : null;
        if (shape is null)
        {
            return null;
        }
        fixed (long* dims = shape.Dims)
        {
            return NativeTensor.ShapeOnly(context, (int)dataType, shape.Dimension, dims);
        }
    }

    /// <summary>A view (B * H, Q, K) of weights (B, H, Q, K).</summary>
    private static unsafe NativeTensor HeadsInBatch(NativeTensor weights)
    {
        long* dims = stackalloc long[] { weights.Dim(0) * weights.Dim(1), weights.Dim(2), weights.Dim(3) };
        return weights.Reshape(3, dims);
    }

    private NativeLayer NewLayer(NativeContext context) =>
        NativeLayer.MultiHeadAttention(
        context, numHiddens, numHeads, 0, 0, 0, 0, 0, biases, 0, 0, 0, dropout, 0, 0, 0, 0, 0);

    /// <summary>Under the write lock.</summary>
    private void ReplaceLayer(NativeLayer made)
    {
        layer.Dispose();
        layer = made;
        if (disposed)
        {
            made.Dispose();
        }
    }

    private void CheckNotDisposed()
    {
        if (disposed)
        {
            throw Errors.ClosedLayer();
        }
    }

    /// <summary>Under either lock. False as well if the parameters were disposed with their manager, which may be
    /// right now.</summary>
    private bool HasParameters()
    {
        try
        {
            return layer.IsInitialized() == 1;
        }
        catch (ObjectDisposedException)
        {
            CheckNotDisposed();
            return false;
        }
    }

    private unsafe void CheckParametersAre(DataType dataType)
    {
        for (long index = 0; index < layer.ParameterCount(); index++)
        {
            using NativeTensor parameter = layer.Parameter(layer.ParameterName(index));
            var found = (DataType)parameter.Dtype();
            if (found != dataType)
            {
                throw new ArgumentException(
                    $"dataType is {dataType}, but the block has parameters of {found} already", nameof(dataType));
            }
        }
    }

    private long NextSeed() => Interlocked.Increment(ref nextSeed) - 1;
}
