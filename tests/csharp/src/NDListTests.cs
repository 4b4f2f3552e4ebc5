// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
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

    [Fact]
    public void FindsAndRemovesByName()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray a = manager.Ones(new Shape(2));
        NDArray b = manager.Ones(new Shape(3));
        b.Name = "b";
        var list = new NDList(null, a, b);
        Assert.True(list.Contains("b"));
        Assert.False(list.Contains("a"));
        Assert.Contains(a, list);
        Assert.Null(list.Remove("a"));
        Assert.Same(b, list.Remove("b"));
        Assert.False(b.IsReleased);
        Assert.Equal(new[] { null, a }, list);
        Assert.Same(manager, list.Manager);
        Assert.Equal(
            "the list has no array, and so no manager",
            Assert.Throws<InvalidOperationException>(() => new NDList((NDArray?)null).Manager).Message);
    }

    [Fact]
    public void HasAText()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray named = manager.Ones(new Shape(2, 3));
        named.Name = "weight";
        NDArray disposed = manager.Ones(new Shape(4), DataType.Int32);
        disposed.Dispose();
        Assert.Equal(
            "NDList size: 3\n0 weight: (2, 3) float32\n1 : null\n2 : (4) int32 (closed)\n",
            new NDList(named, null, disposed).ToString());
        Assert.Equal("NDList size: 0\n", new NDList().ToString());
    }

    [Fact]
    public void ADisposedArrayIsNamedByItsIndex()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray disposed = manager.Ones(new Shape(2));
        var list = new NDList(manager.Ones(new Shape(2)), null, disposed);
        disposed.Dispose();
        foreach (Action use in new Action[]
        {
            () => list.GetShapes(), list.Detach, () => list.Attach(manager), () => list.ToDevice(Device.Cpu()),
        })
        {
            Assert.StartsWith(
                "array 2 of the list is closed", Assert.Throws<ObjectDisposedException>(use).Message);
        }
        using var stream = new MemoryStream();
        Assert.Equal(
            "array 1 of the list is null",
            Assert.Throws<InvalidOperationException>(() => list.Encode(stream)).Message);
        Assert.Equal(0, stream.Length);
    }
}
