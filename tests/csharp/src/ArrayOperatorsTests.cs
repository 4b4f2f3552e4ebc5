// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Operators on arrays, and numbers beside them.</summary>
public sealed class ArrayOperatorsTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly NDArray a;
    private readonly NDArray b;

    public ArrayOperatorsTests()
    {
        a = manager.Create(new float[] { 6, -4, 3 });
        b = manager.Create(new float[] { 4, 2, 3 });
    }

    public void Dispose() => manager.Dispose();

    /// <summary>A result that is given, and numbers of any type, take no memory, neither managed nor native.</summary>
    [Fact]
    public void AGivenResultTakesNoMemory()
    {
        NDArray result = manager.Zeros(new Shape(3));
        NDArray truth = manager.Zeros(new Shape(3), DataType.Boolean);
        NDArray sum = manager.Zeros(new Shape());
        NDArray index = manager.Zeros(new Shape(), DataType.Int64);
        NDArray half = a.ToType(DataType.Float16);
        NDArray brain = a.ToType(DataType.BFloat16);
        int[] axes = { 0 };
        long Allocated(int count)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < count; i++)
            {
                a.Add(b, result);
                a.Multiply(2, result);
                a.Exp(result);
                a.Gt(b, truth);
                a.Gt(0, truth);
                a.Where(truth, b, result);
                a.Clip(0, 1, result);
                a.Sum(axes, false, sum);
                a.ArgMax(0, index);
                a.CumSum(0, result);
                a.Sort(0, result);
                a.Softmax(0, result);
                a.MatMul(b, sum);
                Activation.Relu(a, result);
                half.Multiply(0.5, half);
                brain.Gt(0.1, truth);
            }
            return GC.GetAllocatedBytesForCurrentThread() - before;
        }

        Allocated(1000);
        Assert.Contains(0, Enumerable.Range(0, 5).Select(_ => Allocated(1000)));
    }

    [Fact]
    public void TwoArraysAreComputed()
    {
        AssertElements(a + b, 10, -2, 6);
        AssertElements(a - b, 2, -6, 0);
        AssertElements(a * b, 24, -8, 9);
        AssertElements(a / b, 1.5f, -2, 1);
        AssertElements(a % b, 2, 0, 0);
        AssertElements(-a, -6, 4, -3);
    }

    [Fact]
    public void NumbersStandOnBothSides()
    {
        AssertElements(a + 1, 7, -3, 4);
        AssertElements(1 + a, 7, -3, 4);
        AssertElements(a - 0.5, 5.5f, -4.5f, 2.5f);
        AssertElements(0.5f - a, -5.5f, 4.5f, -2.5f);
        AssertElements(a * 2L, 12, -8, 6);
        AssertElements(2 * a, 12, -8, 6);
        AssertElements(a / 2, 3, -2, 1.5f);
        AssertElements(12 / a, 2, -3, 4);
        AssertElements(a % 4, 2, 0, 3);
        AssertElements(7 % b, 3, 1, 1);
    }

    [Fact]
    public void ComparisonsGiveTruthValues()
    {
        AssertTruths(a < b, false, true, false);
        AssertTruths(a <= b, false, true, true);
        AssertTruths(a > b, true, false, false);
        AssertTruths(a >= b, true, false, true);
        AssertTruths(a < 3, false, true, false);
        AssertTruths(a <= 3, false, true, true);
        AssertTruths(a > 3, true, false, false);
        AssertTruths(a >= 3, true, false, true);
        AssertTruths(3 > a, false, true, false);
        AssertTruths(3 >= a, false, true, true);
        AssertTruths(3 < a, true, false, false);
        AssertTruths(3 <= a, true, false, true);
        AssertTruths((a > 0) & (a < b), false, false, false);
        AssertTruths((a > 0) | (a < b), true, true, true);
        AssertTruths((a > 0) ^ (a >= b), false, false, false);
        AssertTruths(!(a > 0), false, true, false);
    }

    [Fact]
    public void CompoundAssignmentMakesANewArray()
    {
        NDArray sum = a;
        sum += b;
        AssertElements(sum, 10, -2, 6);
        AssertElements(a, 6, -4, 3);
    }

    [Fact]
    public void EqualityIsThatOfObjects()
    {
        Assert.False(a == b);
        Assert.True(a != b);
        AssertTruths(a.Eq(b), false, false, true);
        AssertTruths(a.Neq(b), true, true, false);
    }

    [Fact]
    public void ANullOperandIsRefusedByName()
    {
        NDArray nothing = null!;
        Assert.Equal("a", Assert.Throws<ArgumentNullException>(() => nothing + b).ParamName);
        Assert.Equal("a", Assert.Throws<ArgumentNullException>(() => nothing < 1).ParamName);
        Assert.Equal("b", Assert.Throws<ArgumentNullException>(() => 1 < nothing).ParamName);
        Assert.Equal("a", Assert.Throws<ArgumentNullException>(() => !nothing).ParamName);
        Assert.Equal("other", Assert.Throws<ArgumentNullException>(() => a * nothing).ParamName);
        Assert.Equal("b", Assert.Throws<ArgumentNullException>(() => 1 - nothing).ParamName);
    }

    [Fact]
    public void ANumberKeepsItsValue()
    {
        Assert.Equal((Scalar)3, (Scalar)3L);
        Assert.True((Scalar)0.5 == 0.5f);
        Assert.True((Scalar)0.5 != 1);
        Assert.Equal((Scalar)3.0, (object)(Scalar)3);
        Assert.Equal(((Scalar)3).GetHashCode(), ((Scalar)3.0).GetHashCode());
        Assert.Equal(default, (Scalar)0);
        Assert.Equal("9007199254740993", ((Scalar)9007199254740993).ToString());
        Assert.Equal("0.5", ((Scalar)0.5).ToString());
        NDArray whole = manager.Create(new[] { 9007199254740992 });
        Assert.Equal(new[] { 18014398509481985 }, (whole + 9007199254740993).ToLongArray());
    }

    [Fact]
    public void ANumberIsAnArrayWhereOneIsWanted()
    {
        AssertElements(a.Where(a > 0, 0.5), 6, 0.5f, 3);
        AssertElements(NDArrays.Where(a > 0, a, 0), 6, 0, 3);
        Assert.Equal(DataType.Int64, ((NDArray)(Scalar)2).DataType);
        Assert.Equal(DataType.Float64, ((NDArray)(Scalar)0.5).DataType);
    }

    [Fact]
    public void AGivenResultAllocatesNothing()
    {
        NDArray result = manager.Zeros(new Shape(3));
        NDArray truth = manager.Zeros(new Shape(3), DataType.Boolean);
        NDArray sum = manager.Zeros(new Shape());
        void Compute()
        {
            a.Add(b, result);
            a.Multiply(2, result);
            a.Exp(result);
            a.Gt(b, truth);
            a.Gt(0, truth);
            a.Where(truth, b, result);
            a.Clip(0, 1, result);
            a.Sum(result: sum);
            a.CumSum(0, result);
            a.Sort(0, result);
        }
        for (int i = 0; i < 1000; i++)
        {
            Compute();
        }
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 100; i++)
        {
            Compute();
        }
        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());
    }

    private static void AssertElements(NDArray array, params float[] expected) =>
        Assert.Equal(expected, array.ToFloatArray());

    private static void AssertTruths(NDArray array, params bool[] expected) =>
        Assert.Equal(expected, array.ToBooleanArray());
}
