// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.DoubleBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Gradients of operations on FLOAT64 arrays, against central differences. */
class ArrayGradientsTest {
    /** The rounding of values of about 1 by this, and its square times a third derivative of about 10, are below 1e-8. */
    private static final double STEP = 1e-5;

    private static final double TOLERANCE = 1e-6;

    private NDManager manager;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** An operation, and the shapes of the arrays that it is computed from. */
    static final class Case {
        final String name;
        final Function<NDArray[], NDArray> operation;
        final Shape[] shapes;
        /** Added to the elements, which are from -1 to 1. */
        double shift;

        Case(String name, Function<NDArray[], NDArray> operation, Shape... shapes) {
            this.name = name;
            this.operation = operation;
            this.shapes = shapes;
        }

        Case shifted(double by) {
            shift = by;
            return this;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static final List<Case> CASES = new ArrayList<>();

    private static Case of(String name, Function<NDArray, NDArray> operation, Shape shape) {
        Case made = new Case(name, x -> operation.apply(x[0]), shape);
        CASES.add(made);
        return made;
    }

    private interface OfTwo {
        NDArray of(NDArray a, NDArray b);
    }

    private static Case of(String name, OfTwo operation, Shape a, Shape b) {
        Case made = new Case(name, x -> operation.of(x[0], x[1]), a, b);
        CASES.add(made);
        return made;
    }

    private static final Shape MATRIX = new Shape(3, 4);

    static {
        functionsOfTwo();
        functionsOfOne();
        choices();
        reductions();
        products();
        views();
        indices();
        composed();
    }

    private static void functionsOfTwo() {
        of("add", NDArray::add, MATRIX, MATRIX);
        of("add to a row", NDArray::add, MATRIX, new Shape(4));
        of("add to a column", NDArray::add, MATRIX, new Shape(3, 1));
        of("sub from a row", NDArray::sub, new Shape(1, 4), MATRIX);
        of("mul with itself", (a, b) -> a.mul(a).add(b), MATRIX, MATRIX);
        of("mul with a scalar", NDArray::mul, new Shape(), MATRIX);
        of("div", NDArray::div, MATRIX, MATRIX).shifted(3);
        of("div by a row", NDArray::div, MATRIX, new Shape(4)).shifted(3);
        of("pow", NDArray::pow, MATRIX, MATRIX).shifted(2);
        of("maximum", NDArray::maximum, MATRIX, MATRIX);
        of("minimum", NDArray::minimum, MATRIX, new Shape(4));
        of("add of several", (a, b) -> NDArrays.add(a, b, a), MATRIX, MATRIX);
        of("numbers", x -> x.add(2).sub(1).mul(3).div(7), MATRIX);
        of("pow of a number", x -> x.pow(3), MATRIX);
        of("pow 0", x -> x.pow(0).add(x), MATRIX);
        of("pow 1", x -> x.pow(1), MATRIX);
        of("pow 0.5", x -> x.pow(0.5), MATRIX).shifted(2);
        of("maximum of a number", x -> x.maximum(0.1), MATRIX);
        of("minimum of a number", x -> x.minimum(0.1), MATRIX);
        of("number + array", x -> NDArrays.add(2, x), MATRIX);
        of("number - array", x -> NDArrays.sub(2, x), MATRIX);
        of("number * array", x -> NDArrays.mul(2, x), MATRIX);
        of("number / array", x -> NDArrays.div(2, x), MATRIX).shifted(3);
        of("number ^ array", x -> NDArrays.pow(2, x), MATRIX);
        of("0 ^ array", x -> NDArrays.pow(0, x).add(x), MATRIX).shifted(2);
    }

    private static void functionsOfOne() {
        of("neg", NDArray::neg, MATRIX);
        of("abs", NDArray::abs, MATRIX);
        of("square", NDArray::square, MATRIX);
        of("sqrt", NDArray::sqrt, MATRIX).shifted(2);
        of("exp", NDArray::exp, MATRIX);
        of("log", NDArray::log, MATRIX).shifted(2);
        of("sin", NDArray::sin, MATRIX);
        of("cos", NDArray::cos, MATRIX);
        of("tanh", NDArray::tanh, MATRIX);
        of("sigmoid", NDArray::sigmoid, MATRIX);
        of("erf", NDArray::erf, MATRIX);
        of("relu", Activation::relu, MATRIX);
        of("gelu", Activation::gelu, MATRIX);
        of("geluTanh", Activation::geluTanh, MATRIX);
        of("geluQuick", Activation::geluQuick, MATRIX);
        of("silu", Activation::silu, MATRIX);
        of("swish", x -> Activation.swish(x, 1.702f), MATRIX);
        of("blocks of activations", x -> Activation.geluBlock().forward(x).get(0), MATRIX);
    }

    private static void choices() {
        of("where", (a, b) -> a.where(a.getManager().create(new boolean[] {true, false, true, true}), b), MATRIX, MATRIX);
        of("where of a number", x -> x.where(x.stopGradient().gt(0), 7), MATRIX);
        of("where of the class", (a, b) -> NDArrays.where(b.stopGradient().lt(0), a, b), new Shape(4), MATRIX);
        of("clip", x -> x.clip(-0.5, 0.25), MATRIX);
        of("sequenceMask", x -> x.sequenceMask(x.getManager().create(new int[] {2, 0, 4}), -3), MATRIX);
    }

    private static void reductions() {
        Shape cube = new Shape(2, 3, 4);
        of("sum", x -> x.sum(), cube);
        of("sum of axes", x -> x.sum(new int[] {0, -1}), cube);
        of("sum that keeps axes", x -> x.sum(new int[] {1}, true), cube);
        of("mean", x -> x.mean(), cube);
        of("mean of axes", x -> x.mean(new int[] {1}), cube);
        of("norm", x -> x.norm(), cube);
        of("norm of axes", x -> x.norm(new int[] {1}, true), cube);
        of("norm 1", x -> x.norm(1, new int[] {2}), cube);
        of("normalize", x -> x.normalize(), cube);
        of("normalize by 1", x -> x.normalize(1, 2), cube);
        of("softmax", x -> x.softmax(1), cube);
        of("softmax of the last axis", x -> x.softmax(-1), cube);
        of("softmax of the first axis", x -> x.softmax(0), cube);
        of("logSoftmax", x -> x.logSoftmax(0), cube);
    }

    private static void products() {
        of("matMul", NDArray::matMul, new Shape(2, 3), new Shape(3, 4));
        of("matMul of batches", NDArray::matMul, new Shape(2, 2, 3), new Shape(2, 3, 4));
        of("matMul of a batch and a matrix", NDArray::matMul, new Shape(2, 2, 3), new Shape(3, 4));
        of("matMul of a matrix and a batch", NDArray::matMul, new Shape(2, 3), new Shape(2, 3, 4));
        of("matMul of batches that are repeated", NDArray::matMul, new Shape(2, 1, 2, 3), new Shape(3, 3, 4));
        of("matMul of a vector and a matrix", NDArray::matMul, new Shape(3), new Shape(3, 4));
        of("matMul of a matrix and a vector", NDArray::matMul, new Shape(2, 3), new Shape(3));
        of("matMul of vectors", NDArray::matMul, new Shape(3), new Shape(3));
        of("matMul of a vector and a batch", NDArray::matMul, new Shape(3), new Shape(2, 3, 4));
        of("matMul of a batch and a vector", NDArray::matMul, new Shape(2, 4, 3), new Shape(3));
        of("batchDot", NDArray::batchDot, new Shape(2, 2, 3), new Shape(2, 3, 4));
        of("dot", NDArray::dot, new Shape(2, 3), new Shape(3));
        of("dot of many axes", NDArray::dot, new Shape(2, 3), new Shape(2, 3, 4));
        of("dot with a scalar", NDArray::dot, new Shape(), MATRIX);
    }

    private static void views() {
        Shape cube = new Shape(2, 3, 4);
        of("reshape", x -> x.reshape(4, 6), cube);
        of("reshape of a transposed array", x -> x.transpose().reshape(24), cube);
        of("flatten", NDArray::flatten, cube);
        of("transpose", x -> x.transpose(), cube);
        of("transpose of axes", x -> x.transpose(1, -1, 0), cube);
        of("swapAxes", x -> x.swapAxes(0, -1), cube);
        of("expandDims", x -> x.expandDims(1), cube);
        of("squeeze", x -> x.squeeze(), new Shape(1, 3, 1));
        of("squeeze of axes", x -> x.squeeze(-1), new Shape(1, 3, 1));
        of("slice", x -> x.slice(1, 1, 2), cube);
        of("slice from the end", x -> x.slice(-1, -2, 1), cube);
        of("get", x -> x.get(1, 2), cube);
        of("get of a range", x -> x.get("1, :, 1:4:2"), cube);
        of("get that runs backwards", x -> x.get("..., ::-1"), cube);
        of("get with a new axis", x -> x.get("null, :, 0"), cube);
        of("flip", x -> x.flip(0, 2), cube);
        of("broadcast", x -> x.broadcast(2, 3, 4), new Shape(3, 1));
        of("repeat", x -> x.repeat(2), MATRIX);
        of("repeat along an axis", x -> x.repeat(1, 3), MATRIX);
        of("repeat of axes", x -> x.repeat(new long[] {2, 1, 3}), MATRIX);
        of("repeat to a shape", x -> x.repeat(new Shape(6, 4)), MATRIX);
        of("repeat once", x -> x.repeat(1), MATRIX);
        of("tile", x -> x.tile(2), MATRIX);
        of("tile along an axis", x -> x.tile(0, 3), MATRIX);
        of("tile of axes", x -> x.tile(new long[] {2, 1, 3}), MATRIX);
        of("tile to a shape", x -> x.tile(new Shape(2, 3, 8)), MATRIX);
        of("concat", (a, b) -> a.concat(b, 1), MATRIX, new Shape(3, 2));
        of("concat of several", (a, b) -> NDArrays.concat(new NDList(a, b, a)), MATRIX, new Shape(2, 4));
        of("stack", (a, b) -> a.stack(b, 1), MATRIX, MATRIX);
        of("stack with itself", x -> x.stack(x, -1), MATRIX);
        of("split", x -> x.split(2, 1).get(1), MATRIX);
        of("split at indices", x -> x.split(new long[] {1, 3}, 1).get(1), MATRIX);
        of("duplicate", NDArray::duplicate, MATRIX);
        of("toType", x -> x.toType(DataType.FLOAT64, true), MATRIX);
        of("toType of the same type", x -> x.toType(DataType.FLOAT64, false).mul(x), MATRIX);
    }

    private static void indices() {
        of("take", x -> x.take(x.getManager().create(new int[] {2, 0, 2, -1}), 0), MATRIX);
        of("take of a matrix of indices", x -> x.take(x.getManager().create(new long[] {3, 1, 1, -4}, new Shape(2, 2)), 1),
                new Shape(2, 4, 3));
        of("take of all elements", x -> x.take(x.getManager().create(new int[] {11, 0, 11})), MATRIX);
        of("gather", x -> x.gather(x.getManager().create(new int[] {2, 0, 1, -1, 2, 2, 0, 0}, new Shape(2, 4)), 0), MATRIX);
        of("gather of repeated indices", x -> x.gather(x.getManager().create(new int[] {3, 0}, new Shape(1, 2)), 1), MATRIX);
        of("pick", x -> x.pick(x.getManager().create(new int[] {2, 0, -1}), 1), MATRIX);
        of("pick along the first axis", x -> x.pick(x.getManager().create(new int[] {2, 0, 1, -1}), 0), MATRIX);
        of("get of indices", x -> x.get(x.getManager().create(new int[] {1, 1, -1})), MATRIX);
        of("get of indices of a part",
                x -> x.get(new NDIndex(":, {}, 1:3", x.getManager().create(new int[] {1, 1, -1}))), new Shape(2, 3, 4));
        of("get of indices behind a number",
                x -> x.get(new NDIndex("0, :, {}", x.getManager().create(new int[] {1, 1, -1}))), new Shape(2, 3, 4));
        of("get of a mask", x -> x.get(x.stopGradient().gt(0)), MATRIX);
        of("booleanMask", x -> x.booleanMask(x.getManager().create(new boolean[] {true, false, true, true}), 1), MATRIX);
    }

    private static void composed() {
        of("a layer", (w, x) -> x.matMul(w).tanh().square().mean(), new Shape(4, 2), MATRIX);
        of("an attention", (q, k) -> q.matMul(k.swapAxes(-2, -1)).div(2).softmax(-1).matMul(k),
                new Shape(2, 3, 4), new Shape(2, 5, 4));
        of("several uses", (a, b) -> a.mul(b).add(a.exp()).sub(a.get("0")).mul(a.sum()), MATRIX, MATRIX);
        of("a normalization", x -> x.sub(x.mean(new int[] {1}, true))
                .div(x.sub(x.mean(new int[] {1}, true)).square().mean(new int[] {1}, true).add(1e-5).sqrt()), MATRIX);
    }

    static Stream<Case> cases() {
        return CASES.stream();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("cases")
    void agreesWithDifferences(Case each) {
        Random random = new Random(each.name.hashCode());
        NDArray[] inputs = new NDArray[each.shapes.length];
        for (int i = 0; i < inputs.length; i++) {
            double[] elements = random.doubles(each.shapes[i].size(), -1, 1).map(x -> x + each.shift).toArray();
            inputs[i] = manager.create(elements, each.shapes[i]);
            inputs[i].setRequiresGradient(true);
        }
        NDArray weights;
        try (NDArray sample = each.operation.apply(inputs)) {
            weights = manager.create(random.doubles(sample.size(), -1, 1).toArray(), sample.getShape());
        }
        // Of each array alone too: the others are then constants.
        for (int only = inputs.length == 1 ? 0 : -1; only < inputs.length; only++) {
            for (int i = 0; i < inputs.length; i++) {
                inputs[i].setRequiresGradient(only < 0 || only == i);
            }
            try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
                collector.backward(each.operation.apply(inputs).mul(weights));
            }
            for (NDArray input : inputs) {
                if (input.hasGradient()) {
                    compare(each, inputs, input, weights);
                    input.getGradient().subi(input.getGradient());
                }
            }
        }
    }

    private static void compare(Case each, NDArray[] inputs, NDArray input, NDArray weights) {
        assertEquals(input.getShape(), input.getGradient().getShape());
        double[] gradient = input.getGradient().toDoubleArray();
        double[] elements = input.toDoubleArray();
        for (int i = 0; i < elements.length; i++) {
            double difference = valueAt(each, inputs, input, i, STEP, weights) - valueAt(each, inputs, input, i, -STEP, weights);
            double expected = difference / (2 * STEP);
            assertTrue(Math.abs(gradient[i] - expected) <= TOLERANCE * (1 + Math.abs(expected)),
                    each + ", element " + i + ": " + gradient[i] + ", expected " + expected);
        }
    }

    private static double valueAt(Case each, NDArray[] inputs, NDArray input, int index, double step, NDArray weights) {
        double[] elements = input.toDoubleArray();
        double before = elements[index];
        elements[index] = before + step;
        input.set(DoubleBuffer.wrap(elements));
        try (NDArray result = each.operation.apply(inputs);
                NDArray weighted = result.mul(weights);
                NDArray sum = weighted.sum()) {
            return sum.getDouble();
        } finally {
            elements[index] = before;
            input.set(DoubleBuffer.wrap(elements));
        }
    }
}
