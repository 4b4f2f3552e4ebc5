// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Locale;

/** Gradients of reductions and softmaxes: g is the gradient of the result y. */
final class ReductionGradients {
    private ReductionGradients() {}

    static void check(Reduction reduction) {
        if (reduction != Reduction.SUM && reduction != Reduction.MEAN && reduction != Reduction.NORM) {
            throw Tape.noGradient(nameOf(reduction));
        }
    }

    /**
     * Records a reduction.
     *
     * @param axes null: all axes
     */
    static NDArray record(Tape tape, Reduction reduction, ArrayData array, int[] axes, NDArray y) {
        int[] reduced = axes == null ? null : axes.clone();
        Shape shape = array.shape;
        Shape kept = ResultRules.reduced(shape, reduced, true);
        return tape.record(nameOf(reduction), y, array, node -> {
            if (reduction == Reduction.SUM) {
                return (g, input) -> g.reshape(kept).broadcast(shape);
            }
            if (reduction == Reduction.MEAN) {
                double count = (double) shape.size() / Math.max(kept.size(), 1);
                return (g, input) -> g.div(count).reshape(kept).broadcast(shape);
            }
            NDArray a = node.hold("array", array);
            NDArray norm = node.hold("result", y.data());
            return (g, input) -> {
                NDArray divisor = norm.reshape(kept);
                return g.reshape(kept).mul(a).div(divisor).where(divisor.neq(0), 0);
            };
        });
    }

    static NDArray softmax(Tape tape, ArrayData array, int axis, NDArray y) {
        int[] along = {axis};
        return tape.record("softmax", y, array, node -> {
            NDArray share = node.hold("result", y.data());
            return (g, input) -> share.mul(g.sub(g.mul(share).sum(along, true)));
        });
    }

    /** The same over the last axis, of which hidden elements take no part, whatever their gradients are. */
    static NDArray maskedSoftmax(Tape tape, ArrayData array, NDArray y) {
        int[] last = {-1};
        return tape.record("maskedSoftmax", y, array, node -> {
            NDArray share = node.hold("result", y.data());
            return (g, input) -> {
                NDArray part = g.mul(share).where(share.neq(0), 0);
                return part.sub(share.mul(part.sum(last, true)));
            };
        });
    }

    static NDArray logSoftmax(Tape tape, ArrayData array, int axis, NDArray y) {
        int[] along = {axis};
        return tape.record("logSoftmax", y, array, node -> {
            NDArray logarithm = node.hold("result", y.data());
            return (g, input) -> g.sub(logarithm.exp().mul(g.sum(along, true)));
        });
    }

    private static String nameOf(Reduction reduction) {
        switch (reduction) {
            case ARG_MAX:
                return "argMax";
            case ARG_MIN:
                return "argMin";
            default:
                return reduction.name().toLowerCase(Locale.ROOT);
        }
    }
}
