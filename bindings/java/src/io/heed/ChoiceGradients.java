// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Locale;

/** Gradients of choices between elements: g goes to what is chosen, and the others get 0. */
final class ChoiceGradients {
    private ChoiceGradients() {}

    /**
     * Records a choice.
     *
     * @param b null: a number
     */
    static NDArray where(Tape tape, ArrayData a, ArrayData condition, ArrayData b, NDArray y) {
        ArrayData[] inputs = b == null ? new ArrayData[] {a} : new ArrayData[] {a, b};
        return tape.record("where", y, inputs, node -> {
            NDArray isFirst = node.hold("condition", condition);
            return (g, input) -> g.where(input == 0 ? isFirst : isFirst.logicalNot(), 0);
        });
    }

    static NDArray clip(Tape tape, ArrayData array, Number min, Number max, NDArray y) {
        return tape.record("clip", y, array, node -> {
            NDArray a = node.hold("array", array);
            return (g, input) -> g.where(a.gte(min).logicalAnd(a.lte(max)), 0);
        });
    }

    static NDArray sequenceMask(Tape tape, ArrayData array, ArrayData lengths, NDArray y) {
        return tape.record("sequenceMask", y, array, node -> {
            NDArray lengthOfRow = node.hold("sequenceLength", lengths);
            return (g, input) -> g.sequenceMask(lengthOfRow, 0);
        });
    }

    static NDArray activation(Tape tape, ActivationKind activation, ArrayData array, NDArray y) {
        return tape.record(nameOf(activation), y, array, node -> {
            NDArray a = node.hold("array", array);
            return (g, input) -> activation == ActivationKind.RELU
                    ? g.where(a.gt(0), 0)
                    : g.mul(slope(activation, a));
        });
    }

    /** The name of the method. */
    private static String nameOf(ActivationKind activation) {
        switch (activation) {
            case GELU_TANH:
                return "geluTanh";
            case GELU_QUICK:
                return "geluQuick";
            default:
                return activation.name().toLowerCase(Locale.ROOT);
        }
    }

    /** The derivatives of an activation. */
    private static NDArray slope(ActivationKind activation, NDArray a) {
        switch (activation) {
            case GELU: {
                // Phi(a) + a phi(a).
                NDArray distribution = a.div(Math.sqrt(2)).erf().add(1).div(2);
                NDArray density = a.square().div(-2).exp().div(Math.sqrt(2 * Math.PI));
                return distribution.add(a.mul(density));
            }
            case GELU_TANH: {
                // Of a (1 + t) / 2 with t = tanh(c (a + d a^3)).
                double c = Math.sqrt(2 / Math.PI);
                double d = 0.044715;
                NDArray t = a.add(a.pow(3).mul(d)).mul(c).tanh();
                NDArray inside = a.square().mul(3 * d).add(1).mul(c);
                return t.add(1).add(a.mul(NDArrays.sub(1, t.square())).mul(inside)).div(2);
            }
            default: {
                // Of a sigma(c a).
                double c = activation == ActivationKind.GELU_QUICK ? 1.702 : 1;
                NDArray s = a.mul(c).sigmoid();
                return s.add(a.mul(c).mul(s).mul(NDArrays.sub(1, s)));
            }
        }
    }
}
