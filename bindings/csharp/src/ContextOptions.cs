// SPDX-License-Identifier: Apache-2.0
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

    /// <summary>Whether all options have their default values.</summary>
    internal bool IsDefault => NumThreads == 0 && !Strict && !AllowReducedPrecision && !FlushSubnormals;

    internal bool HasValuesOf(ContextOptions other) => NumThreads == other.NumThreads && Strict == other.Strict
        && AllowReducedPrecision == other.AllowReducedPrecision && FlushSubnormals == other.FlushSubnormals;

    internal ContextOptions Copy() => (ContextOptions)MemberwiseClone();

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
