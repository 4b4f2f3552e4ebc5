// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Multi-head attention in double, with the largest error of an engine that computes in 16 bits for each number. Rounded
 * to 16 bits are: FLOAT32 inputs and parameters, each projection, the weights that multiply the values, and their sum;
 * for the returned weights also the scaled queries and the scores. Everything else is FLOAT32.
 */
final class SixteenBits {
    private static final double FLOAT_UNIT = Math.scalb(1.0, -24);
    /** The largest rounding error below FLOAT16's normal numbers. */
    private static final double TINY = Math.scalb(1.0, -25);

    final double[] output;
    final double[] outputBound;
    /** (B, H, Q, K) */
    final double[] weights;
    final double[] weightsBound;

    private final double unit;
    private final boolean narrowed;

    /** Queries are (B, Q, E), keys and values (B, K, E); the block has no biases, and all its sizes are E. */
    SixteenBits(MultiHeadAttention block, int numHeads, NDArray queries, NDArray keys, NDArray values, int[] lens) {
        narrowed = queries.getDataType() == DataType.FLOAT32;
        unit = Math.scalb(1.0, queries.getDataType() == DataType.FLOAT16 ? -11 : -8);
        int batch = (int) queries.size(0);
        int numQueries = (int) queries.size(1);
        int size = (int) queries.size(2);
        int numKeys = (int) keys.size(1);
        int headSize = size / numHeads;
        double scale = 1 / Math.sqrt(headSize);
        Matrix q = rounded(given(queries, size).times(parameter(block, "W_q.weight", size)));
        Matrix k = rounded(given(keys, size).times(parameter(block, "W_k.weight", size)));
        Matrix v = rounded(given(values, size).times(parameter(block, "W_v.weight", size)));
        Matrix heads = new Matrix(batch * numQueries, size);
        weights = new double[batch * numHeads * numQueries * numKeys];
        weightsBound = new double[weights.length];
        for (int b = 0; b < batch; b++) {
            for (int h = 0; h < numHeads; h++) {
                Matrix keysOfHead = k.part(b * numKeys, lens[b], h * headSize, headSize);
                Matrix valuesOfHead = v.part(b * numKeys, lens[b], h * headSize, headSize);
                for (int i = 0; i < numQueries; i++) {
                    int row = b * numQueries + i;
                    Matrix query = q.part(row, 1, h * headSize, headSize);
                    Matrix scores = query.times(keysOfHead).scaled(scale);
                    double[] shares = softmax(scores);
                    double factor = Math.exp(2 * scores.largestError() + (lens[b] + 32) * FLOAT_UNIT) * (1 + 2 * unit);
                    for (int d = 0; d < headSize; d++) {
                        for (int j = 0; j < lens[b]; j++) {
                            double value = valuesOfHead.values[j * headSize + d];
                            double error = valuesOfHead.errors[j * headSize + d];
                            heads.values[row * size + h * headSize + d] += shares[j] * value;
                            heads.errors[row * size + h * headSize + d] += shares[j]
                                            * ((factor - 1) * Math.abs(value) + factor * error)
                                    + TINY * (Math.abs(value) + error);
                        }
                    }
                    Matrix ofWeights = rounded(rounded(query.scaled(scale)).times(keysOfHead));
                    double range = Math.expm1(2 * ofWeights.largestError() + (lens[b] + 32) * FLOAT_UNIT);
                    int first = ((b * numHeads + h) * numQueries + i) * numKeys;
                    for (int j = 0; j < lens[b]; j++) {
                        weights[first + j] = shares[j];
                        weightsBound[first + j] = shares[j] * (range + unit * (1 + range)) + TINY;
                    }
                }
            }
        }
        Matrix result = rounded(rounded(heads).times(parameter(block, "W_o.weight", size)));
        output = result.values;
        outputBound = result.errors;
    }

