// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

/**
 * The arithmetic of arrays compared with NumPy, by the table that the tests of C read too. Each case is computed as a new array and
 * written into one that is given.
 */
class ArrayTableTest {
    private interface OfTwo {
        NDArray of(NDArray a, NDArray b, NDArray result);
    }

    private interface OfAxes {
        NDArray of(NDArray array, int[] axes, boolean keepDims, NDArray result);
    }

    private interface OfAxis {
        NDArray of(NDArray array, int axis);
    }

    private interface OfAxisInto {
        NDArray of(NDArray array, int axis, NDArray result);
    }

    private interface OfKeptAxes {
        NDArray of(NDArray array, int[] axes, boolean keepDims);
    }

    private static final Map<String, OfTwo> OF_TWO = new HashMap<>();
    private static final Map<String, BiFunction<NDArray, NDArray, NDArray>> OF_ONE = new HashMap<>();
    private static final Map<String, BiFunction<NDArray, NDArray, NDArray>> OF_ALL = new HashMap<>();
    private static final Map<String, OfAxes> OF_AXES = new HashMap<>();

    static {
        OF_TWO.put("add", ofTwo(NDArray::add, NDArray::add));
        OF_TWO.put("subtract", ofTwo(NDArray::sub, NDArray::sub));
        OF_TWO.put("multiply", ofTwo(NDArray::mul, NDArray::mul));
        OF_TWO.put("divide", ofTwo(NDArray::div, NDArray::div));
        OF_TWO.put("power", ofTwo(NDArray::pow, NDArray::pow));
        OF_TWO.put("remainder", ofTwo(NDArray::mod, NDArray::mod));
        OF_TWO.put("maximum", ofTwo(NDArray::maximum, NDArray::maximum));
        OF_TWO.put("minimum", ofTwo(NDArray::minimum, NDArray::minimum));
        OF_TWO.put("logical_and", ofTwo(NDArray::logicalAnd, NDArray::logicalAnd));
        OF_TWO.put("logical_or", ofTwo(NDArray::logicalOr, NDArray::logicalOr));
        OF_TWO.put("logical_xor", ofTwo(NDArray::logicalXor, NDArray::logicalXor));
        OF_TWO.put("equal", ofTwo(NDArray::eq, NDArray::eq));
        OF_TWO.put("not_equal", ofTwo(NDArray::neq, NDArray::neq));
        OF_TWO.put("less", ofTwo(NDArray::lt, NDArray::lt));
        OF_TWO.put("less_equal", ofTwo(NDArray::lte, NDArray::lte));
        OF_TWO.put("greater", ofTwo(NDArray::gt, NDArray::gt));
        OF_TWO.put("greater_equal", ofTwo(NDArray::gte, NDArray::gte));
        OF_ONE.put("logical_not", ofOne(NDArray::logicalNot, NDArray::logicalNot));
        OF_ONE.put("negative", ofOne(NDArray::neg, NDArray::neg));
        OF_ONE.put("absolute", ofOne(NDArray::abs, NDArray::abs));
        OF_ONE.put("sign", ofOne(NDArray::sign, NDArray::sign));
        OF_ONE.put("square", ofOne(NDArray::square, NDArray::square));
        OF_ONE.put("round", ofOne(NDArray::round, NDArray::round));
        OF_ONE.put("floor", ofOne(NDArray::floor, NDArray::floor));
        OF_ONE.put("ceil", ofOne(NDArray::ceil, NDArray::ceil));
        OF_ONE.put("truncate", ofOne(NDArray::trunc, NDArray::trunc));
        OF_ONE.put("sqrt", ofOne(NDArray::sqrt, NDArray::sqrt));
        OF_ONE.put("exp", ofOne(NDArray::exp, NDArray::exp));
        OF_ONE.put("log", ofOne(NDArray::log, NDArray::log));
        OF_ONE.put("sin", ofOne(NDArray::sin, NDArray::sin));
        OF_ONE.put("cos", ofOne(NDArray::cos, NDArray::cos));
        OF_ONE.put("tanh", ofOne(NDArray::tanh, NDArray::tanh));
        OF_ONE.put("sigmoid", ofOne(NDArray::sigmoid, NDArray::sigmoid));
        OF_ONE.put("erf", ofOne(NDArray::erf, NDArray::erf));
        OF_ONE.put("is_nan", ofOne(NDArray::isNaN, NDArray::isNaN));
        OF_ONE.put("is_infinite", ofOne(NDArray::isInfinite, NDArray::isInfinite));
        OF_ALL.put("reduce.sum", ofOne(NDArray::sum, NDArray::sum));
        OF_ALL.put("reduce.mean", ofOne(NDArray::mean, NDArray::mean));
        OF_ALL.put("reduce.max", ofOne(NDArray::max, NDArray::max));
        OF_ALL.put("reduce.min", ofOne(NDArray::min, NDArray::min));
        OF_ALL.put("reduce.prod", ofOne(NDArray::prod, NDArray::prod));
        OF_ALL.put("reduce.norm", (array, result) -> array.norm());
        OF_ALL.put("reduce.argmax", ofOne(NDArray::argMax, NDArray::argMax));
        OF_ALL.put("reduce.argmin", ofOne(NDArray::argMin, NDArray::argMin));
        OF_AXES.put("reduce.sum", ofAxes(NDArray::sum, NDArray::sum));
        OF_AXES.put("reduce.mean", ofAxes(NDArray::mean, NDArray::mean));
        OF_AXES.put("reduce.max", ofAxes(NDArray::max, NDArray::max));
        OF_AXES.put("reduce.min", ofAxes(NDArray::min, NDArray::min));
        OF_AXES.put("reduce.prod", ofAxes(NDArray::prod, NDArray::prod));
        OF_AXES.put("reduce.norm", ofAxes(NDArray::norm, NDArray::norm));
    }

