// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A status and a number, as the wrapper returns them.</summary>
internal readonly struct DoubleResult
{
#pragma warning disable CS0649 // The wrapper fills it.
    private readonly int status;
    private readonly double value;
#pragma warning restore CS0649

    internal double Check()
    {
        Errors.Check(status);
        return value;
    }
}
