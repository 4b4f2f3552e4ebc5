// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What only Java's arithmetic has: methods in place, numbers as first operands, and its own memory. */
class NDArrayArithmeticTest {
    private NDManager manager;
    private NDArray a;
    private NDArray b;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
        a = manager.create(new float[] {6, -4, 3});
        b = manager.create(new float[] {4, 2, 3});
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void methodsInPlaceReturnTheArray() {
        assertSame(a, a.addi(b));
        assertElements(a, 10, -2, 6);
        assertElements(a.subi(b), 6, -4, 3);
        assertElements(a.muli(b), 24, -8, 9);
        assertElements(a.divi(b), 6, -4, 3);
        assertElements(a.modi(b), 2, 0, 0);
        assertElements(a.powi(b), 16, 0, 0);
        assertSame(a, a.addi(5));
        assertElements(a, 21, 5, 5);
        assertElements(a.subi(1), 20, 4, 4);
        assertElements(a.muli(0.5), 10, 2, 2);
        assertElements(a.divi(2), 5, 1, 1);
        assertElements(a.modi(3), 2, 1, 1);
        assertElements(a.powi(3), 8, 1, 1);
        assertSame(a, a.negi());
        assertElements(a, -8, -1, -1);
    }

    @Test
    void methodsInPlaceKeepShapeAndType() {
        NDArray matrix = manager.ones(new Shape(2, 3));
        assertElements(matrix.addi(b), 5, 3, 4, 5, 3, 4);
        String shape = assertThrows(IllegalArgumentException.class, () -> b.addi(matrix)).getMessage();
        assertEquals("result has shape (3), expected (2, 3), to which the inputs are broadcast", shape);
        NDArray whole = manager.create(new int[] {1, 2, 3});
        String type = assertThrows(IllegalArgumentException.class, () -> whole.muli(b)).getMessage();
        assertEquals("result is INT32, expected FLOAT32, the data type of the result", type);
        assertArrayEquals(new int[] {1, 2, 3}, whole.toIntArray());
    }

    @Test
    void numbersAreFirstOperands() {
        assertElements(NDArrays.add(1, a), 7, -3, 4);
        assertElements(NDArrays.sub(1, a), -5, 5, -2);
        assertElements(NDArrays.mul(2, a), 12, -8, 6);
        assertElements(NDArrays.div(12, a), 2, -3, 4);
        assertElements(NDArrays.mod(7, b), 3, 1, 1);
        assertElements(NDArrays.pow(2, b), 16, 4, 8);
        assertElements(NDArrays.add(a, b, a), 16, -6, 9);
        assertElements(NDArrays.where(a.gt(0), a, b), 6, 2, 3);
        assertThrows(IllegalArgumentException.class, () -> NDArrays.add(a));
        NDArray truth = a.gt(0);
        String refused = assertThrows(IllegalArgumentException.class, () -> NDArrays.sub(1, truth)).getMessage();
        assertTrue(refused.startsWith("other is BOOLEAN, expected FLOAT32"), refused);
    }

    @Test
    void nullsAreRefusedByName() {
        assertNull("other", () -> a.add((NDArray) null));
        assertNull("other", () -> a.add((Number) null));
        assertNull("other", () -> a.addi((NDArray) null));
        assertNull("result", () -> a.add(b, null));
        assertNull("result", () -> a.exp(null));
        assertNull("values", () -> a.sort(0, null));
        assertNull("min", () -> a.clip(null, 1));
        assertNull("axes", () -> a.sum((int[]) null));
        assertNull("number", () -> NDArrays.sub(null, a));
        assertNull("other", () -> NDArrays.sub(1, null));
        assertNull("a", () -> NDArrays.where(b, null, a));
    }

    /** A number is written to memory that later calls use again; calls of other threads have other memory. */
    @Test
    void threadsHaveNumbersOfTheirOwn() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Boolean>> found = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                int number = thread;
                found.add(threads.submit(() -> addsItsNumber(number)));
            }
            for (Future<Boolean> one : found) {
                assertTrue(one.get());
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** Calls with numbers are also made while a call with a number is being reported. */
    @Test
    void aMessageMayComputeWithNumbers() {
        float[] computed = new float[1];
        ContextOptions options = ContextOptions.builder()
                .optLogger((level, text) -> {
                    try (NDArray sum = a.add(7)) {
                        computed[0] = sum.toFloatArray()[0];
                    }
                })
                .build();
        try (NDManager reporting = NDManager.newBaseManager(Device.cpu(), options)) {
            NDArray whole = reporting.create(new int[] {1});
            assertThrows(IllegalArgumentException.class, () -> whole.div(2));
            assertArrayEquals(new int[] {3}, whole.add(2).toIntArray());
        }
        assertEquals(13, computed[0]);
    }

    @Test
    void aGivenResultTakesNoMemory() {
        NDArray result = manager.zeros(new Shape(3));
        NDArray truth = manager.zeros(new Shape(3), DataType.BOOLEAN);
        NDArray sum = manager.zeros(new Shape());
        NDArray index = manager.zeros(new Shape(), DataType.INT64);
        NDArray narrow = a.toType(DataType.FLOAT16, false);
        Runnable compute = () -> {
            a.add(b, result);
            a.mul(2, result);
            a.exp(result);
            a.gt(b, truth);
            a.gt(0, truth);
            a.where(truth, b, result);
            a.clip(0, 1, result);
            a.sum(sum);
            a.cumSum(0, result);
            a.sort(0, result);
            a.softmax(0, result);
            a.matMul(b, sum);
            Activation.relu(a, result);
            a.argMax(0, index);
            narrow.add(2, narrow);
        };
        for (int i = 0; i < 2000; i++) {
            compute.run();
        }
        long nativeBefore = NativeMemory.usedBytes();
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        long before = threads.getThreadAllocatedBytes(thread);
        long none = threads.getThreadAllocatedBytes(thread) - before;
        before = threads.getThreadAllocatedBytes(thread);
        for (int i = 0; i < 1000; i++) {
            compute.run();
        }
        long allocated = threads.getThreadAllocatedBytes(thread) - before - none;
        assertTrue(allocated < 1000, allocated + " bytes");
        assertEquals(nativeBefore, NativeMemory.usedBytes());
    }

    private boolean addsItsNumber(int number) {
        try (NDArray result = manager.zeros(new Shape(3))) {
            for (int i = 0; i < 2000; i++) {
                b.add(number, result);
                if (result.getFloat(2) != 3 + number) {
                    return false;
                }
            }
            return true;
        }
    }

    private static void assertNull(String name, org.junit.jupiter.api.function.Executable call) {
        assertEquals(name, assertThrows(NullPointerException.class, call).getMessage());
    }

    private static void assertElements(NDArray array, float... expected) {
        assertArrayEquals(expected, array.toFloatArray());
    }
}
