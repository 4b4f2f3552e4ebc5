// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Heed;

/// <summary>Loads the native wrapper libheed_csharp.so, which loads the libheed in the same folder.</summary>
/// <remarks>The wrapper is searched for in this order. The first file that exists is loaded; if that fails, no other
/// one is tried, so that no unintended library is used:
/// <list type="number">
/// <item>the environment variable HEED_NATIVE_PATH: the wrapper, or the folder that contains it;</item>
/// <item>the files of the program: the package's runtimes folder and the program's own folder;</item>
/// <item>the folders that .NET and the system search, such as those that LD_LIBRARY_PATH names.</item>
/// </list></remarks>
internal static class NativeLoader
{
    private const string PathVariable = "HEED_NATIVE_PATH";
    private const string WrapperName = "heed_csharp";
    private const string WrapperFile = "lib" + WrapperName + ".so";
    private const string CouldNotLoad = "heed's native library could not be loaded; tried: ";
    private static readonly Version Expected = typeof(NativeLoader).Assembly.GetName().Version!;
    private static readonly string LibraryFile = "libheed.so." + Expected.Major;
    private static readonly object Gate = new object();
    private static bool isLoaded;
    private static IntPtr wrapper;
    private static string[] wrappers = Array.Empty<string>();

    /// <summary>Returns once the native functions can be called. A failure throws the full exception each
    /// time.</summary>
    /// <exception cref="DllNotFoundException">No library of this version could be loaded.</exception>
    internal static void Load()
    {
        lock (Gate)
        {
            if (!isLoaded)
            {
                string? path = Environment.GetEnvironmentVariable(PathVariable);
                if (string.IsNullOrEmpty(path))
                {
                    LoadFromProgram();
                }
                else
                {
                    LoadFromPath(path!);
                }
                isLoaded = true;
            }
        }
    }

    private static void LoadFromPath(string path)
    {
        string file = Path.GetFullPath(path);
        if (Directory.Exists(file))
        {
            file = Path.Combine(file, WrapperFile);
        }
        LoadFile(file, $"{PathVariable}, which is {path} and leaves nothing else to try");
    }

    private static void LoadFromProgram()
    {
        string tried = PathVariable + ", which is not set";
        foreach (string file in FilesOfProgram())
        {
            if (File.Exists(file))
            {
                LoadFile(file, tried);
                return;
            }
            tried += $"; {file}, which is not there";
        }
        CheckVersion($"{tried}; {WrapperFile} where .NET and the system look (LD_LIBRARY_PATH, the system's folders)");
    }

    /// <summary>.NET lists the folders of native files from packages. With other runtimes, and in a program that was
    /// compiled ahead of time, they are in the program's folder.</summary>
    private static IEnumerable<string> FilesOfProgram()
    {
        string folders = AppDomain.CurrentDomain.GetData("NATIVE_DLL_SEARCH_DIRECTORIES") as string ?? "";
        return folders.Split(new[] { Path.PathSeparator }, StringSplitOptions.RemoveEmptyEntries)
            .Append(AppContext.BaseDirectory)
            .Select(folder => Path.Combine(folder, WrapperFile))
            .Distinct();
    }

    private static void LoadFile(string file, string tried)
    {
        tried += "; " + file;
        if (wrapper == IntPtr.Zero)
        {
            try
            {
                // Loaded first, since LD_LIBRARY_PATH could lead the wrapper to another libheed.
                string library = Path.Combine(Path.GetDirectoryName(file)!, LibraryFile);
                if (File.Exists(library))
                {
                    OpenWhole(library);
                }
                wrapper = OpenWhole(file);
                UseForImports(wrapper);
                wrappers = LoadedWrappers();
            }
            catch (DllNotFoundException error)
            {
                throw new DllNotFoundException($"{CouldNotLoad}{tried}: {error.Message}", error);
            }
        }
        CheckVersion(tried);
        string? other = LoadedWrappers().Except(wrappers).FirstOrDefault();
        if (other != null)
        {
            throw new DllNotFoundException(
                $"{CouldNotLoad}{tried}, but this .NET takes {other}, which lies nearer: remove one of them");
        }
    }

    private static IntPtr OpenWhole(string file)
    {
        long missing = 0;
        try
        {
            missing = ElfFile.NumMissingBytes(file);
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            // The system's loader reports the error.
        }
        if (missing > 0)
        {
            throw new DllNotFoundException($"{file} is cut short: its last {missing} bytes are missing");
        }
        return Open(file);
    }

    /// <summary>Before 1.0, another minor version may have another interface; another patch never has.</summary>
    private static void CheckVersion(string tried)
    {
        try
        {
            if (LoadedVersion() / 100 != (100 * Expected.Major) + Expected.Minor)
            {
                throw new DllNotFoundException(
                    $"version {LoadedVersionText()} ({string.Join(", ", LoadedWrappers())}), but Heed.dll is of version "
                    + Expected.ToString(3));
            }
        }
        catch (Exception error) when (error is DllNotFoundException or EntryPointNotFoundException)
        {
            throw new DllNotFoundException($"{CouldNotLoad}{tried}: {error.Message}", error);
        }
    }

    // Not inlined: Mono loads the library when it compiles the method that calls it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int LoadedVersion() => HeedNative.HeedVersion();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string LoadedVersionText() => HeedNative.HeedVersionString();

    /// <summary>The paths of the wrappers in this process; none if the system does not list them.</summary>
    private static string[] LoadedWrappers()
    {
        const string Maps = "/proc/self/maps";
        if (!File.Exists(Maps))
        {
            return Array.Empty<string>();
        }
        return File.ReadLines(Maps)
            .Where(line => line.EndsWith("/" + WrapperFile, StringComparison.Ordinal))
            .Select(line => line.Substring(line.IndexOf('/')))
            .Distinct()
            .ToArray();
    }

#if NET8_0_OR_GREATER
    private static IntPtr Open(string file) => NativeLibrary.Load(file);

    private static void UseForImports(IntPtr opened) => NativeLibrary.SetDllImportResolver(
        typeof(NativeLoader).Assembly, (name, _, _) => name == WrapperName ? opened : IntPtr.Zero);
#else
    private const int RtldNow = 2;

    private static unsafe IntPtr Open(string file)
    {
        fixed (byte* name = NativeText.ToNative(file, nameof(file)))
        {
            // The first call of an import loads libraries itself. Without this call it would discard the reason
            // below.
            LibraryError();
            IntPtr opened = OpenLibrary(name, RtldNow);
            if (opened == IntPtr.Zero)
            {
                byte* reason = LibraryError();
                throw new DllNotFoundException(reason == null ? "no reason given" : NativeText.ToManaged(reason));
            }
            return opened;
        }
    }

    private static void UseForImports(IntPtr opened)
    {
        // glibc gives a library that is open to all later requests for its name, also those of .NET. So nothing has to be
        // done here.
    }

    [DllImport("libdl.so.2", EntryPoint = "dlopen")]
    private static extern unsafe IntPtr OpenLibrary(byte* file, int flags);

    [DllImport("libdl.so.2", EntryPoint = "dlerror")]
    private static extern unsafe byte* LibraryError();
#endif
}
