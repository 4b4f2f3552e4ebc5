// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

namespace Heed.Tests;

/// <summary>Methods of a cache that take spans. The others are called by tests/bindings/cases/kv_cache.txt.</summary>
public sealed class KvCacheTests : IDisposable
{
    private readonly CacheScene scene = new CacheScene();

    public void Dispose() => scene.Dispose();

    [Fact]
    public void SpansAreTakenAsArraysAre()
    {
        KvCache cache = scene.NewCache(CacheLayout.Paged);
        scene.Append(cache, scene.NewRows(8), 1);
        NDArray values = cache.Read(0, 1).Values;
        cache.Reorder(new ReadOnlySpan<long>(new long[] { 9, 1, 9 }, 1, 1));
        Assert.Equal(8, cache.Length(0));
        cache.Accept(0, 6, new ReadOnlySpan<long>(new long[] { 1 }));
        Assert.Equal(7, cache.Length(0));
        Assert.True(cache.Read(0, 0).Values.Slice(1, 6, 1).ContentEquals(values.Slice(1, 7, 1)));
        byte[] saved = cache.ToBytes(0);
        Assert.Throws<HeedException>(() => cache.Load(2, saved.AsSpan(1)));
        cache.Load(2, saved.AsSpan());
        Assert.Equal(7, cache.Length(2));
    }
}
