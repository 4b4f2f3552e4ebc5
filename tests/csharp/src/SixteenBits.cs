// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Multi-head attention in double, with the largest error of an engine that computes in 16 bits for each
/// number. Rounded to 16 bits are: Float32 inputs and parameters, each projection, the weights that multiply the
/// values, and their sum; for the returned weights also the scaled queries and the scores. Everything else is
/// Float32.</summary>
internal sealed class SixteenBits
{
    private const double FloatUnit = 1.0 / (1 << 24);

    /// <summary>The largest rounding error below Float16's normal numbers.</summary>
    private const double Tiny = 1.0 / (1 << 25);

    private readonly double unit;
    private readonly bool narrowed;

    /// <summary>Queries are (B, Q, E), keys and values (B, K, E); the block has no biases, and all its sizes are
    /// E.</summary>
    internal SixteenBits(
        MultiHeadAttention block, int numHeads, NDArray queries, NDArray keys, NDArray values, int[] lens)
    {
        narrowed = queries.DataType == DataType.Float32;
        unit = Math.ScaleB(1, queries.DataType == DataType.Float16 ? -11 : -8);
        int batch = (int)queries.Shape[0];
        int numQueries = (int)queries.Shape[1];
        int size = (int)queries.Shape[2];
        int numKeys = (int)keys.Shape[1];
        int headSize = size / numHeads;
        double scale = 1 / Math.Sqrt(headSize);
        Matrix Parameter(string name) => Given(block.Parameters[name].Array, size);
        Matrix q = Rounded(Given(queries, size).Times(Parameter("W_q.weight")));
        Matrix k = Rounded(Given(keys, size).Times(Parameter("W_k.weight")));
        Matrix v = Rounded(Given(values, size).Times(Parameter("W_v.weight")));
        var heads = new Matrix(batch * numQueries, size);
        Weights = new Matrix(batch * numHeads * numQueries, numKeys);
        for (int b = 0; b < batch; b++)
        {
            for (int h = 0; h < numHeads; h++)
            {
                Matrix keysOfHead = k.Part(b * numKeys, lens[b], h * headSize, headSize);
                Matrix valuesOfHead = v.Part(b * numKeys, lens[b], h * headSize, headSize);
                for (int i = 0; i < numQueries; i++)
                {
                    int row = (b * numQueries) + i;
                    Matrix query = q.Part(row, 1, h * headSize, headSize);
                    Matrix scores = query.Times(keysOfHead).Scaled(scale);
                    double[] shares = Softmax(scores.Values);
                    double ofFloats = (lens[b] + 32) * FloatUnit;
                    double factor = Math.Exp((2 * scores.Errors.Max()) + ofFloats) * (1 + (2 * unit));
                    Matrix ofWeights = Rounded(Rounded(query.Scaled(scale)).Times(keysOfHead));
                    double range = Math.Exp((2 * ofWeights.Errors.Max()) + ofFloats) - 1;
                    for (int j = 0; j < lens[b]; j++)
                    {
                        for (int d = 0; d < headSize; d++)
                        {
                            double value = valuesOfHead.Values[(j * headSize) + d];
                            double error = valuesOfHead.Errors[(j * headSize) + d];
                            int element = (row * size) + (h * headSize) + d;
                            heads.Values[element] += shares[j] * value;
                            heads.Errors[element] += (shares[j] * (((factor - 1) * Math.Abs(value)) + (factor * error)))
                                + (Tiny * (Math.Abs(value) + error));
                        }
                        int weight = (((((b * numHeads) + h) * numQueries) + i) * numKeys) + j;
                        Weights.Values[weight] = shares[j];
                        Weights.Errors[weight] = (shares[j] * (range + (unit * (1 + range)))) + Tiny;
                    }
                }
            }
        }
        Output = Rounded(Rounded(heads).Times(Parameter("W_o.weight")));
    }

    internal Matrix Output { get; }

    /// <summary>(B * H * Q, K)</summary>
    internal Matrix Weights { get; }

