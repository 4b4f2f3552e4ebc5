// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class ContextOptions
{
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

    private void CopyMore() => Sink = Logger is null ? null : new MessageSink(Logger);

    /// <summary>Describes the options.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"ContextOptions(NumThreads={NumThreads}, Strict={Strict}, AllowReducedPrecision={AllowReducedPrecision}"
        + (FlushSubnormals ? ", FlushSubnormals=True)" : ")");
}
