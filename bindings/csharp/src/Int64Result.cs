// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A status and a number, as the wrapper returns them.</summary>
internal readonly struct Int64Result
{
#pragma warning disable CS0649 // The wrapper fills it.
    private readonly int status;
    private readonly long value;
#pragma warning restore CS0649

    internal long Check()
    {
        Errors.Check(status);
        return value;
    }
}