    private static double[] Softmax(double[] scores)
    {
        double largest = scores.Max();
        double[] shares = scores.Select(score => Math.Exp(score - largest)).ToArray();
        double sum = shares.Sum();
        return shares.Select(share => share / sum).ToArray();
    }

    private Matrix Given(NDArray array, int columns)
    {
        float[] elements = array.ToFloatArray();
        var matrix = new Matrix(elements.Length / columns, columns);
        for (int i = 0; i < elements.Length; i++)
        {
            matrix.Values[i] = elements[i];
            matrix.Errors[i] = narrowed ? unit * Math.Abs(elements[i]) : 0;
        }
        return matrix;
    }

    private Matrix Rounded(Matrix exact)
    {
        var matrix = new Matrix(exact.Rows, exact.Columns);
        for (int i = 0; i < exact.Values.Length; i++)
        {
            matrix.Values[i] = exact.Values[i];
            matrix.Errors[i] = exact.Errors[i] + (unit * (Math.Abs(exact.Values[i]) + exact.Errors[i])) + Tiny;
        }
        return matrix;
    }

    internal sealed class Matrix
    {
        internal Matrix(int rows, int columns)
        {
            Rows = rows;
            Columns = columns;
            Values = new double[rows * columns];
            Errors = new double[rows * columns];
        }

        internal int Rows { get; }

        internal int Columns { get; }

        internal double[] Values { get; }

        /// <summary>The bounds of their errors.</summary>
        internal double[] Errors { get; }

        /// <summary>Checks that every number is within its bound, and that the bounds are smaller than the
        /// numbers.</summary>
        internal void AssertHolds(float[] actual)
        {
            Assert.Equal(Values.Length, actual.Length);
            for (int i = 0; i < actual.Length; i++)
            {
                Assert.True(
                    Math.Abs(actual[i] - Values[i]) <= Errors[i],
                    $"{i}: {actual[i]} is not {Values[i]} +- {Errors[i]}");
            }
            Assert.InRange(Errors.Max(), 0, Values.Max(Math.Abs) / 2);
        }

        internal Matrix Part(int firstRow, int numRows, int firstColumn, int numColumns)
        {
            var part = new Matrix(numRows, numColumns);
            for (int i = 0; i < numRows; i++)
            {
                int from = ((firstRow + i) * Columns) + firstColumn;
                Array.Copy(Values, from, part.Values, i * numColumns, numColumns);
                Array.Copy(Errors, from, part.Errors, i * numColumns, numColumns);
            }
            return part;
        }

        internal Matrix Scaled(double scale)
        {
            var product = new Matrix(Rows, Columns);
            for (int i = 0; i < Values.Length; i++)
            {
                product.Values[i] = Values[i] * scale;
                product.Errors[i] = (Errors[i] * scale) + (4 * FloatUnit * Math.Abs(product.Values[i]));
            }
            return product;
        }

        /// <summary>Multiplies with the transpose of `other`, summed in Float32.</summary>
        internal Matrix Times(Matrix other)
        {
            var product = new Matrix(Rows, other.Rows);
            for (int i = 0; i < Rows; i++)
            {
                for (int j = 0; j < other.Rows; j++)
                {
                    double sum = 0;
                    double magnitude = 0;
                    double highest = 0;
                    for (int e = 0; e < Columns; e++)
                    {
                        int a = (i * Columns) + e;
                        int b = (j * Columns) + e;
                        sum += Values[a] * other.Values[b];
                        magnitude += Math.Abs(Values[a] * other.Values[b]);
                        highest += (Math.Abs(Values[a]) + Errors[a]) * (Math.Abs(other.Values[b]) + other.Errors[b]);
                    }
                    product.Values[(i * other.Rows) + j] = sum;
                    product.Errors[(i * other.Rows) + j] =
                        highest - magnitude + ((Columns + 2) * FloatUnit * highest);
                }
            }
            return product;
        }
    }
}