    // A member in its two forms: without a result it is the one that makes it.

    private static OfTwo ofTwo(BinaryOperator<NDArray> made, OfTwo given) {
        return (a, b, result) -> result == null ? made.apply(a, b) : given.of(a, b, result);
    }

    private static BiFunction<NDArray, NDArray, NDArray> ofOne(UnaryOperator<NDArray> made, BinaryOperator<NDArray> given) {
        return (a, result) -> result == null ? made.apply(a) : given.apply(a, result);
    }

    private static OfAxes ofAxes(OfKeptAxes made, OfAxes given) {
        return (array, axes, keepDims, result) ->
                result == null ? made.of(array, axes, keepDims) : given.of(array, axes, keepDims, result);
    }

    @Test
    void givesWhatNumPyGives() throws IOException {
        int[] cases = new int[2];
        List<String> wrong = ArrayTable.read().stream()
                .filter(ArrayTableTest::hasJavasForm)
                .flatMap(one -> {
                    cases[one.isRefused() ? 1 : 0]++;
                    return (one.isRefused() ? refused(one) : computed(one)).stream();
                })
                .collect(Collectors.toList());
        assertEquals(Collections.emptyList(), wrong);
        assertTrue(cases[0] > 1200 && cases[1] > 200, () -> "the table has few cases: " + Arrays.toString(cases));
    }

