// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Locale;

/** Gradients of functions of elements: g is the gradient of the result y, a and b are the operands. */
final class ElementGradients {
    private static final double FACTOR_OF_ERF = 2 / Math.sqrt(Math.PI);

    private ElementGradients() {}

    /** Refuses a function that has no gradient. */
    static void check(ElementFunction function) {
        switch (function) {
            case MOD:
            case SIGN:
            case ROUND:
            case FLOOR:
            case CEIL:
            case TRUNC:
                throw Tape.noGradient(nameOf(function));
            default:
                if (function.givesTruth()) {
                    throw Tape.noGradient(nameOf(function));
                }
        }
    }

    /** Records a function of two arrays. */
    static NDArray record(Tape tape, ElementFunction function, ArrayData first, ArrayData second, NDArray y) {
        return tape.record(nameOf(function), y, new ArrayData[] {first, second}, node -> {
            switch (function) {
                case ADD:
                    return (g, input) -> g;
                case SUB:
                    return (g, input) -> input == 0 ? g : g.neg();
                case MUL: {
                    NDArray a = node.holdFor(1, "array", first);
                    NDArray b = node.holdFor(0, "other", second);
                    return (g, input) -> g.mul(input == 0 ? b : a);
                }
                case DIV: {
                    NDArray b = node.hold("other", second);
                    NDArray quotient = node.holdFor(1, "result", y.data());
                    return (g, input) -> input == 0 ? g.div(b) : g.mul(quotient).neg().div(b);
                }
                case POW: {
                    NDArray a = node.hold("array", first);
                    NDArray b = node.hold("other", second);
                    NDArray power = node.holdFor(1, "result", y.data());
                    return (g, input) -> input == 0 ? ofBase(g, a, b) : ofExponent(g, a, b, power);
                }
                default: {
                    NDArray a = node.hold("array", first);
                    NDArray b = node.hold("other", second);
                    return (g, input) -> g.where(isChosen(function, a, b, input), 0);
                }
            }
        });
    }

    /** Whether MAXIMUM or MINIMUM has chosen an operand: the first one, where they are equal. */
    private static NDArray isChosen(ElementFunction function, NDArray a, NDArray b, int input) {
        NDArray isFirst = function == ElementFunction.MAXIMUM ? a.gte(b) : a.lte(b);
        return input == 0 ? isFirst : isFirst.logicalNot();
    }

    private static NDArray ofBase(NDArray g, NDArray a, NDArray b) {
        return g.mul(b).mul(a.pow(b.sub(1))).where(b.neq(0), 0);
    }

    /** 0 where the base is 0 and the exponent is not negative: the logarithm is not finite there. */
    private static NDArray ofExponent(NDArray g, NDArray a, NDArray b, NDArray y) {
        return g.mul(y).mul(a.log()).where(a.neq(0).logicalOr(b.lt(0)), 0);
    }

    /** Records a function of an array and a number. */
    static NDArray record(
            Tape tape, ElementFunction function, ArrayData array, Number number, boolean isNumberFirst, NDArray y) {
        return tape.record(nameOf(function), y, array, node -> isNumberFirst
                ? ofNumberAndArray(node, function, array, number, y)
                : ofArrayAndNumber(node, function, array, number));
    }

    private static ArrayNode.Rule ofArrayAndNumber(
            ArrayNode node, ElementFunction function, ArrayData array, Number number) {
        switch (function) {
            case ADD:
            case SUB:
                return (g, input) -> g;
            case MUL:
                return (g, input) -> g.mul(number);
            case DIV:
                return (g, input) -> g.div(number);
            case POW: {
                NDArray a = node.hold("array", array);
                double n = number.doubleValue();
                return (g, input) -> n == 0 ? null : g.mul(number).mul(a.pow(n - 1));
            }
            default: {
                NDArray a = node.hold("array", array);
                return (g, input) ->
                        g.where(function == ElementFunction.MAXIMUM ? a.gte(number) : a.lte(number), 0);
            }
        }
    }

    private static ArrayNode.Rule ofNumberAndArray(
            ArrayNode node, ElementFunction function, ArrayData array, Number number, NDArray y) {
        switch (function) {
            case ADD:
                return (g, input) -> g;
            case SUB:
                return (g, input) -> g.neg();
            case MUL:
                return (g, input) -> g.mul(number);
            case DIV: {
                NDArray b = node.hold("other", array);
                NDArray quotient = node.hold("result", y.data());
                return (g, input) -> g.mul(quotient).neg().div(b);
            }
            default: {
                NDArray power = node.hold("result", y.data());
                double n = number.doubleValue();
                return (g, input) -> n == 0 ? null : g.mul(power).mul(Math.log(n));
            }
        }
    }

    /** Records a function of one array. */
    static NDArray record(Tape tape, ElementFunction function, ArrayData array, NDArray y) {
        return tape.record(nameOf(function), y, array, node -> ofOne(node, function, array, y));
    }

    private static ArrayNode.Rule ofOne(ArrayNode node, ElementFunction function, ArrayData array, NDArray result) {
        switch (function) {
            case NEG:
                return (g, input) -> g.neg();
            case SQRT: {
                NDArray y = node.hold("result", result.data());
                return (g, input) -> g.div(y.mul(2));
            }
            case EXP: {
                NDArray y = node.hold("result", result.data());
                return (g, input) -> g.mul(y);
            }
            case TANH: {
                NDArray y = node.hold("result", result.data());
                return (g, input) -> g.mul(NDArrays.sub(1, y.square()));
            }
            case SIGMOID: {
                NDArray y = node.hold("result", result.data());
                return (g, input) -> g.mul(y).mul(NDArrays.sub(1, y));
            }
            default: {
                NDArray a = node.hold("array", array);
                return (g, input) -> ofArgument(function, g, a);
            }
        }
    }

    private static NDArray ofArgument(ElementFunction function, NDArray g, NDArray a) {
        switch (function) {
            case ABS:
                return g.mul(a.sign());
            case SQUARE:
                return g.mul(2).mul(a);
            case LOG:
                return g.div(a);
            case SIN:
                return g.mul(a.cos());
            case COS:
                return g.mul(a.sin()).neg();
            case ERF:
                return g.mul(FACTOR_OF_ERF).mul(a.square().neg().exp());
            default:
                throw Tape.noGradient(nameOf(function));
        }
    }

    /** The name of the method. */
    static String nameOf(ElementFunction function) {
        return function.name().toLowerCase(Locale.ROOT);
    }
}
