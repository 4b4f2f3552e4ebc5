// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Threading;

namespace Heed;

/// <summary>What a thread has recorded since it opened a <see cref="GradientTape"/>: the operations on tracked arrays, in
/// their order. An array is tracked if an open tape has recorded how it was computed, or if it is a leaf that requires a
/// gradient and a tape is open on this thread. The tape owns a manager for all native memory that it holds: a tape that the
/// program forgets is freed with the manager that made it.</summary>
internal sealed partial class Tape
{
    /// <summary>The number of open tapes of all threads: without one no operation looks any further.</summary>
    private static int numOpen;

    [ThreadStatic]
    private static Tape? current;

    private readonly List<TapeNode> nodes = new();
    private readonly int threadNumber = Environment.CurrentManagedThreadId;
    private readonly string thread = NameOf(Thread.CurrentThread);
    private int isClosed;

    /// <summary>The number of backwards so far.</summary>
    private int backwards;

    private Tape(NDManager manager)
    {
        Manager = manager;
    }

    /// <summary>Whether any thread has an open tape.</summary>
    internal static bool AnyOpen => Volatile.Read(ref numOpen) != 0;

    /// <summary>The owner of all arrays that the tape holds.</summary>
    internal NDManager Manager { get; }

    /// <summary>Whether the tape, and the manager that made it, are open.</summary>
    internal bool IsOpen => Volatile.Read(ref isClosed) == 0 && Manager.IsOpen;

    /// <summary>Opens a tape of this thread.</summary>
    /// <exception cref="InvalidOperationException">One is open already.</exception>
    internal static Tape Open(NDManager manager)
    {
        if (OfThread() != null)
        {
            throw new InvalidOperationException(
                "a gradient tape is open on this thread already: expected it disposed first");
        }
        var tape = new Tape(manager.NewSubManager());
        Interlocked.Increment(ref numOpen);
        current = tape;
        return tape;
    }

    /// <summary>The open tape of this thread; null: there is none.</summary>
    internal static Tape? OfThread()
    {
        Tape? tape = current;
        if (tape is null || tape.IsOpen)
        {
            return tape;
        }
        tape.Close();
        current = null;
        return null;
    }

    /// <summary>Records how an array was computed, and returns it.</summary>
    internal NDArray Record(NDArray result, TapeNode node)
    {
        node.Index = nodes.Count;
        nodes.Add(node);
        result.Node = node;
        return result;
    }

    /// <summary>Records how an operation on arrays computed a new array, and returns it; disposes it if that
    /// fails. The array is only returned if the tape is closed meanwhile, with its manager or because the program has lost
    /// it.</summary>
    internal NDArray Record(
        ArrayOperation operation, NDArray result, NDArray a, NDArray? b = null, NDArray? c = null,
        object? arguments = null, Scalar number = default)
    {
        try
        {
            return Record(
                result, new OperationNode(this, operation, result, a, b, c) { Arguments = arguments, Number = number });
        }
        catch (ObjectDisposedException) when (!IsOpen)
        {
            return result;
        }
        catch
        {
            result.Dispose();
            throw;
        }
    }

    /// <summary>Records a scalar that was computed together with its gradient.</summary>
    /// <param name="operation">The name of the operation.</param>
    /// <param name="result">The scalar.</param>
    /// <param name="input">What the gradient is with respect to.</param>
    /// <param name="gradient">The gradient, with the shape of the input: of <see cref="Manager"/>, and the tape's from now
    /// on.</param>
    /// <param name="opposite">An input of the same shape whose gradient is the negative; null: none.</param>
    /// <returns>The scalar.</returns>
    internal NDArray RecordWithGradient(
        string operation, NDArray result, NDArray input, NDArray gradient, NDArray? opposite = null) =>
        Record(result, new ScaledNode(this, operation, input, gradient, opposite));

    /// <summary>Records an output without a gradient, so that no operation reads it as a tracked array; null: there is
    /// none.</summary>
    internal void RecordOutput(NDArray? output, string name)
    {
        if (output is not null)
        {
            Record(output, new OutputNode(this, name));
        }
    }

    /// <summary>Throws unless the tape is open and of this thread.</summary>
    internal void CheckUsable()
    {
        if (!IsOpen)
        {
            throw new ObjectDisposedException(nameof(GradientTape), "the gradient tape is closed");
        }
        CheckThread();
    }

    /// <summary>Closes the tape, from any thread: frees all that it holds.</summary>
    internal void Close()
    {
        if (Interlocked.Exchange(ref isClosed, 1) == 0)
        {
            Interlocked.Decrement(ref numOpen);
            Manager.Dispose();
        }
        if (ReferenceEquals(current, this))
        {
            current = null;
            nodes.ForEach(node => node.Forget());
            nodes.Clear();
        }
    }

    /// <summary>Adds the gradients of a target of one element to the leaves that it was computed from.</summary>
    internal void Backward(NDArray target)
    {
        CheckUsable();
        if (target.Node is not { } last || !ReferenceEquals(last.Tape, this))
        {
            throw new ArgumentException(
                "target was not computed under this gradient tape from anything that requires a gradient");
        }
        int number = ++backwards;
        last.Backward = number;
        for (int index = last.Index; index >= 0; index--)
        {
            if (nodes[index].Backward == number)
            {
                nodes[index].Check(number);
            }
        }
        int next = last.Index;
        try
        {
            last.Take(Manager.On(target.Device).Ones(target.Shape, target.DataType));
            for (; next >= 0; next--)
            {
                if (nodes[next].Backward == number)
                {
                    nodes[next].Walk();
                }
            }
        }
        finally
        {
            for (; next >= 0; next--)
            {
                nodes[next].DropGradient();
            }
        }
    }

    private static string NameOf(Thread thread) => thread.Name ?? $"{thread.ManagedThreadId}";

    private void CheckThread()
    {
        if (Environment.CurrentManagedThreadId != threadNumber)
        {
            throw new InvalidOperationException(
                $"the gradient tape belongs to the thread \"{thread}\", and \"{NameOf(Thread.CurrentThread)}\" uses it: "
                + "expected one for each thread");
        }
    }
}
