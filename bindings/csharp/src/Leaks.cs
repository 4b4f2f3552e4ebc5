// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;

namespace Heed;

/// <summary>Reports objects that were not disposed, if the program requests it by the environment variable HEED_LEAKS=1
/// or the AppContext switch Heed.Leaks. Recording where an object was made takes some 10 us for each object.</summary>
internal static class Leaks
{
    private static readonly bool IsAsked =
        AppContext.TryGetSwitch("Heed.Leaks", out bool isOn) ? isOn
        : Environment.GetEnvironmentVariable("HEED_LEAKS") == "1";

    /// <summary>The stack trace of the caller, for a report. Null if reports are off.</summary>
    internal static Origin? Here(string kind) => IsAsked ? new Origin(kind, Environment.StackTrace) : null;

    internal sealed class Origin
    {
        private readonly string kind;
        private readonly string stack;

        internal Origin(string kind, string stack)
        {
            this.kind = kind;
            this.stack = stack;
        }

        /// <summary>Runs on the finalizer thread, where an exception of a listener could not be caught.</summary>
        internal void Report()
        {
            try
            {
                Trace.TraceWarning(
                    $"heed: the collector has freed an object that was not disposed: {kind}, made\n{stack}");
            }
            catch (Exception)
            {
                // An exception of a listener is ignored.
            }
        }
    }
}
