// SPDX-License-Identifier: Apache-2.0
using System.Threading;

namespace Heed;

/// <summary>The attention weights that a block keeps of its last Forward.</summary>
internal sealed class KeptWeights
{
    private volatile NDArray? array;
    private volatile bool on;

    internal KeptWeights(bool on)
    {
        this.on = on;
    }

    internal NDArray? Array => array;

    /// <summary>Whether Forward keeps the weights. Setting it to false disposes the kept ones.</summary>
    internal bool On
    {
        get => on;
        set
        {
            on = value;
            if (!value)
            {
                Keep(null);
            }
        }
    }

    /// <summary>Replaces the kept weights by those of a new Forward, or by null, and disposes the previous
    /// ones.</summary>
    internal void Keep(NDArray? weights) => Interlocked.Exchange(ref array, weights)?.Dispose();
}
