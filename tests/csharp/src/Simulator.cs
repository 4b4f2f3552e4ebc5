// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>Control of the simulated NPU: see tests/ascend_sim/include/ascend_sim/control.h.</summary>
internal static unsafe class Simulator
{
    private const string Name = "ascend_sim";

    /// <summary>The memory of an ATB context: 32 blocks of 3 MiB.</summary>
    private const long TakenByAtb = 32 * (3L << 20);

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    private delegate nuint Report(byte* text, nuint capacity);

    static Simulator() => NativeLibrary.SetDllImportResolver(
        typeof(Simulator).Assembly,
        (name, _, _) => name == Name ? NativeLibrary.Load(Environment.GetEnvironmentVariable("HEED_SIMULATOR")!) : 0);

    internal static string Leaks => TextOf(ascend_sim_leaks);

    internal static string Violations => TextOf(ascend_sim_violations);

    internal static void SetFaults(string list) => ascend_sim_set_faults(list);

    /// <summary>Sets the least duration of each task on a stream.</summary>
    internal static void DelayTasks(uint microseconds) => ascend_sim_delay_tasks(microseconds);

    internal static long Count(string what) => (long)ascend_sim_count(what);

    /// <summary>Limits the device's free memory to this many bytes, with one context of ATB open.</summary>
    internal static void LeaveRoomFor(long numBytes) =>
        SetFaults($"memory={TakenByAtb + Count("bytes_allocated") + numBytes}");

    /// <summary>After all managers have been disposed and the collector has freed forgotten objects, nothing is left on
    /// the device.</summary>
    internal static void AssertNothingIsLeft()
    {
        SetFaults(string.Empty);
        DelayTasks(0);
        var watch = Stopwatch.StartNew();
        while (Leaks.Length > 0 && watch.Elapsed < Patience)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            Thread.Sleep(10);
        }
        Assert.Equal(string.Empty, Leaks);
        Assert.Equal(string.Empty, Violations);
    }

    private static string TextOf(Report report)
    {
        var text = new byte[1 << 16];
        fixed (byte* start = text)
        {
            report(start, (nuint)text.Length);
        }
        return Encoding.UTF8.GetString(text, 0, Array.IndexOf<byte>(text, 0));
    }

    [DllImport(Name)]
    private static extern nuint ascend_sim_leaks(byte* text, nuint capacity);

    [DllImport(Name)]
    private static extern nuint ascend_sim_violations(byte* text, nuint capacity);

    [DllImport(Name)]
    private static extern void ascend_sim_set_faults([MarshalAs(UnmanagedType.LPUTF8Str)] string list);

    [DllImport(Name)]
    private static extern void ascend_sim_delay_tasks(uint microseconds);

    [DllImport(Name)]
    private static extern ulong ascend_sim_count([MarshalAs(UnmanagedType.LPUTF8Str)] string what);
}
