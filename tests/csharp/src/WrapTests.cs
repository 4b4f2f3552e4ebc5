// SPDX-License-Identifier: Apache-2.0
using System;
using System.Buffers;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Xunit;

namespace Heed.Tests;

/// <summary>Arrays over .NET's memory: not copied, and pinned as long as native code may use it.</summary>
public sealed class WrapTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void SharesTheMemory()
    {
        float[] numbers = { 1, 2, 3, 4, 5, 6, 7 };
        NDArray array = manager.Wrap(numbers.AsMemory(1), new Shape(2, 3));
        Assert.Equal(new float[] { 2, 3, 4, 5, 6, 7 }, array.ToFloatArray());
        array[1].Set(new float[] { 50, 60, 70 });
        Assert.Equal(new float[] { 1, 2, 3, 4, 50, 60, 70 }, numbers);
        numbers[1] = 20;
        Assert.Equal(20, array.GetFloat(0, 0));
        Assert.Equal(new float[] { 20, 3, 4, 50, 60, 70 }, array.AsMemory<float>().ToArray());

        NDArray product = array.MatMul(manager.Ones(new Shape(3, 1)));
        Assert.Equal(new float[] { 27, 180 }, product.ToFloatArray());
        Assert.Equal(DataType.BFloat16, manager.Wrap<ushort>(new ushort[2], null, DataType.BFloat16).DataType);
        Assert.Equal(DataType.Int64, manager.Wrap<long>(new long[2]).DataType);
    }

    [Fact]
    public void SharesAnArrayOfDotNet()
    {
        int[] numbers = { 1, 2, 3, 4 };
        NDArray array = manager.Wrap(numbers, new Shape(2, 2));
        array[1].Set(new[] { 30, 40 });
        Assert.Equal(new[] { 1, 2, 30, 40 }, numbers);
        Assert.Equal(new Shape(4), manager.Wrap(numbers).Shape);
        Assert.Equal("data", Assert.Throws<ArgumentNullException>(() => manager.Wrap<int>(null!)).ParamName);
    }

    [Fact]
    public void EmptyMemoryIsAnEmptyArray()
    {
        foreach (Memory<float> memory in new[] { default, Memory<float>.Empty, new float[3].AsMemory(3) })
        {
            NDArray array = manager.Wrap(memory);
            Assert.Equal(new Shape(0), array.Shape);
            Assert.Empty(array.ToFloatArray());
            Assert.Empty(manager.Wrap(memory, new Shape(2, 0)).Duplicate().ToFloatArray());
            Assert.Throws<ArgumentException>(() => manager.Wrap(memory, new Shape()));
            Assert.Throws<ArgumentException>(() => manager.Wrap(memory, new Shape(1)));
        }
    }

    [Fact]
    public void RefusesWhatDoesNotFit()
    {
        var memory = new CountedMemory(16);
        Assert.Throws<ArgumentException>(() => manager.Wrap(memory.Memory, new Shape(5)));
        Assert.Throws<ArgumentException>(() => manager.Wrap(memory.Memory, new Shape(-4, -4)));
        Assert.Throws<ArgumentException>(() => manager.Wrap(memory.Memory, null, DataType.Boolean));
        Assert.Contains(
            "aligned",
            Assert.Throws<ArgumentException>(
                () => manager.Wrap(memory.Bytes.Slice(1, 16), new Shape(4), DataType.Float32)).Message);
        Assert.Throws<ArgumentException>(() => manager.Wrap(memory.Memory, new Shape(1, 1, 1, 1, 1, 1, 1, 1, 16)));
        Assert.Throws<NotSupportedException>(() => manager.Wrap<char>(new char[2]));
        Assert.Equal(0, memory.Pins);
        manager.Dispose();
        Assert.Throws<ObjectDisposedException>(() => manager.Wrap(memory.Memory));
        Assert.Equal(0, memory.Pins);
    }

    [Fact]
    public void IsPinnedUntilTheLastViewIsGone()
    {
        var memory = new CountedMemory(16);
        NDArray array = manager.Wrap(memory.Memory, new Shape(4, 4));
        Assert.Equal(1, memory.Pins);
        NDArray row = array[2];
        NDArray turned = row.Reshape(2, 2).Transpose();
        Memory<float> view = turned.Transpose().AsMemory<float>();
        array.Dispose();
        row.Dispose();
        Assert.Equal(1, memory.Pins);
        Assert.Equal(new float[] { 8, 10, 9, 11 }, turned.ToFloatArray());
        manager.Dispose();
        Assert.Equal(1, memory.Pins);
        Assert.Equal(new float[] { 8, 9, 10, 11 }, view.ToArray());
        Assert.True(MemoryMarshal.TryGetMemoryManager<float, MemoryManager<float>>(view, out var owner));
        ((IDisposable)owner!).Dispose();
        Assert.Equal(0, memory.Pins);
        Assert.Equal(1, memory.Unpins);
    }

    /// <summary>Views are made while the array is disposed: each view has the memory, or is not made.</summary>
    [Fact]
    public void IsPinnedForViewsMadeMeanwhile()
    {
        for (int round = 0; round < 300; round++)
        {
            var memory = new CountedMemory(1024);
            using NDManager scope = manager.NewSubManager();
            NDArray array = scope.Wrap(memory.Memory);
            var views = new List<NDArray>();
            var calls = new RepeatedCalls(() => views.Add(array.Reshape(32, 32)));
            array.Dispose();
            Assert.IsType<ObjectDisposedException>(calls.End());
            Assert.Equal(1, memory.Pins);
            Assert.Equal(1, views[^1].GetFloat(0, 1));
            scope.Dispose();
            Assert.All(views, view => Assert.True(view.IsReleased));
            Assert.Equal(0, memory.Pins);
            Assert.Equal(1, memory.Unpins);
        }
    }

    [Fact]
    public void CopiesDoNotKeepIt()
    {
        var memory = new CountedMemory(16);
        NDArray array = manager.Wrap(memory.Memory, new Shape(4, 4));
        NDArray copy = array.Transpose().Flatten();
        NDArray sum = array.MatMul(manager.Ones(new Shape(4)));
        array.Dispose();
        Assert.Equal(1, memory.Pins);
        Assert.Equal(1, copy.GetFloat(4));
        Assert.Equal(6, sum.GetFloat(0));
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Assert.Equal(0, memory.Pins);
    }

    [Fact]
    public void ForgottenArraysReleaseIt()
    {
        var memory = new CountedMemory(16);
        ForgetAnArrayOver(memory);
        for (int i = 0; i < 10 && memory.Pins > 0; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Assert.Equal(0, memory.Pins);
    }

    /// <summary>An exception on the collector's thread would end the process.</summary>
    [Fact]
    public void AProgramsMemoryMayThrow()
    {
        var memory = new CountedMemory(16) { Throws = true };
        manager.Wrap(memory.Memory).Dispose();
        Assert.Equal(1, memory.Unpins);
        ForgetAnArrayOver(memory);
        for (int i = 0; i < 10 && memory.Unpins < 2; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Assert.Equal(2, memory.Unpins);
        Assert.Equal("cannot be pinned", Assert.Throws<InvalidOperationException>(
            () => manager.Wrap(new CountedMemory(16) { CannotPin = true }.Memory)).Message);
        Assert.Throws<ArgumentException>("memory", () => manager.Wrap(new CountedMemory(16) { PinsNowhere = true }.Memory));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void ForgetAnArrayOver(CountedMemory memory) => Assert.Equal(3, manager.Wrap(memory.Memory)[3].GetFloat());

    /// <summary>The numbers 0, 1, ... in memory that counts its pins.</summary>
    private sealed class CountedMemory : MemoryManager<float>
    {
        private readonly float[] numbers;

        internal CountedMemory(int size)
        {
            numbers = new float[size];
            for (int i = 0; i < size; i++)
            {
                numbers[i] = i;
            }
        }

        internal int Pins { get; private set; }

        internal int Unpins { get; private set; }

        internal bool Throws { get; init; }

        internal bool CannotPin { get; init; }

        internal bool PinsNowhere { get; init; }

        internal Memory<byte> Bytes { get; } = new byte[64];

        public override Span<float> GetSpan() => numbers;

        public override MemoryHandle Pin(int elementIndex = 0)
        {
            if (CannotPin)
            {
                throw new InvalidOperationException("cannot be pinned");
            }
            if (PinsNowhere)
            {
                return default;
            }
            Pins++;
            GCHandle handle = GCHandle.Alloc(numbers, GCHandleType.Pinned);
            unsafe
            {
                return new MemoryHandle((float*)handle.AddrOfPinnedObject() + elementIndex, handle, this);
            }
        }

        public override void Unpin()
        {
            Pins--;
            Unpins++;
            if (Throws)
            {
                throw new InvalidOperationException("thrown by the program's memory");
            }
        }

        protected override void Dispose(bool disposing)
        {
        }
    }
}
