// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The options with which a device is opened. <see cref="NDManager.NewBaseManager"/> copies them: later
/// changes have no effect on existing managers.</summary>
public sealed class ContextOptions
{
    /// <summary>The number of threads that compute, 0 to 1024. 0, the default, means as many as the process may use. It
    /// never changes a result.</summary>
    public int NumThreads { get; set; }

    /// <summary>Whether a call that would not take the fastest path fails with <see cref="Status.NotFastest"/> and the
    /// reason. False, the default: the call runs.</summary>
    public bool Strict { get; set; }

    /// <summary>Whether devices that only compute in 16 bits may compute Float32 arrays in 16 bits; false by default.
    /// The CPU never needs it.</summary>
    public bool AllowReducedPrecision { get; set; }

    /// <summary>Whether the CPU takes subnormal numbers as 0: magnitudes below 2^-126 of Float32 and BFloat16, those that it
    /// reads and those that would be results. Numbers of Float16 are never flushed. False, the default: they are kept, which
    /// makes a block with such weights some 200 times slower.</summary>
    public bool FlushSubnormals { get; set; }

    /// <summary>Receives heed's messages about calls of the manager's arrays and of blocks in its context: the level and
    /// one line of text. Null, the default: they are dropped. It is called on the thread of the call that a message is
    /// about, during that call, and so possibly on many threads at once. Blocks of the call are in use meanwhile: it
    /// should write the message and return. Messages about calls that it makes itself are dropped, and so is what it
    /// throws.</summary>
    public Action<MessageLevel, string>? Logger { get; set; }

    /// <summary>Whether all options have their default values.</summary>
    internal bool IsDefault => NumThreads == 0 && !Strict && !AllowReducedPrecision && !FlushSubnormals && Logger is null;

    /// <summary>What receives the messages of contexts with these options, which are a copy; null: nothing.</summary>
    internal MessageSink? Sink { get; private set; }

    internal bool HasValuesOf(ContextOptions other) => ComputesLike(other) && Equals(Logger, other.Logger);

    /// <summary>Whether all options are equal that say how calls compute, which a logger does not.</summary>
    internal bool ComputesLike(ContextOptions other) => NumThreads == other.NumThreads && Strict == other.Strict
        && AllowReducedPrecision == other.AllowReducedPrecision && FlushSubnormals == other.FlushSubnormals;

    internal ContextOptions Copy()
    {
        var copy = (ContextOptions)MemberwiseClone();
        copy.Sink = Logger is null ? null : new MessageSink(Logger);
        return copy;
    }

    internal void Fill(NativeContextOptions members)
    {
        members.NumThreads = NumThreads;
        members.Strict = Strict ? 1 : 0;
        members.AllowReducedPrecision = AllowReducedPrecision ? 1 : 0;
        members.FlushSubnormals = FlushSubnormals ? 1 : 0;
    }

    /// <summary>Describes the options.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"ContextOptions(NumThreads={NumThreads}, Strict={Strict}, AllowReducedPrecision={AllowReducedPrecision}"
        + (FlushSubnormals ? ", FlushSubnormals=True)" : ")");
}
