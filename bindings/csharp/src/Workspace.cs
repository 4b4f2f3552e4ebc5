// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Memory that a block's Forward computes in, so that it allocates nothing. One that is large enough for the
/// largest inputs serves all smaller ones; one call at a time uses it. It belongs to a manager, as an array
/// does: see <see cref="NDManager.NewWorkspace"/>.</summary>
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

    /// <summary>The native workspace, which is open.</summary>
    internal NativeWorkspace Native
    {
        get
        {
            CheckOpen();
            return workspace;
        }
    }

    /// <summary>Frees the memory; if a call on another thread uses it, after that call. Doing so twice does
    /// nothing.</summary>
    public void Dispose() => workspace.Dispose();

    /// <summary>Says what the workspace is.</summary>
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
