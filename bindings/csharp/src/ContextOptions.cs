// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>How a device is opened. <see cref="NDManager.NewBaseManager"/> copies them: what is changed later has no
/// effect on managers that are there.</summary>
public sealed class ContextOptions
{
    /// <summary>The number of threads that compute, 0 to 1024; 0, the default: as many as the process may use. Never
    /// changes a result.</summary>
    public int NumThreads { get; set; }

    /// <summary>Whether a call that would not take the fastest path fails with <see cref="Status.NotFastest"/> and
    /// the reason; false, the default: it runs.</summary>
    public bool Strict { get; set; }

    /// <summary>Whether Float32 arrays may be computed with in 16 bits on devices that have nothing wider; false by
    /// default. The CPU never needs it.</summary>
    public bool AllowReducedPrecision { get; set; }

    /// <summary>Whether all is as it is by default.</summary>
    internal bool IsDefault => NumThreads == 0 && !Strict && !AllowReducedPrecision;

    internal bool HasValuesOf(ContextOptions other) => NumThreads == other.NumThreads && Strict == other.Strict
        && AllowReducedPrecision == other.AllowReducedPrecision;

    internal ContextOptions Copy() => (ContextOptions)MemberwiseClone();

    internal void Fill(NativeContextOptions members)
    {
        members.NumThreads = NumThreads;
        members.Strict = Strict ? 1 : 0;
        members.AllowReducedPrecision = AllowReducedPrecision ? 1 : 0;
    }

    /// <summary>Says what the options are.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"ContextOptions(NumThreads={NumThreads}, Strict={Strict}, AllowReducedPrecision={AllowReducedPrecision})";
}
