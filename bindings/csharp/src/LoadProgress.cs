// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>How far a load is.</summary>
public readonly struct LoadProgress
{
    internal LoadProgress(long done, long total)
    {
        Done = done;
        Total = total;
    }

    /// <summary>The bytes that have been read.</summary>
    public long Done { get; }

    /// <summary>The bytes of all parameters in the files.</summary>
    public long Total { get; }
}
