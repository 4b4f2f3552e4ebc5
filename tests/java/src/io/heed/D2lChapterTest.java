// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Function;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the cells of d2l-java's chapter on attention call, with their types and shapes, in programs of our own. */
class D2lChapterTest {
    private static final int NUM_POINTS = 50;

    private NDManager manager;
    private ParameterStore ps;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
        ps = new ParameterStore(manager, false);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    // ---- attention cues ----

    @Test
    void heatMapsReadOneRowAfterAnother() {
        NDArray maps = manager.eye(10).reshape(new Shape(1, 1, 10, 10));
        NDArray map = maps.get(0).get(0);
        assertEquals(new Shape(10, 10), map.getShape());
        for (int i = 0; i < map.getShape().get(0); i++) {
            float[] expected = new float[10];
            expected[i] = 1;
            assertArrayEquals(expected, map.get(i).toFloatArray());
        }
    }

    // ---- kernel regression ----

    /** Training points, in order, and noisy values of a function there. */
    private NDArray sortedPoints() {
        NDArray points = manager.randomUniform(0, 1, new Shape(NUM_POINTS)).mul(5).sort();
        float[] numbers = points.toFloatArray();
        for (int i = 1; i < numbers.length; i++) {
            assertTrue(numbers[i - 1] <= numbers[i] && numbers[i - 1] >= 0 && numbers[i] < 5);
        }
        return points;
    }

    @Test
    void aFunctionOfArraysIsThatOfTheirElements() {
        Function<NDArray, NDArray> function = x -> x.sin().mul(2).add(x.pow(0.8));
        NDArray x = manager.arange(0f, 5f, 0.1f);
        assertEquals(new Shape(NUM_POINTS), x.getShape());
        float[] points = x.toFloatArray();
        float[] values = function.apply(x).toFloatArray();
        for (int i = 0; i < NUM_POINTS; i++) {
            double expected = 2 * Math.sin(points[i]) + Math.pow(points[i], 0.8);
            // The errors of the functions are units in the last place of summands below 4, that of the sum half a unit.
            assertEquals(expected, values[i], 5 * Math.ulp(4f));
        }

        NDArray noise = manager.randomNormal(0f, 0.5f, new Shape(NUM_POINTS), DataType.FLOAT32);
        NDArray noisy = function.apply(x).add(noise);
        assertTrue(noisy.sub(function.apply(x)).allClose(noise, 0, 4 * Math.ulp(4f), false));
    }

    @Test
    void theMeanIsRepeatedForEachPoint() {
        NDArray y = manager.randomNormal(0f, 0.5f, new Shape(NUM_POINTS), DataType.FLOAT32);
        NDArray mean = y.mean();
        assertEquals(new Shape(), mean.getShape());
        NDArray estimate = mean.tile(NUM_POINTS);
        assertEquals(new Shape(NUM_POINTS), estimate.getShape());
        double sum = 0;
        for (float number : y.toFloatArray()) {
            sum += number;
        }
        for (float number : estimate.toFloatArray()) {
            assertEquals(mean.getFloat(), number);
            assertEquals(sum / NUM_POINTS, number, 1e-6);
        }
    }

    /** Weights of a Gaussian kernel without and with the width of a parameter, by loops in double. */
    private static double[][] kernel(float[] queries, float[] keys, double width) {
        double[][] weights = new double[queries.length][keys.length];
        for (int i = 0; i < queries.length; i++) {
            double sum = 0;
            for (int j = 0; j < keys.length; j++) {
                weights[i][j] = Math.exp(-Math.pow((queries[i] - keys[j]) * width, 2) / 2);
                sum += weights[i][j];
            }
            for (int j = 0; j < keys.length; j++) {
                weights[i][j] /= sum;
            }
        }
        return weights;
    }

    private static double[] average(double[][] weights, float[] values) {
        double[] averages = new double[weights.length];
        for (int i = 0; i < weights.length; i++) {
            for (int j = 0; j < values.length; j++) {
                averages[i] += weights[i][j] * values[j];
            }
        }
        return averages;
    }

    private static void assertClose(double[] expected, NDArray actual) {
        float[] numbers = actual.toFloatArray();
        assertEquals(expected.length, numbers.length);
        for (int i = 0; i < numbers.length; i++) {
            assertEquals(expected[i], numbers[i], 1e-5);
        }
    }