    private static List<String> computed(ArrayTable.Case one) {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray[] inputs = inputs(one, manager);
            ArrayTable.Entry expected = one.results.stream().filter(result -> result != null).findFirst().get();
            List<NDArray> made = compute(one, inputs, null);
            // An array that is given may be of FLOAT32 where a new one is of 16 bits, and keep the axis of an index.
            boolean keepsIndexAxis = one.function.startsWith("reduce.arg")
                    && expected.shape.dimension() == inputs[0].getShape().dimension();
            boolean isMade = made.get(0).getDataType() == expected.type && !keepsIndexAxis;
            Stream<String> wrong = isMade ? differences(one, made) : Stream.empty();
            if (takesResult(one)) {
                NDArray result = manager.zeros(expected.shape, expected.type);
                wrong = Stream.concat(wrong, differences(one, compute(one, inputs, result)));
            }
            return wrong.collect(Collectors.toList());
        } catch (IllegalArgumentException error) {
            return Collections.singletonList(one.where + ": " + error.getMessage());
        }
    }

    private static NDArray[] inputs(ArrayTable.Case one, NDManager manager) {
        return one.inputs.stream().map(input -> input == null ? null : input.create(manager)).toArray(NDArray[]::new);
    }

    private static Stream<String> differences(ArrayTable.Case one, List<NDArray> found) {
        Stream.Builder<String> wrong = Stream.builder();
        for (int i = 0; i < found.size(); i++) {
            ArrayTable.Entry expected = one.results.get(one.results.size() - found.size() + i);
            String difference = expected == null ? "" : expected.difference(found.get(i));
            if (!difference.isEmpty()) {
                wrong.add(one.where + ": " + difference);
            }
        }
        return wrong.build();
    }

    private static List<String> refused(ArrayTable.Case one) {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray[] inputs = inputs(one, manager);
            ArrayTable.Entry entry = one.results.get(0);
            NDArray result = manager.zeros(entry.shape, entry.type);
            try {
                compute(one, inputs, result);
            } catch (IllegalArgumentException expected) {
                boolean isUnchanged = result.equals(manager.zeros(entry.shape, entry.type));
                return isUnchanged ? Collections.emptyList() : Collections.singletonList(one.where + ": changed the result");
            }
            return Collections.singletonList(one.where + ": was not refused");
        }
    }

    /** Whether Java has a member for the call. */
    private static boolean hasJavasForm(ArrayTable.Case one) {
        boolean isGiven = !one.inputs.contains(null);
        if (OF_TWO.containsKey(one.function)) {
            return isGiven && one.inputs.size() == 2;
        }
        if (OF_ONE.containsKey(one.function)) {
            return isGiven && one.inputs.size() == 1;
        }
        if (one.function.startsWith("reduce.")) {
            // Without axes all are reduced; an axis is never ignored.
            ArrayTable.Entry array = one.inputs.get(0);
            boolean isOfAll = one.results.get(0).shape.dimension() == 0 && array.shape.dimension() != 1;
            boolean isIndex = one.function.startsWith("reduce.arg");
            boolean isOneAxis = one.parameters.containsKey("axis") || one.parameters.isEmpty() && one.results.get(0).shape.dimension() == 0;
            return !(one.parameters.containsKey("axis") && isOfAll) && (!isIndex || isOneAxis);
        }
        if (one.function.equals("clip")) {
            boolean isOfNumbers = isGiven && one.inputs.stream().skip(1)
                    .allMatch(limit -> limit.shape.size() == 1 && limit.shape.dimension() < 2);
            return isOfNumbers && one.inputs.get(0).type != DataType.BOOLEAN && !one.isRefused();
        }
        if (one.function.equals("sort") || one.function.equals("top_k")) {
            // The arrays of topK and the order are new ones.
            boolean isAll = !one.results.contains(null);
            return isAll && !one.isRefused();
        }
        if (one.function.equals("concatenate")) {
            return !one.isRefused();
        }
        if (one.function.equals("rotary_embedding")) {
            return layout(one) != null;
        }
        return Arrays.asList("select", "cumulative_sum", "gather", "take", "matmul", "softmax", "log_softmax")
                .contains(one.function);
    }

    private static boolean takesResult(ArrayTable.Case one) {
        return !Arrays.asList("sort", "top_k", "concatenate").contains(one.function);
    }

    private static List<NDArray> compute(ArrayTable.Case one, NDArray[] inputs, NDArray result) {
        if (one.function.equals("sort")) {
            boolean isAscending = one.integer("descending") == 0;
            NDArray order = inputs[0].argSort(one.integer("axis"), isAscending);
            return isAscending ? Arrays.asList(inputs[0].sort(one.integer("axis")), order) : Collections.singletonList(order);
        }
        if (one.function.equals("top_k")) {
            int axis = one.integer("axis");
            Shape shape = one.results.get(0).shape;
            int k = (int) shape.get(axis < 0 ? axis + shape.dimension() : axis);
            NDList found = inputs[0].topK(k, axis, one.integer("largest") == 1);
            return Arrays.asList(found.get(0), found.get(1));
        }
        return Collections.singletonList(computeOne(one, inputs, result));
    }

    private static NDArray computeOne(ArrayTable.Case one, NDArray[] inputs, NDArray result) {
        if (OF_TWO.containsKey(one.function)) {
            return OF_TWO.get(one.function).of(inputs[0], inputs[1], result);
        }
        if (OF_ONE.containsKey(one.function)) {
            return OF_ONE.get(one.function).apply(inputs[0], result);
        }
        switch (one.function) {
            case "select":
                return result == null ? inputs[1].where(inputs[0], inputs[2]) : inputs[1].where(inputs[0], inputs[2], result);
            case "clip":
                Number min = number(inputs[1]);
                Number max = number(inputs[2]);
                return result == null ? inputs[0].clip(min, max) : inputs[0].clip(min, max, result);
            case "cumulative_sum":
                return along(one, result, NDArray::cumSum, NDArray::cumSum).apply(inputs[0]);
            case "softmax":
                return along(one, result, NDArray::softmax, NDArray::softmax).apply(inputs[0]);
            case "log_softmax":
                return along(one, result, NDArray::logSoftmax, NDArray::logSoftmax).apply(inputs[0]);
            case "matmul":
                return ofTwo(NDArray::matMul, NDArray::matMul).of(inputs[0], inputs[1], result);
            case "rotary_embedding":
                return rotated(one, inputs, result);
            case "concatenate":
                return NDArrays.concat(new NDList(inputs), one.integer("axis"));
            case "gather":
                return along(one, result, (a, axis) -> a.gather(inputs[1], axis), (a, axis, found) -> a.gather(inputs[1], axis, found))
                        .apply(inputs[0]);
            case "take":
                return along(one, result, (a, axis) -> a.take(inputs[1], axis), (a, axis, found) -> a.take(inputs[1], axis, found))
                        .apply(inputs[0]);
            default:
                return reduce(one, inputs[0], result);
        }
    }

    /** null: Java has no such layout. */
    private static RopeLayout layout(ArrayTable.Case one) {
        return Arrays.stream(RopeLayout.values())
                .filter(each -> each.code == one.integer("layout"))
                .findFirst()
                .orElse(null);
    }

    private static NDArray rotated(ArrayTable.Case one, NDArray[] inputs, NDArray result) {
        NDArray a = inputs[0];
        RopeLayout layout = layout(one);
        if (inputs[3] == null) {
            return result == null
                    ? a.rotaryEmbedding(inputs[1], inputs[2], layout)
                    : a.rotaryEmbedding(inputs[1], inputs[2], layout, result);
        }
        return result == null
                ? a.rotaryEmbedding(inputs[1], inputs[2], inputs[3], layout)
                : a.rotaryEmbedding(inputs[1], inputs[2], inputs[3], layout, result);
    }

    private static NDArray reduce(ArrayTable.Case one, NDArray array, NDArray result) {
        int rank = array.getShape().dimension();
        int resultRank = one.results.get(0).shape.dimension();
        if (one.parameters.isEmpty() && resultRank == 0) {
            return OF_ALL.get(one.function).apply(array, result);
        }
        if (one.function.startsWith("reduce.arg")) {
            boolean isMax = one.function.endsWith("max");
            return (isMax ? along(one, result, NDArray::argMax, NDArray::argMax) : along(one, result, NDArray::argMin, NDArray::argMin))
                    .apply(array);
        }
        int[] axes = IntStream.range(0, rank).toArray();
        if (one.parameters.containsKey("axis")) {
            axes = new int[] {one.integer("axis")};
        } else if (one.parameters.containsKey("axes")) {
            String text = one.parameters.get("axes");
            axes = text.equals("none") ? new int[0] : Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
        }
        return OF_AXES.get(one.function).of(array, axes, resultRank == rank, result);
    }

    /** Calls a method that takes the axis of the case, with a result array if one is given. */
    private static UnaryOperator<NDArray> along(ArrayTable.Case one, NDArray result, OfAxis made, OfAxisInto given) {
        int axis = one.integer("axis");
        return array -> result == null ? made.of(array, axis) : given.of(array, axis, result);
    }

    private static Number number(NDArray array) {
        if (array.getDataType().isFloating()) {
            return array.toType(DataType.FLOAT64, false).toDoubleArray()[0];
        }
        return array.toType(DataType.INT64, false).toLongArray()[0];
    }
}
