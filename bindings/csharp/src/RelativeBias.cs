// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>T5's relative bias: a number for each head and bucket of distances is added to the score of a query and a key.</summary>
public enum RelativeBias
{
    /// <summary>No bias.</summary>
    None = 0,

    /// <summary>As in encoders: half of the buckets are for keys up to the query, half for keys after it.</summary>
    BothWays = 1,

    /// <summary>Keys after the query share the bucket of distance 0: decoders.</summary>
    OneWay = 2,
}
