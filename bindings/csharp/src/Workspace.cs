// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The memory that a block's Forward computes in, so that it allocates nothing. A workspace for the largest
/// inputs is large enough for all smaller ones; one call at a time uses it. It belongs to a manager, like an array: see
/// <see cref="NDManager.NewWorkspace"/>.</summary>
public sealed class Workspace : IDisposable
{
    private readonly NativeWorkspace workspace;
    private readonly long numBytes;

    internal Workspace(NativeWorkspace workspace)
    {
        this.workspace = workspace;
        numBytes = workspace.NumBytes();
    }

    /// <summary>The size in bytes.</summary>
    /// <exception cref="ObjectDisposedException">The workspace or its manager is disposed.</exception>
    public long NumBytes
    {
        get
        {
            CheckOpen();
            return numBytes;
        }
    }

    /// <summary>The native workspace. Throws if it is disposed.</summary>
    internal NativeWorkspace Native
    {
        get
        {
            CheckOpen();
            return workspace;
        }
    }

    /// <summary>Frees the memory. If a call on another thread uses it, it is freed after that call. A second call does
    /// nothing.</summary>
    public void Dispose() => workspace.Dispose();

    /// <summary>Describes the workspace.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"Workspace {numBytes} bytes{(workspace.SafeHandle.IsDisposed ? " (closed)" : string.Empty)}";

    private void CheckOpen()
    {
        if (workspace.SafeHandle.IsDisposed)
        {
            throw Errors.ClosedWorkspace();
        }
    }
}
