// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A bias of each score by the distance from query to key, in buckets, as T5's.</summary>
public enum RelativeBias
{
    /// <summary>No bias.</summary>
    None = 0,

    /// <summary>Half of the buckets are for keys after the query: encoders.</summary>
    BothWays = 1,

    /// <summary>Keys after the query share the bucket of distance 0: decoders.</summary>
    OneWay = 2,
}
