// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

public class NDListTests
{
    [Fact]
    public void IsAListOfArrays()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray a = manager.Ones(new Shape(2));
        NDArray b = manager.Ones(new Shape(3, 4));
        var list = new NDList(a, b, null);
        Assert.Equal(3, list.Count);
        Assert.Same(a, list.Head);
        Assert.Same(b, list[1]);
        Assert.Equal(new Shape?[] { new Shape(2), new Shape(3, 4), null }, list.GetShapes());
        list.Dispose();
        Assert.Throws<ObjectDisposedException>(() => b.Shape);
        list.Dispose();
    }

    [Fact]
    public void SingletonWantsOneArray()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray a = manager.Ones(new Shape(2));
        Assert.Same(a, new NDList(a).SingletonOrThrow());
        Assert.Throws<InvalidOperationException>(() => new NDList(a, a).SingletonOrThrow());
        Assert.Throws<InvalidOperationException>(() => new NDList().SingletonOrThrow());
        Assert.Throws<InvalidOperationException>(() => new NDList().Head);
        Assert.Throws<InvalidOperationException>(() => new NDList((NDArray?)null).Head);
    }

    [Fact]
    public void GrowsAndIsCut()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray a = manager.Ones(new Shape(2));
        NDArray b = manager.Ones(new Shape(3));
        b.Name = "b";
        var list = new NDList(4) { a };
        Assert.Same(list, list.AddAll(new NDList(new[] { b, null }.Where(_ => true))));
        Assert.Equal(new[] { a, b, null }, list);
        list.AddAll(list);
        Assert.Equal(6, list.Count);
        Assert.Equal(new[] { a, b, null }, list.SubNDList(3));
        Assert.Empty(list.SubNDList(6));
        Assert.Throws<ArgumentOutOfRangeException>(() => list.SubNDList(7));
        Assert.Throws<ArgumentOutOfRangeException>(() => list.SubNDList(-1));
        Assert.Throws<ArgumentOutOfRangeException>(() => new NDList(-1));
        Assert.Same(b, list["b"]);
        Assert.Null(list["c"]);
    }
}