    /** Checks that every number is within its bound. */
    static void assertWithin(double[] expected, double[] bound, float[] actual) {
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < actual.length; i++) {
            assertEquals(expected[i], actual[i], bound[i], "element " + i);
        }
    }

    /** Checks that the bounds are smaller than the numbers, so that wrong numbers would exceed them. */
    static void assertBoundsAreSmall(double[] expected, double[] bound) {
        double largest = Arrays.stream(expected).map(Math::abs).max().orElseThrow();
        double widest = Arrays.stream(bound).max().orElseThrow();
        assertTrue(widest < largest / 2, "bounds up to " + widest + " on numbers up to " + largest);
    }

    private Matrix given(NDArray array, int columns) {
        float[] elements = array.toFloatArray();
        Matrix matrix = new Matrix(elements.length / columns, columns);
        for (int i = 0; i < elements.length; i++) {
            matrix.values[i] = elements[i];
            matrix.errors[i] = narrowed ? unit * Math.abs(elements[i]) : 0;
        }
        return matrix;
    }

    private Matrix parameter(MultiHeadAttention block, String name, int columns) {
        return given(block.getParameters().get(name).getArray(), columns);
    }

    private Matrix rounded(Matrix exact) {
        Matrix matrix = new Matrix(exact.rows, exact.columns);
        for (int i = 0; i < exact.values.length; i++) {
            matrix.values[i] = exact.values[i];
            matrix.errors[i] = exact.errors[i] + unit * (Math.abs(exact.values[i]) + exact.errors[i]) + TINY;
        }
        return matrix;
    }

    private static double[] softmax(Matrix scores) {
        double largest = IntStream.range(0, scores.columns)
                .mapToDouble(j -> scores.values[j])
                .max()
                .orElseThrow();
        double[] shares = new double[scores.columns];
        double sum = 0;
        for (int j = 0; j < shares.length; j++) {
            shares[j] = Math.exp(scores.values[j] - largest);
            sum += shares[j];
        }
        for (int j = 0; j < shares.length; j++) {
            shares[j] /= sum;
        }
        return shares;
    }

    private static final class Matrix {
        final int rows;
        final int columns;
        final double[] values;
        final double[] errors;

        Matrix(int rows, int columns) {
            this.rows = rows;
            this.columns = columns;
            values = new double[rows * columns];
            errors = new double[rows * columns];
        }

        Matrix part(int firstRow, int numRows, int firstColumn, int numColumns) {
            Matrix part = new Matrix(numRows, numColumns);
            for (int i = 0; i < numRows; i++) {
                int from = (firstRow + i) * columns + firstColumn;
                System.arraycopy(values, from, part.values, i * numColumns, numColumns);
                System.arraycopy(errors, from, part.errors, i * numColumns, numColumns);
            }
            return part;
        }

        Matrix scaled(double scale) {
            Matrix product = new Matrix(rows, columns);
            for (int i = 0; i < values.length; i++) {
                product.values[i] = values[i] * scale;
                product.errors[i] = errors[i] * scale + 4 * FLOAT_UNIT * Math.abs(product.values[i]);
            }
            return product;
        }

        /** Multiplies with the transpose of `other`, summed in FLOAT32. */
        Matrix times(Matrix other) {
            Matrix product = new Matrix(rows, other.rows);
            for (int i = 0; i < rows; i++) {
                for (int j = 0; j < other.rows; j++) {
                    double sum = 0;
                    double magnitude = 0;
                    double highest = 0;
                    for (int e = 0; e < columns; e++) {
                        int a = i * columns + e;
                        int b = j * columns + e;
                        sum += values[a] * other.values[b];
                        magnitude += Math.abs(values[a] * other.values[b]);
                        highest += (Math.abs(values[a]) + errors[a]) * (Math.abs(other.values[b]) + other.errors[b]);
                    }
                    product.values[i * other.rows + j] = sum;
                    product.errors[i * other.rows + j] =
                            highest - magnitude + (columns + 2) * FLOAT_UNIT * highest;
                }
            }
            return product;
        }

        double largestError() {
            return IntStream.range(0, errors.length)
                    .mapToDouble(i -> errors[i])
                    .max()
                    .orElse(0);
        }
    }
}
