// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Losses and their gradients: the numbers of docs/semantics.md, C's bits, central differences, and what is refused. */
class LossTest {
    private static final long[] CLASSES = {1, 4, 0, 2, 3, 2};
    private static final long[] LENGTHS = {3, 1};
    private static final Shape SHAPE = new Shape(2, 3, 5);

    private NDManager manager;
    private NDArray logits;
    private NDArray labels;
    private NDArray lengths;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
        float[] numbers = new float[30];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) (2 * Math.sin(0.3 + 0.9 * i));
        }
        logits = manager.create(numbers, SHAPE);
        labels = manager.create(CLASSES, new Shape(2, 3));
        lengths = manager.create(LENGTHS);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** The gradient of what is computed from an array. */
    private NDArray gradient(NDArray of, Function<NDArray, NDArray> computation) {
        NDArray leaf = of.duplicate();
        leaf.setRequiresGradient(true);
        try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
            collector.backward(computation.apply(leaf));
        }
        return leaf.getGradient();
    }

    private static NDArray of(Loss loss, NDArray labels, NDArray predictions) {
        return loss.evaluate(new NDList(labels), new NDList(predictions));
    }

    private NDArray masked(Loss loss, NDArray labels, NDArray predictions) {
        return loss.evaluate(new NDList(labels, lengths), new NDList(predictions));
    }

    private static void assertClose(NDArray expected, NDArray actual, double tolerance) {
        assertEquals(expected.getShape(), actual.getShape());
        assertArrayEquals(expected.toFloatArray(), actual.toFloatArray(), (float) tolerance);
    }

    /** The cross-entropy of a row, in double. */
    private static double row(double[] numbers, int row) {
        double sum = 0;
        for (int c = 0; c < 5; c++) {
            sum += Math.exp(numbers[row * 5 + c]);
        }
        return Math.log(sum) - numbers[row * 5 + (int) CLASSES[row]];
    }

    private void assertDifferences(NDArray gradient, ToDoubleFunction<double[]> loss) {
        float[] elements = logits.toFloatArray();
        double[] numbers = new double[elements.length];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = elements[i];
        }
        float[] actual = gradient.toFloatArray();
        for (int i = 0; i < numbers.length; i++) {
            double before = numbers[i];
            numbers[i] = before + 1e-5;
            double above = loss.applyAsDouble(numbers);
            numbers[i] = before - 1e-5;
            double below = loss.applyAsDouble(numbers);
            numbers[i] = before;
            assertEquals((above - below) / 2e-5, actual[i], 1e-6, "element " + i);
        }
    }

    @Test
    void hasTheNumbersOfThePage() {
        NDArray rows = logits.reshape(6, 5).get("0:3");
        NDArray three = manager.create(new long[] {1, 4, 0});
        NDArray loss = of(Loss.softmaxCrossEntropyLoss(), three, rows);
        assertEquals(new Shape(), loss.getShape());
        assertEquals(0.9837961f, loss.getFloat(), 1e-6f);
        NDArray items = masked(Loss.maskedSoftmaxCrossEntropyLoss(), labels, logits);
        assertArrayEquals(new float[] {0.9837961f, 0.7993713f}, items.toFloatArray(), 1e-6f);
    }

    @Test
    void gradientsAreDifferences() {
        assertDifferences(gradient(logits, x -> of(Loss.softmaxCrossEntropyLoss(), labels, x)), z -> {
            double sum = 0;
            for (int r = 0; r < 6; r++) {
                sum += row(z, r);
            }
            return sum / 6;
        });
        assertDifferences(
                gradient(logits, x -> masked(Loss.maskedSoftmaxCrossEntropyLoss(), labels, x)),
                z -> (row(z, 0) + row(z, 1) + row(z, 2) + row(z, 3)) / 3);
        NDArray factors = manager.create(new float[] {2, -3});
        assertDifferences(
                gradient(logits, x -> masked(Loss.maskedSoftmaxCrossEntropyLoss(), labels, x).mul(factors)),
                z -> (2 * (row(z, 0) + row(z, 1) + row(z, 2)) - 3 * row(z, 3)) / 3);
    }

    @Test
    void gradientsHaveTheBitsOfC() {
        try (NativeCrossEntropyOptions options = new NativeCrossEntropyOptions();
                NDArray expected = manager.zeros(SHAPE)) {
            double total = HeedNative.heed_cross_entropy(
                    logits.tensor(), labels.tensor(), null, options, null, expected.tensor());
            assertEquals((float) total, of(Loss.softmaxCrossEntropyLoss(), labels, logits).getFloat());
            assertEquals(expected, gradient(logits, x -> of(Loss.softmaxCrossEntropyLoss(), labels, x)));
            total = HeedNative.heed_cross_entropy(
                    logits.tensor(), labels.tensor(), lengths.tensor(), options, null, expected.tensor());
            assertEquals((float) total, masked(Loss.softmaxCrossEntropyLoss(), labels, logits).getFloat());
            assertEquals(expected, gradient(logits, x -> masked(Loss.softmaxCrossEntropyLoss(), labels, x)));
            options.setReduction(2);
            HeedNative.heed_cross_entropy(
                    logits.tensor(), labels.tensor(), lengths.tensor(), options, null, expected.tensor());
            assertEquals(
                    expected, gradient(logits, x -> masked(Loss.maskedSoftmaxCrossEntropyLoss(), labels, x).sum()));
        }
    }

    @Test
    void otherArgumentsGiveTheSame() {
        NDArray dense = labels.oneHot(5);
        NDArray turned = logits.transpose(0, 2, 1);
        Loss plain = Loss.softmaxCrossEntropyLoss();
        NDArray loss = of(plain, labels, logits);
        NDArray gradient = gradient(logits, x -> of(plain, labels, x));
        Loss axis = Loss.softmaxCrossEntropyLoss("axis", 1, 1, true, true);
        assertEquals(loss, of(axis, labels, turned));
        assertEquals(gradient, gradient(turned, x -> of(axis, labels, x)).transpose(0, 2, 1));
        Loss probabilities = Loss.softmaxCrossEntropyLoss("dense", 1, -1, false, true);
        assertClose(loss, of(probabilities, dense, logits), 1e-6);
        assertClose(gradient, gradient(logits, x -> of(probabilities, dense, x)), 1e-6);
        Loss logarithms = Loss.softmaxCrossEntropyLoss("logarithms", 1, -1, true, false);
        assertClose(loss, of(logarithms, labels, logits.logSoftmax(-1)), 1e-6);
        assertClose(gradient, gradient(logits, x -> of(logarithms, labels, x.logSoftmax(-1))), 1e-6);
        Loss weighted = Loss.softmaxCrossEntropyLoss("weighted", 0.25f, -1, true, true);
        assertEquals(loss.getFloat() / 4, of(weighted, labels, logits).getFloat(), 1e-7f);
        assertEquals(gradient.mul(0.25f), gradient(logits, x -> of(weighted, labels, x)));
    }

    @Test
    void otherArgumentsWithLengthsGiveTheSame() {
        NDArray loss = masked(Loss.softmaxCrossEntropyLoss(), labels, logits);
        NDArray gradient = gradient(logits, x -> masked(Loss.softmaxCrossEntropyLoss(), labels, x));
        Loss axis = Loss.softmaxCrossEntropyLoss("axis", 1, 1, true, true);
        assertEquals(loss, masked(axis, labels, logits.transpose(0, 2, 1)));
        Loss probabilities = Loss.softmaxCrossEntropyLoss("dense", 1, -1, false, true);
        assertClose(loss, masked(probabilities, labels.oneHot(5), logits), 1e-6);
        assertClose(gradient, gradient(logits, x -> masked(probabilities, labels.oneHot(5), x)), 1e-6);
        lengths = manager.create(new long[] {0, 0});
        assertEquals(0, masked(Loss.softmaxCrossEntropyLoss(), labels, logits).getFloat());
        assertEquals(0, masked(probabilities, labels.oneHot(5), logits).getFloat());
        Loss plain = Loss.softmaxCrossEntropyLoss();
        NDArray rows = logits.reshape(6, 5);
        String said = assertThrows(
                        IllegalArgumentException.class, () -> masked(plain, labels.reshape(6), rows))
                .getMessage();
        assertEquals(
                "predictions have the shape (6, 5) with the classAxis -1, expected three axes beside lengths: items, steps"
                        + " and classes",
                said);
    }

    @Test
    void otherArgumentsOfTheMaskedLossGiveTheSame() {
        NDArray dense = labels.oneHot(5);
        NDArray turned = logits.transpose(0, 2, 1);
        Loss plain = Loss.maskedSoftmaxCrossEntropyLoss();
        NDArray loss = masked(plain, labels, logits);
        NDArray gradient = gradient(logits, x -> masked(plain, labels, x));
        Loss axis = Loss.maskedSoftmaxCrossEntropyLoss("axis", 1, 1, true, true);
        assertEquals(loss, masked(axis, labels, turned));
        assertEquals(gradient, gradient(turned, x -> masked(axis, labels, x)).transpose(0, 2, 1));
        Loss probabilities = Loss.maskedSoftmaxCrossEntropyLoss("dense", 1, -1, false, true);
        assertClose(loss, masked(probabilities, dense, logits), 1e-6);
        assertClose(gradient, gradient(logits, x -> masked(probabilities, dense, x)), 1e-6);
        Loss logarithms = Loss.maskedSoftmaxCrossEntropyLoss("logarithms", 0.5f, -1, true, false);
        assertClose(loss.mul(0.5f), masked(logarithms, labels, logits.logSoftmax(-1)), 1e-6);
        assertClose(gradient.mul(0.5f), gradient(logits, x -> masked(logarithms, labels, x.logSoftmax(-1))), 1e-6);
        Loss weighted = Loss.maskedSoftmaxCrossEntropyLoss("weighted", 0.25f, -1, true, true);
        assertEquals(loss.mul(0.25f), masked(weighted, labels, logits));
        assertEquals(gradient.mul(0.25f), gradient(logits, x -> masked(weighted, labels, x)));
    }

    /** As d2l-java writes its loss of sequences. */
    private static final class MaskedSoftmaxCELoss extends SoftmaxCrossEntropyLoss {
        @Override
        public NDArray evaluate(NDList labels, NDList predictions) {
            NDArray ones = labels.head().getManager().ones(labels.head().getShape());
            NDArray weights = ones.expandDims(-1).sequenceMask(labels.get(1));
            NDList alone = new NDList(labels.head());
            return super.evaluate(alone, predictions).mul(weights).mean(new int[] {1});
        }
    }

    @Test
    void aProgramMayExtendALoss() {
        NDArray whole = labels.toType(DataType.FLOAT32, false);
        NDArray loss = masked(new MaskedSoftmaxCELoss(), whole, logits);
        float mean = of(Loss.softmaxCrossEntropyLoss(), labels, logits).getFloat();
        assertArrayEquals(new float[] {mean, mean / 3}, loss.toFloatArray(), 1e-6f);
        // The sum of the weights' means is 4 / 3.
        NDArray expected = gradient(logits, x -> of(Loss.softmaxCrossEntropyLoss(), labels, x)).mul(4 / 3f);
        assertClose(expected, gradient(logits, x -> masked(new MaskedSoftmaxCELoss(), whole, x)), 1e-6);
    }

    @Test
    void labelsAreWholeNumbersOfAnyType() {
        Loss loss = Loss.softmaxCrossEntropyLoss();
        NDArray expected = of(loss, labels, logits);
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.INT32, DataType.UINT8}) {
            assertEquals(expected, of(loss, labels.toType(type, false), logits), type.name());
        }
        assertEquals(expected, of(loss, labels.expandDims(-1), logits));
        assertEquals(expected, of(loss, labels.flatten(), logits.reshape(6, 5)));
        assertEquals(expected, of(loss, labels.reshape(1, 2, 1, 3), logits.reshape(1, 2, 1, 3, 5)));
        NDArray one = of(loss, manager.create(2L), logits.get("1, 1"));
        assertEquals(new Shape(), one.getShape());
        try (NDManager other = NDManager.newBaseManager()) {
            assertEquals(expected, of(loss, other.create(new float[] {1, 4, 0, 2, 3, 2}, new Shape(2, 3)), logits));
        }
    }

    @Test
    void whatDoesNotFitIsRefused() {
        Loss loss = Loss.softmaxCrossEntropyLoss();
        refused("labels of FLOAT32 are not all whole numbers: expected the numbers of classes",
                () -> of(loss, manager.create(new float[] {0.5f}), logits.get("0, 0:1")));
        refused("labels of FLOAT32 are not all whole numbers: expected the numbers of classes",
                () -> of(loss, manager.create(new float[] {Float.NaN}), logits.get("0, 0:1")));
        refused("labels have the shape (3, 2), expected (2, 3): that of the predictions, (2, 3, 5), without the axis of "
                        + "classes",
                () -> of(loss, labels.reshape(3, 2), logits));
        refused("labels has 3 arrays, expected 1, or 2: the labels and the lengths",
                () -> loss.evaluate(new NDList(labels, lengths, lengths), new NDList(logits)));
        refused("predictions has 0 arrays, expected 1", () -> loss.evaluate(new NDList(labels), new NDList()));
        Loss masked = Loss.maskedSoftmaxCrossEntropyLoss();
        refused("labels has 1 arrays, expected 2: the labels and the lengths",
                () -> masked.evaluate(new NDList(labels), new NDList(logits)));
        refused("predictions have the shape (6, 5) with the classAxis -1, expected three axes: items, steps and classes",
                () -> masked(masked, labels, logits.reshape(6, 5)));
        for (long label : new long[] {5, -1, -100}) {
            refused("labels has " + label + " at index (0), expected 0 to 4",
                    () -> of(loss, manager.create(new long[] {label}), logits.get("0, 0:1")));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> of(Loss.softmaxCrossEntropyLoss("", 1, -1, true, false),
                            manager.create(new long[] {label}), logits.get("0, 0:1")));
        }
        refused("labels has 9 at index (1, 0), expected 0 to 4",
                () -> masked(masked, manager.create(new long[] {0, 0, 0, 9, 9, 9}, new Shape(2, 3)), logits));
        assertThrows(IllegalArgumentException.class, () -> of(loss, labels, logits.toType(DataType.FLOAT64, false)));
        assertThrows(IllegalArgumentException.class, () -> of(loss, labels, manager.create(1f)));
        assertEquals("labels", assertThrows(
                NullPointerException.class, () -> loss.evaluate(null, new NDList(logits))).getMessage());
        NDArray closed = labels.duplicate();
        closed.close();
        assertThrows(IllegalStateException.class, () -> of(loss, closed, logits));
    }

    @Test
    void lengthsHaveNoGradient() {
        NDArray lens = manager.create(new float[] {3, 2});
        lens.setRequiresGradient(true);
        try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
            NDArray computed = lens.mul(1);
            for (Loss loss : new Loss[] {Loss.softmaxCrossEntropyLoss(), Loss.maskedSoftmaxCrossEntropyLoss()}) {
                String refusal = assertThrows(
                                UnsupportedOperationException.class,
                                () -> loss.evaluate(new NDList(labels, computed), new NDList(logits)))
                        .getMessage();
                assertTrue(
                        refusal.startsWith("the lengths of " + loss.getClass().getSimpleName() + " has no gradient"),
                        refusal);
            }
            collector.backward(computed.sum());
            assertArrayEquals(new float[] {1, 1}, lens.getGradient().toFloatArray());
        }
    }

    private static void refused(String message, Runnable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }

    @Test
    void squaredErrorIsHalfTheMean() {
        NDArray x = manager.create(new float[] {1, 2, 3, 5}, new Shape(2, 2));
        NDArray y = manager.create(new float[] {0, 2, 4, 1});
        NDArray loss = of(Loss.l2Loss(), y, x);
        assertEquals(new Shape(), loss.getShape());
        assertEquals(2.25f, loss.getFloat());
        assertEquals(4.5f, of(Loss.l2Loss("mine", 1), y, x).getFloat());
        assertEquals(2.25f, of(Loss.l2Loss("mine"), y.toType(DataType.INT32, false), x).getFloat());
        NDArray expected = manager.create(new float[] {0.25f, 0, -0.25f, 1}, new Shape(2, 2));
        assertEquals(expected, gradient(x, z -> of(Loss.l2Loss(), y, z)));
        assertEquals(expected.mul(3), gradient(x, z -> of(Loss.l2Loss(), y, z).mul(3)));
        assertEquals(expected.neg().flatten(), gradient(y, z -> of(Loss.l2Loss(), z, x)));
        assertEquals(manager.zeros(new Shape(2, 2)), gradient(x, z -> of(Loss.l2Loss(), z, z)));
        assertThrows(IllegalArgumentException.class, () -> of(Loss.l2Loss(), manager.ones(new Shape(3)), x));
    }

    /** The bytes of arrays that are there after a call. */
    private long bytesAfter(Loss loss, NDList labels, NDArray predictions) {
        try (GradientCollector collector = Engine.getInstance().newGradientCollector();
                NDArray made = loss.evaluate(labels, new NDList(predictions))) {
            collector.backward(made);
        }
        return NativeMemory.usedBytes();
    }

    @Test
    void leaveNothingBehind() {
        logits.setRequiresGradient(true);
        try (NDManager other = NDManager.newBaseManager()) {
            NDArray whole = other.create(new float[] {1, 4, 0, 2, 3, 2}, new Shape(2, 3));
            NDArray dense = labels.oneHot(5);
            NDArray shaped = other.ones(new Shape(30), DataType.INT32);
            Map<Loss, NDList> all = Map.of(
                    Loss.l2Loss(), new NDList(shaped),
                    Loss.softmaxCrossEntropyLoss(), new NDList(whole),
                    Loss.softmaxCrossEntropyLoss("dense", 2, -1, false, true), new NDList(dense),
                    Loss.maskedSoftmaxCrossEntropyLoss("weighted", 2, -1, true, true), new NDList(whole, lengths),
                    Loss.maskedSoftmaxCrossEntropyLoss("logarithms", 1, -1, true, false), new NDList(whole, lengths));
            all.forEach((loss, list) -> {
                // The first call makes arrays of one number, which stay.
                long before = bytesAfter(loss, list, logits);
                assertTrue(bytesAfter(loss, list, logits) <= before, loss.toString());
            });
        }
    }

    @Test
    void describesItself() {
        assertEquals("L2Loss", Loss.l2Loss().getName());
        assertEquals("SoftmaxCrossEntropyLoss", Loss.softmaxCrossEntropyLoss().getName());
        assertEquals("mine", Loss.maskedSoftmaxCrossEntropyLoss("mine").getName());
        assertEquals("L2Loss(mine)", Loss.l2Loss("mine").toString());
    }
}
