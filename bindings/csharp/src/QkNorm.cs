// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The norm of queries and keys, head by head, before rotary positions.</summary>
public enum QkNorm
{
    /// <summary>Divided by the root of the mean square, with one weight for all heads: Qwen 3, Gemma 3.</summary>
    Rms = 0,

    /// <summary>A layer norm without bias, with a weight for each head: Cohere.</summary>
    Layer = 1,
}