    @Test
    void kernelRegressionAveragesTheValuesOfNearPoints() {
        NDArray keys = sortedPoints();
        NDArray values = keys.cos();
        NDArray queries = manager.arange(0f, 5f, 0.1f);
        NDArray repeated = queries.repeat(NUM_POINTS).reshape(new Shape(-1, NUM_POINTS));
        assertEquals(queries.getFloat(3), repeated.getFloat(3, 49));
        NDArray weights = repeated.sub(keys).pow(2).div(2).mul(-1).softmax(-1);
        assertEquals(new Shape(NUM_POINTS, NUM_POINTS), weights.getShape());
        assertEquals(new Shape(1, 1, NUM_POINTS, NUM_POINTS), weights.expandDims(0).expandDims(0).getShape());
        NDArray estimate = weights.dot(values);
        double[][] expected = kernel(queries.toFloatArray(), keys.toFloatArray(), 1);
        assertClose(expected[7], weights.get(7));
        assertClose(average(expected, values.toFloatArray()), estimate);
    }

    @Test
    void batchesMultiplyOneByOne() {
        NDArray product = manager.ones(new Shape(2, 1, 4)).batchDot(manager.ones(new Shape(2, 4, 6)));
        assertEquals(new Shape(2, 1, 6), product.getShape());
        NDArray weights = manager.ones(new Shape(2, 10)).mul(0.1);
        NDArray values = manager.arange(20f).reshape(new Shape(2, 10));
        NDArray means = weights.expandDims(1).batchDot(values.expandDims(-1));
        assertEquals(new Shape(2, 1, 1), means.getShape());
        assertArrayEquals(new float[] {4.5f, 14.5f}, means.toFloatArray(), 1e-5f);
    }

