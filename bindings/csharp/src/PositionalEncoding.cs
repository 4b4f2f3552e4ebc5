// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Members that are written by hand; others are generated from bindings/described.</content>
public sealed partial class PositionalEncoding : NativeBlock
{
    private readonly PositionalEncodingOptions options;

    /// <summary>Makes d2l's positional encoding.</summary>
    /// <param name="numHiddens">The size of a row.</param>
    /// <param name="dropout">The probability, from 0 to below 1, that an element is dropped when training.</param>
    /// <param name="maxLen">How many positions there are.</param>
    /// <param name="manager">The manager that <see cref="P"/> belongs to.</param>
    /// <exception cref="ArgumentException">An argument is out of range.</exception>
    /// <exception cref="ObjectDisposedException">The manager is disposed.</exception>
    public PositionalEncoding(long numHiddens, float dropout, long maxLen, NDManager manager)
        : this(
            new PositionalEncodingOptions { NumHiddens = numHiddens, MaxLen = maxLen, Dropout = dropout },
            manager ?? throw new ArgumentNullException(nameof(manager)))
    {
    }

    /// <summary>Makes a block of any kind, without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range, or cannot be combined with another.</exception>
    public PositionalEncoding(PositionalEncodingOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), (NDManager?)null)
    {
    }

    /// <summary>Makes a child of another block.</summary>
    internal PositionalEncoding(PositionalEncodingOptions options, ChildPath path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    private PositionalEncoding(PositionalEncodingOptions options, NDManager? manager)
        : base(options.NewLayer)
    {
        this.options = options;
        P = manager is null ? null : Rows(manager);
    }

    /// <summary>The rows that are added, Float32 of (1, maxLen, numHiddens), as in d2l-java. It belongs to the
    /// constructor's manager, and is a copy: writing to it changes nothing. Null in a block that was made with
    /// options.</summary>
    public NDArray? P { get; }

    /// <summary>The sum of zeros and the rows.</summary>
    private NDArray Rows(NDManager manager)
    {
        try
        {
            using NDArray zeros = manager.Zeros(new Shape(1, options.MaxLen, options.NumHiddens));
            return manager.OutOfScope(Forward(new ParameterStore(manager, false), new NDList(zeros)).SingletonOrThrow());
        }
        catch
        {
            Dispose();
            throw;
        }
    }
}
