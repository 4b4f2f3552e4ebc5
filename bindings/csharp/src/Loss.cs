// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Losses: scalars, arrays of shape () and type Float32, that say how far predictions are from what is right, for
/// <see cref="GradientTape.Backward"/>. One native call computes a loss, and its gradient too if a tape follows the
/// predictions. Neither the number of threads nor the tape changes a bit.</summary>
/// <remarks>Losses that are not finite are results, not errors. docs/semantics.md has the formulas and the bounds of their
/// errors.</remarks>
public static class Loss
{
    /// <summary>The cross-entropy of logits and labels: of each row
    /// <c>log(sum over c of exp(z_c)) - (1 - labelSmoothing) z_label - labelSmoothing (mean of z)</c>, as cross_entropy of
    /// PyTorch. A row counts if it is within its length and its label is not ignoreIndex. Of other rows nothing is read, and
    /// their loss and gradient are 0. If no row counts, the loss is 0, where PyTorch's mean is NaN.</summary>
    /// <param name="logits">(B, S, C) or (N, C) of Float32: the scores of C classes.</param>
    /// <param name="labels">(B, S) or (N) of Int32 or Int64: the right classes, 0 to C - 1, or ignoreIndex. Beyond the
    /// lengths they are not read.</param>
    /// <param name="validLens">(B) of Float32, Int32 or Int64: the lengths, 0 to S, with logits (B, S, C); null: S.</param>
    /// <param name="labelSmoothing">The share of the target that is spread evenly over all classes, 0 to 1.</param>
    /// <param name="ignoreIndex">The label of rows that do not count; any number.</param>
    /// <param name="reduction">How the losses of rows become one number.</param>
    /// <returns>The loss, of the manager of the logits.</returns>
    /// <exception cref="ArgumentException">Shapes or types do not fit, a label or a length is out of range, which the sentence
    /// says with its index, or an option is.</exception>
    /// <exception cref="NotSupportedException">The lengths are computed under a gradient tape from what requires a
    /// gradient.</exception>
    /// <exception cref="InvalidOperationException">The logits are followed by another thread's tape.</exception>
    /// <exception cref="ObjectDisposedException">An array or its manager is disposed.</exception>
    public static NDArray CrossEntropy(
        NDArray logits, NDArray labels, NDArray? validLens = null, float labelSmoothing = 0, long ignoreIndex = -100,
        LossReduction reduction = LossReduction.Mean)
    {
        _ = logits ?? throw new ArgumentNullException(nameof(logits));
        _ = labels ?? throw new ArgumentNullException(nameof(labels));
        NativeTensor rows = NDArray.TensorOf(logits, nameof(logits))!;
        NativeTensor classes = NDArray.TensorOf(labels, nameof(labels))!;
        NativeTensor? lengths = NDArray.TensorOf(validLens, nameof(validLens));
        Tape.Refuse("validLens of CrossEntropy", validLens);
        Tape? tape = Tape.For(nameof(CrossEntropy), logits);
        using var options = new NativeCrossEntropyOptions
        {
            IgnoreIndex = ignoreIndex,
            LabelSmoothing = labelSmoothing,
            Reduction = (int)reduction,
        };
        NDArray? gradient = NewGradient(tape, logits);
        try
        {
            double total = HeedNative.HeedCrossEntropy(rows, classes, lengths, options, null, gradient?.Tensor);
            NDArray loss = Scalar(logits.Manager, total);
            return tape is null ? loss : Recorded(tape, nameof(CrossEntropy), loss, logits, gradient!);
        }
        catch
        {
            gradient?.Dispose();
            throw;
        }
    }

    /// <summary>The squared error of predictions and targets, <c>factor (predictions - targets)^2</c> of each element: as
    /// MSELoss of PyTorch, and with a factor of 0.5 as l2Loss of DJL. It is computed in double. Without elements it is
    /// 0.</summary>
    /// <param name="predictions">An array of Float32.</param>
    /// <param name="targets">An array of Float32 and the same shape. If a tape follows it, it has a gradient, too.</param>
    /// <param name="factor">A factor of each square.</param>
    /// <param name="reduction">How the losses of elements become one number.</param>
    /// <returns>The loss, of the manager of the predictions.</returns>
    /// <exception cref="ArgumentException">Shapes or types do not fit, or an option is out of range.</exception>
    /// <exception cref="InvalidOperationException">An array is followed by another thread's tape.</exception>
    /// <exception cref="ObjectDisposedException">An array or its manager is disposed.</exception>
    public static NDArray SquaredError(
        NDArray predictions, NDArray targets, double factor = 1, LossReduction reduction = LossReduction.Mean)
    {
        _ = predictions ?? throw new ArgumentNullException(nameof(predictions));
        _ = targets ?? throw new ArgumentNullException(nameof(targets));
        NativeTensor given = NDArray.TensorOf(predictions, nameof(predictions))!;
        NativeTensor right = NDArray.TensorOf(targets, nameof(targets))!;
        Tape? tape = Tape.For(nameof(SquaredError), predictions, targets);
        using var options = new NativeSquaredErrorOptions { Factor = factor, Reduction = (int)reduction };
        NDArray? gradient = NewGradient(tape, predictions);
        try
        {
            double total = HeedNative.HeedSquaredError(given, right, options, null, gradient?.Tensor);
            NDArray loss = Scalar(predictions.Manager, total);
            return tape is null ? loss : Recorded(tape, nameof(SquaredError), loss, predictions, gradient!, targets);
        }
        catch
        {
            gradient?.Dispose();
            throw;
        }
    }

    /// <summary>The array for a gradient that the native call writes; null: none is wanted.</summary>
    private static NDArray? NewGradient(Tape? tape, NDArray of) =>
        tape?.Manager.On(of.Device).NewArray(of.Shape, DataType.Float32);

    private static NDArray Scalar(NDManager manager, double value) => manager.Full(new Shape(), (float)value);

    private static NDArray Recorded(
        Tape tape, string operation, NDArray loss, NDArray input, NDArray gradient, NDArray? opposite = null)
    {
        try
        {
            return tape.RecordWithGradient(operation, loss, input, gradient, opposite);
        }
        catch
        {
            loss.Dispose();
            throw;
        }
    }
}
