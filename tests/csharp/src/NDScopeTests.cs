// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>Arrays of a scope are freed at its end, except those that it keeps.</summary>
public sealed class NDScopeTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly NDArray before;

    public NDScopeTests() => before = manager.Ones(new Shape(2, 3));

    public void Dispose() => manager.Dispose();

    [Fact]
    public void TemporariesAreFreedAndKeptArraysAreNot()
    {
        NDArray kept;
        NDArray made;
        NDArray view;
        NDArray result;
        using (NDScope scope = manager.NewScope())
        {
            made = manager.Zeros(new Shape(2));
            view = before[0];
            result = before.Transpose().MatMul(before);
            kept = scope.Keep(result.Softmax(0));
            Assert.Same(scope.Manager, made.Manager);
            Assert.Same(scope.Manager, view.Manager);
            Assert.Same(scope.Manager, result.Manager);
            Assert.Same(manager, kept.Manager);
        }
        Assert.True(made.IsReleased && view.IsReleased && result.IsReleased);
        Assert.Equal(new Shape(3, 3), kept.Shape);
        Assert.False(before.IsReleased);
        Assert.Same(manager, kept[0].Manager);
    }

    [Fact]
    public void NestedScopesKeepOneByOne()
    {
        using NDScope outer = manager.NewScope();
        NDArray ofOuter = before[0];
        NDArray kept;
        NDArray lost;
        using (NDScope inner = manager.NewScope())
        {
            // Also results of arrays of the outer scope belong to the inner one.
            lost = ofOuter.Flip();
            kept = inner.Keep(ofOuter.ExpandDims(0));
            Assert.Same(inner.Manager, lost.Manager);
            Assert.Same(outer.Manager, kept.Manager);
            Refused("array belongs to a scope inside this one, expected an array of this scope", outer, lost);
        }
        Assert.True(lost.IsReleased);
        Assert.Same(outer.Manager, kept.Flip().Manager);
        Assert.Same(manager, outer.Keep(kept).Manager);
        outer.Dispose();
        Assert.True(ofOuter.IsReleased);
        Assert.False(kept.IsReleased);
    }

    [Fact]
    public void DisposingTheOuterScopeFirstDisposesTheInnerOne()
    {
        NDScope outer = manager.NewScope();
        NDScope inner = manager.NewScope();
        NDArray ofInner = before[0];
        outer.Dispose();
        Assert.True(ofInner.IsReleased);
        NDArray open = before[0];
        Assert.Same(manager, open.Manager);
        Assert.Contains("the scope is closed", Assert.Throws<ObjectDisposedException>(() => inner.Keep(open)).Message);
        inner.Dispose();
        outer.Dispose();
        Assert.False(before.IsReleased);
    }

    [Fact]
    public void OtherManagersAreNotAffected()
    {
        using NDManager other = TestDevice.NewManager();
        using NDManager sub = manager.NewSubManager();
        NDArray foreign = other.Ones(new Shape(2));
        NDArray below = sub.Ones(new Shape(2));
        NDScope scope = manager.NewScope();
        using (NDScope second = other.NewScope())
        {
            Assert.Same(second.Manager, foreign[0].Manager);
            Assert.Same(scope.Manager, before[0].Manager);
            Assert.Same(sub, below[0].Manager);

            // The first one may end earlier.
            scope.Dispose();
            Assert.Same(manager, before[0].Manager);
            Assert.Same(second.Manager, foreign[0].Manager);
        }
        Assert.Same(other, foreign[0].Manager);
    }

    [Fact]
    public void OtherThreadsAreNotAffected()
    {
        NDScope scope = manager.NewScope();
        NDArray inside = before[0];
        (NDManager? owner, NDManager? ofScope) = (null, null);
        var thread = new Thread(() =>
        {
            owner = before[0].Manager;
            ofScope = inside.Flip().Manager;
            scope.Dispose();
        });
        thread.Start();
        thread.Join();
        Assert.Same(manager, owner);
        Assert.Same(scope.Manager, ofScope);

        // Disposed by the other thread, it takes no more arrays of this one.
        Assert.True(inside.IsReleased);
        Assert.Same(manager, before[0].Manager);
    }

    [Fact]
    public void WhatIsAroundTheScopeStaysWhereItIs()
    {
        using NDScope outer = manager.NewScope();
        NDArray ofOuter = before[0];
        using NDScope scope = manager.NewScope();
        Assert.Same(before, scope.Keep(before.ToType(DataType.Float32)));
        Assert.Same(manager, before.Manager);
        Assert.Same(ofOuter, scope.Keep(ofOuter));
        Assert.Same(outer.Manager, ofOuter.Manager);
        using NDManager other = TestDevice.NewManager();
        Refused("array belongs to another manager, expected an array of this scope", scope, other.Ones(new Shape(1)));
        NDArray closed = before[0];
        closed.Dispose();
        Assert.Contains("the array array is closed", Assert.Throws<ObjectDisposedException>(() => scope.Keep(closed)).Message);
        manager.Dispose();
        Assert.Throws<ObjectDisposedException>(() => manager.NewScope());
    }

    [Fact]
    public void ParametersOutliveTheScope()
    {
        using var linear = new Linear(2);
        using var own = new ScaledBlock();
        PositionalEncoding encoding;
        using (manager.NewScope())
        {
            linear.Initialize(manager, DataType.Float32, new Shape(1, 3));
            own.Initialize(manager, DataType.Float32, new Shape(2, 2));
            encoding = new PositionalEncoding(4, 0, 3, manager);
        }
        Assert.Equal(new Shape(2, 2), linear.Forward(new ParameterStore(manager, false), new NDList(before)).Head.Shape);
        foreach (Pair<string, Parameter> each in own.Parameters)
        {
            Assert.False(each.Value.Array.IsReleased, each.Key);
        }
        Assert.Equal(new Shape(1, 3, 4), encoding.P!.Shape);
    }

    private static void Refused(string message, NDScope scope, NDArray array) =>
        Assert.Contains(message, Assert.Throws<ArgumentException>(() => scope.Keep(array)).Message);
}
