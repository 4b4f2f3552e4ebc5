// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The cross-entropy of logits (..., classes) and of the numbers of classes, with its gradient, in one native call. */
final class CrossEntropy {
    /** As C numbers the reductions. */
    private static final int MEAN = 0;

    private static final int MEAN_OF_ITEMS = 2;

    private CrossEntropy() {}

    /**
     * The mean over all rows, or over those before the lengths.
     *
     * @param logits of FLOAT32 and any shape (..., classes); with lengths (items, steps, classes)
     * @param labels of INT32 or INT64, (...)
     * @param lengths (items), or null
     */
    static NDArray mean(String name, NDArray logits, NDArray labels, NDArray lengths, float weight) {
        ArrayData data = logits.data();
        if (lengths != null) {
            Tape.refuseArgument("the lengths of " + name, lengths.data());
        }
        Tape tape = Tape.following(data);
        Shape shape = data.shape;
        long classes = shape.get(shape.dimension() - 1);
        Shape rows = lengths == null ? new Shape(labels.getShape().size()) : labels.getShape();
        NativeTensor lens = lengths == null ? null : lengths.tensor();
        try (NDArray gradient = tape == null ? null : data.made(DataType.FLOAT32, shape);
                NativeTensor logitRows = data.reshaped(rows.add(classes).dims());
                NativeTensor labelRows = labels.data().reshaped(rows.dims());
                NativeTensor gradientRows =
                        gradient == null ? null : gradient.data().reshaped(rows.add(classes).dims());
                NativeCrossEntropyOptions options = newOptions(MEAN)) {
            double total = computed(logitRows, labelRows, lens, options, null, gradientRows);
            NDArray loss = logits.getManager().create((float) (total * weight));
            if (tape == null) {
                return loss;
            }
            return tape.record(name, loss, data, node -> {
                NDArray held = node.hold("gradient", gradient.data());
                return (whole, input) -> LossArrays.times(held, whole.getFloat() * weight);
            });
        }
    }

    /**
     * Of each item the mean over all of its steps, where those beyond its length count as 0.
     *
     * @param logits of FLOAT32, (items, steps, classes)
     * @param labels of INT32 or INT64, (items, steps)
     * @param lengths (items)
     */
    static NDArray ofItems(String name, NDArray logits, NDArray labels, NDArray lengths, float weight) {
        ArrayData data = logits.data();
        Tape.refuseArgument("the lengths of " + name, lengths.data());
        Tape tape = Tape.following(data);
        try (NDArray gradient = tape == null ? null : data.made(DataType.FLOAT32, data.shape);
                NDArray losses = data.made(DataType.FLOAT32, labels.getShape());
                NativeCrossEntropyOptions options = newOptions(MEAN_OF_ITEMS)) {
            computed(
                    data.tensor(),
                    labels.tensor(),
                    lengths.tensor(),
                    options,
                    losses.tensor(),
                    gradient == null ? null : gradient.tensor());
            NDArray loss = timesAll(losses.mean(new int[] {1}), weight);
            if (tape == null) {
                return loss;
            }
            return tape.record(name, loss, data, node -> {
                NDArray held = node.hold("gradient", gradient.data());
                return (whole, input) -> timesItems(held, weight == 1 ? whole : whole.mul(weight));
            });
        }
    }

    private static NDArray timesAll(NDArray means, float weight) {
        if (weight == 1) {
            return means;
        }
        try (NDArray factors = means) {
            return factors.mul(weight);
        }
    }

    /** The rows of each item times its number: the array itself if all are 1, so that it keeps its bits. */
    private static NDArray timesItems(NDArray gradient, NDArray factors) {
        for (float factor : factors.toFloatArray()) {
            if (factor != 1) {
                return gradient.mul(factors.reshape(factors.getShape().size(), 1, 1));
            }
        }
        return gradient;
    }

    private static double computed(
            NativeTensor logits,
            NativeTensor labels,
            NativeTensor lengths,
            NativeCrossEntropyOptions options,
            NativeTensor losses,
            NativeTensor gradient) {
        try {
            return HeedNative.heed_cross_entropy(logits, labels, lengths, options, losses, gradient);
        } catch (IllegalArgumentException error) {
            // A loss has no such option.
            String sentence = error.getMessage().replace(", or ignoreIndex, " + Long.MIN_VALUE, "");
            throw new IllegalArgumentException(sentence, error);
        }
    }

    /** Every row counts: no label is one to ignore, unless it is out of range anyway. */
    private static NativeCrossEntropyOptions newOptions(int reduction) {
        NativeCrossEntropyOptions options = new NativeCrossEntropyOptions();
        options.setIgnoreIndex(Long.MIN_VALUE);
        options.setReduction(reduction);
        return options;
    }
}
