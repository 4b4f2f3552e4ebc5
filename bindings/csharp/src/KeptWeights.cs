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

    /// <summary>Whether Forward is to keep them. Those that are there go when it is not.</summary>
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

    /// <summary>Puts the weights of a Forward, or null, in the place of those before, which are disposed.</summary>
    internal void Keep(NDArray? weights) => Interlocked.Exchange(ref array, weights)?.Dispose();
}
