// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>What <see cref="AbstractBlock.Initialize"/> may change of a block and of the blocks inside: input shapes, and
/// parameters that have no values yet. A call that fails puts it back.</summary>
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

    /// <summary>Puts it back as far as it can. Never throws, so that the call's own exception is told.</summary>
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
                // The block is disposed meanwhile and has no state any more, or its device is lost.
            }
        }
    }
}
