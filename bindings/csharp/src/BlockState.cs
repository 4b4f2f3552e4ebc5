// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>The state of a block and of the blocks inside that <see cref="AbstractBlock.Initialize(NDManager, DataType, Shape?[])"/> may change: input
/// shapes, and parameters that have no values yet. A call that fails restores it.</summary>
internal sealed class BlockState : IDisposable
{
    private readonly List<Action> undo = new();
    private readonly List<IDisposable> snapshots = new();

    internal BlockState(Block block)
    {
        try
        {
            block.RememberState(undo, snapshots);
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    public void Dispose() => snapshots.ForEach(each => each.Dispose());

    /// <summary>Restores the state as far as possible. Never throws, so that the caller gets the exception of its own
    /// call.</summary>
    internal void Restore()
    {
        foreach (Action each in undo)
        {
            try
            {
                each();
            }
            catch (Exception)
            {
                // The block was disposed meanwhile and has no state, or its device is lost.
            }
        }
    }
}
