// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Heed;

/// <summary>The native library, loaded when it is first needed, and the context that all managers and blocks
/// share.</summary>
/// <remarks>If the environment variable HEED_NATIVE_PATH is set, it names the wrapper or the folder that holds it,
/// and nothing else is tried. Otherwise .NET looks for it: beside the assembly, in the package's runtimes folder,
/// in the system's folders.</remarks>
internal static class Library
{
    private const string PathVariable = "HEED_NATIVE_PATH";
    private const string WrapperName = "heed_csharp";
    private const string CouldNotLoad = "heed's native library could not be loaded";
    private static readonly object Gate = new object();
    private static NativeContext? context;
    private static IntPtr wrapper;

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

    /// <summary>Before 1.0 another minor version may be another interface; a patch never is.</summary>
    internal static void CheckVersion(int number, string text)
    {
        Version expected = typeof(Library).Assembly.GetName().Version!;
        if (number / 100 != (100 * expected.Major) + expected.Minor)
        {
            throw new DllNotFoundException(
                $"heed's native library is version {text}, but Heed.dll is of version {expected.ToString(3)}");
        }
    }

    private static unsafe NativeContext Open()
    {
        string? path = Environment.GetEnvironmentVariable(PathVariable);
        if (!string.IsNullOrEmpty(path) && wrapper == IntPtr.Zero)
        {
            wrapper = LoadFrom(path!);
        }
        try
        {
            CheckVersion(HeedNative.HeedVersion(), NativeText.ToManaged(HeedNative.HeedVersionString()));
        }
        catch (DllNotFoundException error) when (string.IsNullOrEmpty(path))
        {
            throw new DllNotFoundException(
                $"{CouldNotLoad}; tried: {PathVariable}, which is not set; what .NET tries: {error.Message}",
                error);
        }
        return NativeContext.Open();
    }

    private static IntPtr LoadFrom(string path)
    {
        string file = Path.GetFullPath(path);
        if (Directory.Exists(file))
        {
            file = Path.Combine(file, "lib" + WrapperName + ".so");
        }
        try
        {
            return LoadFile(file);
        }
        catch (DllNotFoundException error)
        {
            throw new DllNotFoundException(
                $"{CouldNotLoad}; {PathVariable} is {path}, and {file} could not be loaded: {error.Message}",
                error);
        }
    }

#if NET8_0_OR_GREATER
    private static IntPtr LoadFile(string file)
    {
        IntPtr loaded = NativeLibrary.Load(file);
        NativeLibrary.SetDllImportResolver(
            typeof(Library).Assembly, (name, _, _) => name == WrapperName ? loaded : IntPtr.Zero);
        return loaded;
    }
#else
    private const int RtldNow = 2;

    /// <summary>Once a library is loaded, glibc answers requests for its name with it, those of .NET too.</summary>
    private static unsafe IntPtr LoadFile(string file)
    {
        fixed (byte* name = NativeText.ToNative(file, nameof(file)))
        {
            // The first call of an import loads libraries itself, and would lose the reason that is asked for below.
            LibraryError();
            IntPtr loaded = OpenLibrary(name, RtldNow);
            if (loaded == IntPtr.Zero)
            {
                byte* reason = LibraryError();
                throw new DllNotFoundException(reason == null ? "no reason given" : NativeText.ToManaged(reason));
            }
            return loaded;
        }
    }

    [DllImport("libdl.so.2", EntryPoint = "dlopen")]
    private static extern unsafe IntPtr OpenLibrary(byte* file, int flags);

    [DllImport("libdl.so.2", EntryPoint = "dlerror")]
    private static extern unsafe byte* LibraryError();
#endif
}
