// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Records what is computed on its thread from parameters, and from arrays that require a gradient, until it is
/// disposed, and computes gradients of it: <c>using GradientTape tape = manager.NewGradientTape();</c>. Operations without
/// a gradient throw <see cref="NotSupportedException"/> for arrays that it follows, so that no gradient stops silently;
/// docs/training.md lists those that have one. Reading elements is always allowed.</summary>
/// <remarks>A thread has one open tape at most, and only that thread uses it and the arrays computed under it.
/// <see cref="Dispose"/> frees all that the tape holds; arrays computed under it stay, as ordinary ones. Disposing the
/// manager that made the tape closes it, too.</remarks>
public sealed class GradientTape : IDisposable
{
    private readonly Tape tape;

    internal GradientTape(NDManager manager)
    {
        tape = Tape.Open(manager);
    }

    /// <summary>Closes a tape that the program has forgotten.</summary>
    ~GradientTape()
    {
        tape?.Close();
    }

    /// <summary>Computes the gradients of a loss, and adds them to those of all parameters and arrays that require one and
    /// that it was computed from. Several parts of what was recorded may have a loss each, but no operation two.</summary>
    /// <param name="loss">An array of one element, computed under this tape.</param>
    /// <exception cref="ArgumentException">The loss has another number of elements, or it was not computed under this tape
    /// from anything that requires a gradient.</exception>
    /// <exception cref="InvalidOperationException">A backward has been computed through one of the operations already, an
    /// array has been written since an operation read it, or this is not the tape's thread. No gradient has changed
    /// then.</exception>
    /// <exception cref="ObjectDisposedException">The tape, or the loss, is disposed.</exception>
    /// <remarks>Any other error, such as one of memory, may leave some gradients with their parts of the sum, and others
    /// without; no parameter has changed.</remarks>
    public void Backward(NDArray loss)
    {
        _ = loss ?? throw new ArgumentNullException(nameof(loss));
        tape.CheckUsable();
        if (loss.Size != 1)
        {
            throw new ArgumentException(
                $"loss has the shape {loss.Shape}, expected one element: take its Sum() or Mean()", nameof(loss));
        }
        tape.Backward(loss);
        GC.KeepAlive(this);
    }

    /// <summary>Closes the tape and frees all that it holds. A second call does nothing.</summary>
    public void Dispose()
    {
        tape.Close();
        GC.SuppressFinalize(this);
    }
}
