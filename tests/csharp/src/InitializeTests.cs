// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

namespace Heed.Tests;

/// <summary>What Initialize refuses and keeps if the block already has parameters.</summary>
public sealed class InitializeTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    /// <summary>An initialized block accepts other input shapes that fit its parameters and those of its
    /// children.</summary>
    [Fact]
    public void ShapesForOtherParametersAreRefused()
    {
        using var table = new TableBlock();
        table.Initialize(manager, DataType.Float32, new Shape(3, 5));
        float[] rows = table.Rows.Array.ToFloatArray();
        float[] weights = table.Linear.Parameters["weight"].Array.ToFloatArray();
        var longer = new Shape(4, 5);
        table.Initialize(manager, DataType.Float32, longer);
        Assert.Equal(new[] { longer }, table.InputShapes);

        Assert.Equal(
            "inputShapes are [(4, 6)], and the block was initialized for [(4, 5)]: Rows has values of shape (5), not (6)"
                + " (Parameter 'inputShapes')",
            Refusal(table, new Shape(4, 6)));
        table.HasRows = false;
        string message = Refusal(table, new Shape(7, 6));
        Assert.Contains("(7, 6)", message);
        Assert.Contains("(2, 5)", message);
        table.Fails = true;
        Assert.Equal("enough", Refusal(table, new Shape(7, 5)));
        Assert.Equal(new[] { longer }, table.InputShapes);
        Assert.Equal(new[] { longer }, table.Linear.InputShapes);
        Assert.Equal(rows, table.Rows.Array.ToFloatArray());
        Assert.Equal(weights, table.Linear.Parameters["weight"].Array.ToFloatArray());

        table.Clear();
        table.HasRows = true;
        table.Fails = false;
        Assert.Equal("Parameter Rows (5) without values", table.Rows.ToString());
        table.Initialize(manager, DataType.Float32, new Shape(4, 6));
        Assert.Equal("Parameter Rows (6) Float32", table.Rows.ToString());

        // Parameters that were set one by one are checked, too.
        using var set = new TableBlock();
        Assert.Equal("Parameter Rows (shape not known)", set.Rows.ToString());
        set.Rows.SetArray(manager.Ones(new Shape(5)));
        Assert.Equal(
            "inputShapes are [(4, 6)]: Rows has values of shape (5), not (6) (Parameter 'inputShapes')",
            Refusal(set, new Shape(4, 6)));
    }

    /// <summary>If a child cannot be initialized, the children before it are not initialized either.</summary>
    [Fact]
    public void AFailedInitializeLeavesNothing()
    {
        var shape = new Shape(3, 5);
        using var table = new TableBlock { Fails = true };
        Assert.Equal("enough", Refusal(table, shape));
        Assert.False(table.Rows.IsInitialized);
        Assert.Null(table.Rows.Shape);
        Assert.False(table.Linear.IsInitialized);
        Assert.Throws<InvalidOperationException>(() => table.Linear.InputShapes);
        Assert.Throws<InvalidOperationException>(() => table.InputShapes);

        // Parameters that were set before are kept.
        table.Linear.Parameters["bias"].SetArray(manager.Ones(new Shape(2)));
        NDArray rows = manager.Ones(new Shape(5));
        table.Rows.SetArray(rows);
        Assert.Equal("enough", Refusal(table, shape));
        Assert.Same(rows, table.Rows.Array);
        Assert.False(table.Linear.IsInitialized);
        Assert.Null(table.Linear.Parameters["weight"].Shape);
        Assert.Equal(new float[] { 1, 1 }, table.Linear.Parameters["bias"].Array.ToFloatArray());
        table.Fails = false;
        table.Initialize(manager, DataType.Float32, shape);
        Assert.True(table.IsInitialized);
        Assert.Same(rows, table.Rows.Array);
    }

    private string Refusal(Block block, params Shape[] shapes) => Assert.Throws<ArgumentException>(
        () => block.Initialize(manager, DataType.Float32, shapes)).Message;
}
