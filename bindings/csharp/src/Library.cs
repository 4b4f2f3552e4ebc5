// SPDX-License-Identifier: Apache-2.0
using System.Runtime.CompilerServices;

namespace Heed;

/// <summary>The context that all managers and blocks share.</summary>
internal static class Library
{
    private static readonly object Gate = new object();
    private static NativeContext? context;

    /// <summary>The CPU with heed's defaults. A failure is thrown anew each time, with all it has to say.</summary>
    internal static NativeContext Context
    {
        get
        {
            lock (Gate)
            {
                return context ??= Open();
            }
        }
    }

    private static NativeContext Open()
    {
        NativeLoader.Load();
        return OpenLoaded();
    }

    /// <remarks>Not inlined: Mono looks for a library when it compiles the method that calls it.</remarks>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static NativeContext OpenLoaded() => NativeContext.Open();
}
