// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>What lists of C# are beside those of tests/bindings/cases/lists.txt.</summary>
public class NDListTests
{
    [Fact]
    public void IsMadeOfAnySequence()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray a = manager.Ones(new Shape(2));
        NDArray b = manager.Ones(new Shape(3));
        var list = new NDList(4) { a };
        list.AddAll(new NDList(new[] { b, null }.Where(_ => true)));
        Assert.Equal(new[] { a, b, null }, list);
        Assert.Contains(a, list);
    }

    [Fact]
    public void AListWithNullIsNotWritten()
    {
        using NDManager manager = TestDevice.NewManager();
        var list = new NDList(manager.Ones(new Shape(2)), null);
        using var stream = new MemoryStream();
        Assert.Equal(
            "array 1 of the list is null",
            Assert.Throws<InvalidOperationException>(() => list.Encode(stream)).Message);
        Assert.Equal(0, stream.Length);
    }
}