    /** The kernel's width is a parameter of one element. */
    private static final class KernelRegression extends AbstractBlock {
        private final Parameter width = addParameter(Parameter.builder()
                .setName("width")
                .optShape(new Shape(1))
                .optInitializer(new UniformInitializer())
                .build());
        private NDArray weights;

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray keys = inputs.get(1);
            long numKeys = keys.getShape().get(1);
            NDArray queries = inputs.head().repeat(numKeys).reshape(new Shape(-1, numKeys));
            weights = queries.sub(keys).mul(width.getArray()).pow(2).div(2).mul(-1).softmax(-1);
            return new NDList(
                    weights.expandDims(1).batchDot(inputs.get(2).expandDims(-1)).reshape(-1));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] shapes) {
            return new Shape[] {shapes[0]};
        }
    }

    @Test
    void aRegressionWithAWidthOfItsOwnAveragesEachRow() {
        NDArray points = sortedPoints();
        NDArray values = points.sin();
        // Each query has the same keys and values, those of a row.
        NDArray keyRows = points.tile(new long[] {NUM_POINTS, 1});
        NDArray valueRows = values.tile(new long[] {NUM_POINTS, 1});
        assertEquals(new Shape(NUM_POINTS, NUM_POINTS), keyRows.getShape());
        assertArrayEquals(points.toFloatArray(), keyRows.get(31).toFloatArray());
        try (KernelRegression net = new KernelRegression()) {
            NDList inputs = new NDList(points, keyRows, valueRows);
            net.initialize(manager, DataType.FLOAT32, inputs.getShapes());
            net.width.setArray(manager.create(new float[] {3}));
            NDArray estimate = net.forward(ps, inputs, true).get(0);
            assertEquals(new Shape(NUM_POINTS), estimate.getShape());
            double[][] expected = kernel(points.toFloatArray(), points.toFloatArray(), 3);
            assertClose(expected[20], net.weights.get(20));
            assertClose(average(expected, values.toFloatArray()), estimate);
        }
    }

    @Test
    void aMaskLeavesOutEachPointItself() {
        NDArray points = sortedPoints();
        NDArray isAnother = manager.eye(NUM_POINTS).mul(-1).add(1);
        NDArray rows = points.tile(new long[] {NUM_POINTS, 1});
        NDArray others = rows.get(new NDIndex().addBooleanIndex(isAnother)).reshape(new Shape(NUM_POINTS, -1));
        assertEquals(new Shape(NUM_POINTS, NUM_POINTS - 1), others.getShape());
        for (int i = 0; i < NUM_POINTS; i++) {
            NDList parts = new NDList(points.get(":{}", i), points.get("{}:", i + 1));
            assertArrayEquals(NDArrays.concat(parts).toFloatArray(), others.get(i).toFloatArray());
        }
    }

    // ---- scoring functions ----

    /** A softmax of the first elements of each row: as many as its length says. */
    private static NDArray softmaxOfFirst(NDArray scores, NDArray lengths) {
        Shape shape = scores.getShape();
        boolean isOnePerBatch = lengths.getShape().dimension() == 1;
        NDArray ofRows = isOnePerBatch ? lengths.repeat(shape.get(1)) : lengths.reshape(-1);
        NDArray rows = scores.reshape(new Shape(-1, shape.get(shape.dimension() - 1)));
        return rows.sequenceMask(ofRows, (float) -1E6).softmax(-1).reshape(shape);
    }

    @Test
    void sequenceMaskHidesWhatMaskedSoftmaxHides() {
        NDArray scores = manager.randomUniform(0, 1, new Shape(2, 2, 4));
        for (NDArray lengths : new NDArray[] {
            manager.create(new float[] {2, 3}), manager.create(new float[][] {{1, 3}, {2, 4}})
        }) {
            NDArray result = softmaxOfFirst(scores, lengths);
            NDArray expected = Chap10Utils.maskedSoftmax(scores, lengths);
            assertEquals(scores.getShape(), result.getShape());
            assertTrue(result.allClose(expected, 0, 2 * Math.ulp(1f), false));
            assertArrayEquals(result.eq(0).toBooleanArray(), expected.eq(0).toBooleanArray());
        }
    }

    /** Additive attention out of linear layers and arithmetic. */
    private static final class AdditiveScores extends AbstractBlock {
        private final Linear ofQueries;
        private final Linear ofKeys;
        private final Linear ofSums;
        private final Dropout dropout;
        private NDArray weights;

        AdditiveScores(int numHiddens, float rate) {
            ofQueries = addChildBlock("W_q", linear(numHiddens));
            ofKeys = addChildBlock("W_k", linear(numHiddens));
            ofSums = addChildBlock("w_v", linear(1));
            dropout = addChildBlock("dropout", Dropout.builder().optRate(rate).build());
        }

        private static Linear linear(int units) {
            return Linear.builder().setUnits(units).optBias(false).build();
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray queries =
                    ofQueries.forward(store, new NDList(inputs.get(0)), training, params).head();
            NDArray keys =
                    ofKeys.forward(store, new NDList(inputs.get(1)), training, params).head();
            // (batch, queries, 1, hidden) and (batch, 1, keys, hidden).
            NDArray sums = queries.expandDims(2).add(keys.expandDims(1)).tanh();
            NDArray scores =
                    ofSums.forward(store, new NDList(sums), training, params).head().squeeze(-1);
            weights = softmaxOfFirst(scores, inputs.get(3));
            NDArray kept = dropout.forward(store, new NDList(weights), training, params).head();
            return new NDList(kept.batchDot(inputs.get(2)));
        }

        @Override
        protected void initializeChildBlocks(NDManager owner, DataType dataType, Shape... shapes) {
            ofQueries.initialize(owner, dataType, shapes[0]);
            ofKeys.initialize(owner, dataType, shapes[1]);
            long[] queries = ofQueries.getOutputShapes(new Shape[] {shapes[0]})[0].getShape();
            long[] keys = ofKeys.getOutputShapes(new Shape[] {shapes[1]})[0].getShape();
            ofSums.initialize(owner, dataType, new Shape(queries[0], queries[1], keys[1], keys[2]));
            dropout.initialize(owner, dataType, new Shape(queries[0], queries[1], keys[1]));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] shapes) {
            return new Shape[] {shapes[0].slice(0, 2).addAll(shapes[2].slice(2))};
        }
    }

    @Test
    void additiveScoresOfArithmeticAreAdditiveAttention() {
        NDArray queries = manager.randomNormal(0, 1, new Shape(2, 1, 20), DataType.FLOAT32);
        NDArray keys = manager.randomNormal(0, 1, new Shape(2, 10, 2), DataType.FLOAT32);
        NDArray values = manager.arange(40f).reshape(1, 10, 4).repeat(0, 2);
        NDList inputs = new NDList(queries, keys, values, manager.create(new float[] {2, 6}));
        try (AdditiveScores composed = new AdditiveScores(8, 0.1f);
                AdditiveAttention whole = new AdditiveAttention(8, 0.1f)) {
            composed.initialize(manager, DataType.FLOAT32, inputs.getShapes());
            whole.initialize(manager, DataType.FLOAT32, inputs.getShapes());
            for (String name : new String[] {"W_q", "W_k", "w_v"}) {
                NDArray weight = composed.getChildren().stream()
                        .filter(child -> child.getKey().endsWith(name))
                        .map(child -> child.getValue().getParameters().get("weight").getArray())
                        .findAny()
                        .orElseThrow();
                whole.getParameters().get(name + ".weight").setArray(weight);
            }
            NDArray result = composed.forward(ps, inputs, false).head();
            assertTrue(result.allClose(whole.forward(ps, inputs, false).head(), 1e-5, 1e-5, false));
            assertEquals(new Shape(1, 1, 2, 10), composed.weights.reshape(1, 1, 2, 10).getShape());
            assertTrue(composed.weights.allClose(whole.attentionWeights, 1e-5, 1e-6, false));
            assertEquals(new Shape(2, 1, 4), composed.getOutputShapes(inputs.getShapes())[0]);
        }
    }

    @Test
    void scaledProductsAreDotProductAttention() {
        NDArray queries = manager.randomNormal(0, 1, new Shape(2, 1, 2), DataType.FLOAT32);
        NDArray keys = manager.randomNormal(0, 1, new Shape(2, 10, 2), DataType.FLOAT32);
        NDArray values = manager.arange(40f).reshape(1, 10, 4).repeat(0, 2);
        NDArray lengths = manager.create(new float[] {2, 6});
        Long size = queries.getShape().get(queries.getShape().dimension() - 1);
        NDArray scores = queries.batchDot(keys.swapAxes(1, 2)).div(Math.sqrt(size));
        NDArray weights = softmaxOfFirst(scores, lengths);
        try (DotProductAttention whole = new DotProductAttention(0.5f)) {
            NDArray expected = whole.forward(ps, new NDList(queries, keys, values, lengths), false).head();
            assertTrue(weights.batchDot(values).allClose(expected, 1e-5, 1e-5, false));
            assertTrue(weights.allClose(whole.attentionWeights, 1e-5, 1e-6, false));
        }
    }

    // ---- multi-head attention ----

    private static NDArray heads(NDArray x, int numHeads) {
        NDArray split = x.reshape(x.getShape().get(0), x.getShape().get(1), numHeads, -1).transpose(0, 2, 1, 3);
        return split.reshape(-1, split.getShape().get(2), split.getShape().get(3));
    }

    private static NDArray joined(NDArray heads, int numHeads) {
        NDArray split = heads.reshape(-1, numHeads, heads.getShape().get(1), heads.getShape().get(2));
        NDArray rows = split.transpose(0, 2, 1, 3);
        return rows.reshape(rows.getShape().get(0), rows.getShape().get(1), -1);
    }

    @Test
    void headsInTheBatchAreMultiHeadAttention() {
        NDArray x = manager.randomNormal(0, 1, new Shape(2, 4, 100), DataType.FLOAT32);
        NDArray y = manager.randomNormal(0, 1, new Shape(2, 6, 100), DataType.FLOAT32);
        NDArray lengths = manager.create(new float[] {3, 2});
        NDList inputs = new NDList(x, y, y, lengths);
        try (MultiHeadAttention whole = new MultiHeadAttention(100, 5, 0.5f, false)) {
            whole.initialize(manager, DataType.FLOAT32, inputs.getShapes());
            NDArray[] projected = new NDArray[3];
            for (int i = 0; i < 3; i++) {
                projected[i] = heads(inputs.get(i).matMul(weight(whole, "W_" + "qkv".charAt(i))), 5);
            }
            assertEquals(new Shape(10, 6, 20), projected[1].getShape());
            NDArray scores = projected[0].batchDot(projected[1].swapAxes(1, 2)).div(Math.sqrt(20));
            NDArray weights = softmaxOfFirst(scores, lengths.repeat(0, 5));
            NDArray output = joined(weights.batchDot(projected[2]), 5).matMul(weight(whole, "W_o"));
            assertEquals(new Shape(2, 4, 100), output.getShape());
            NDArray expected = whole.forward(ps, inputs, false).get(0);
            assertTrue(output.allClose(expected, 1e-4, 1e-5, false));
            assertTrue(weights.allClose(whole.attention.attentionWeights, 1e-4, 1e-6, false));
        }
    }

    /** A projection's weight as a matrix that rows are multiplied by. */
    private static NDArray weight(MultiHeadAttention attention, String name) {
        return attention.getParameters().get(name + ".weight").getArray().transpose();
    }

    // ---- positions ----

    @Test
    void sinusoidsWrittenByTheirColumnsAreThePositionalEncoding() {
        int numHiddens = 32;
        int maxLen = 1000;
        NDArray table = manager.zeros(new Shape(1, maxLen, numHiddens));
        NDArray exponents = manager.arange(0f, numHiddens, 2f).div(numHiddens);
        NDArray angles = manager.arange(maxLen)
                .reshape(-1, 1)
                .div(manager.create(10000).pow(exponents));
        assertEquals(DataType.FLOAT32, angles.getDataType());
        assertEquals(new Shape(maxLen, numHiddens / 2), angles.getShape());
        table.set(new NDIndex(":, :, {}::{}", 0, 2), angles.sin());
        table.set(new NDIndex(":, :, {}::{}", 1, 2), angles.cos());

        try (PositionalEncoding encoding = new PositionalEncoding(numHiddens, 0, maxLen, manager)) {
            // An angle below 1000 of three roundings in FLOAT32, beside one in double.
            assertTrue(table.allClose(encoding.P, 0, 3 * Math.ulp(1000f), false));
            NDArray x = manager.randomNormal(new Shape(1, 60, numHiddens));
            NDArray sum = x.add(table.get(":, :{}, :", x.getShape().get(1)));
            NDArray expected = encoding.forward(ps, new NDList(x), false).get(0);
            assertTrue(sum.allClose(expected, 0, 3 * Math.ulp(60f), false));
        }

        NDArray shown = table.get(new NDIndex(":, :{}, :", 60));
        assertEquals(new Shape(1, 60, numHiddens), shown.getShape());
        float[] column = shown.get(new NDIndex("0, :, {},", 6)).toFloatArray();
        double[] rows = manager.arange(60).toType(DataType.FLOAT64, false).toDoubleArray();
        assertEquals(60, column.length);
        for (int i = 0; i < 60; i++) {
            assertEquals(i, rows[i]);
            assertEquals(Math.sin(rows[i] / Math.pow(10000, 6.0 / numHiddens)), column[i], 3 * Math.ulp(60f));
        }
        assertEquals(
                new Shape(1, 1, 60, numHiddens),
                shown.get(new NDIndex("0, :, :")).expandDims(0).expandDims(0).getShape());
    }

    // ---- chapters that d2l-java does not have ----

    @Test
    void aGruCellIsTwoLinearLayersAndArithmetic() {
        int numHiddens = 3;
        NDArray x = manager.randomNormal(new Shape(2, 5));
        NDArray state = manager.randomNormal(new Shape(2, numHiddens));
        try (Linear ofInput = Linear.builder().setUnits(3 * numHiddens).build();
                Linear ofState = Linear.builder().setUnits(3 * numHiddens).build()) {
            for (Linear linear : new Linear[] {ofInput, ofState}) {
                linear.setInitializer(new NormalInitializer(0.5f), Parameter.Type.BIAS);
            }
            ofInput.initialize(manager, DataType.FLOAT32, x.getShape());
            ofState.initialize(manager, DataType.FLOAT32, state.getShape());
            NDList ofX = ofInput.forward(x).head().split(3, -1);
            NDList ofH = ofState.forward(state).head().split(3, -1);
            NDArray reset = ofX.get(0).add(ofH.get(0)).sigmoid();
            NDArray update = ofX.get(1).add(ofH.get(1)).sigmoid();
            NDArray candidate = ofX.get(2).add(reset.mul(ofH.get(2))).tanh();
            NDArray next = candidate.add(update.mul(state.sub(candidate)));

            for (int i = 0; i < 2; i++) {
                double[] a = linear(ofInput, x.get(i));
                double[] b = linear(ofState, state.get(i));
                for (int j = 0; j < numHiddens; j++) {
                    double r = 1 / (1 + Math.exp(-a[j] - b[j]));
                    double z = 1 / (1 + Math.exp(-a[numHiddens + j] - b[numHiddens + j]));
                    double n = Math.tanh(a[2 * numHiddens + j] + r * b[2 * numHiddens + j]);
                    assertEquals((1 - z) * n + z * state.getFloat(i, j), next.getFloat(i, j), 1e-5);
                }
            }
        }
    }

    /** A linear layer of one row, in double. */
    private static double[] linear(Linear layer, NDArray row) {
        NDArray weight = layer.getParameters().get("weight").getArray();
        double[] result = layer.getParameters().get("bias").getArray().toType(DataType.FLOAT64, false).toDoubleArray();
        for (int i = 0; i < result.length; i++) {
            for (int j = 0; j < row.size(0); j++) {
                result[i] += (double) weight.getFloat(i, j) * row.getFloat(j);
            }
        }
        return result;
    }
}
