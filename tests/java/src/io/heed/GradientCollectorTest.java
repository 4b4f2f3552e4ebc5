// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a gradient collector follows, refuses, holds and frees. */
class GradientCollectorTest {
    private static final String EXPECTED =
            "expected an operation that docs/training.md lists, or stopGradient() of the array";

    private NDManager manager;
    private NDArray x;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
        x = manager.create(new float[] {1, 2, 3});
        x.setRequiresGradient(true);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    private static GradientCollector collector() {
        return Engine.getInstance().newGradientCollector();
    }

    private static void assertElements(NDArray array, float... expected) {
        assertArrayEquals(expected, array.toFloatArray());
    }

    // ---- what it computes -------------------------------------------------------------------------------------------

    @Test
    void gradientsAreAddedUntilTheyAreZeroed() {
        try (GradientCollector collector = collector()) {
            NDArray y = x.square().sum();
            assertEquals(14, y.getFloat());
            collector.backward(y);
            assertElements(x.getGradient(), 2, 4, 6);
            collector.backward(x.mul(3));
            assertElements(x.getGradient(), 5, 7, 9);
        }
        try (GradientCollector collector = collector()) {
            collector.backward(x.neg());
            assertElements(x.getGradient(), 4, 6, 8);
            collector.zeroGradients();
            assertElements(x.getGradient(), 0, 0, 0);
            collector.backward(x.exp().stopGradient().mul(x).sub(x.exp().stopGradient().mul(x)));
            assertElements(x.getGradient(), 0, 0, 0);
        }
        x.getGradient().addi(1);
        assertElements(x.getGradient(), 1, 1, 1);
    }

    @Test
    void usesAreAddedInReverseOrderOfRecording() {
        NDArray one = manager.create(new float[] {1});
        one.setRequiresGradient(true);
        try (GradientCollector collector = collector()) {
            NDArray shared = one.mul(1);
            // 1e8 + 1 - 1e8 is 1 or 0.
            collector.backward(NDArrays.add(shared.mul(1e8f), shared.mul(-1e8f), shared.mul(1)));
        }
        // The last use comes first: (1 - 1e8) + 1e8.
        assertElements(one.getGradient(), 0);
    }

    @Test
    void partsOfATapeHaveTheirOwnBackwards() {
        try (GradientCollector collector = collector()) {
            NDArray common = x.square();
            NDArray first = x.mul(2).sum();
            NDArray second = common.sum();
            NDArray third = common.mean();
            collector.backward(first);
            collector.backward(second);
            assertElements(x.getGradient(), 4, 6, 8);
            IllegalStateException refused =
                    assertThrows(IllegalStateException.class, () -> collector.backward(third));
            assertEquals("backward has been computed through square already: expected another forward before it",
                    refused.getMessage());
            assertElements(x.getGradient(), 4, 6, 8);
            assertThrows(IllegalStateException.class, () -> collector.backward(second));
        }
    }

    @Test
    void selectionDoesNotMultiplyByZero() {
        NDArray infinite = manager.create(new float[] {Float.POSITIVE_INFINITY, 0, 1});
        try (GradientCollector collector = collector()) {
            NDArray y = x.where(manager.create(new boolean[] {false, true, true}), 0);
            collector.backward(y.mul(infinite));
        }
        assertElements(x.getGradient(), 0, 0, 1);
    }

    @Test
    void functionsOfTheBook() {
        NDArray scores = manager.create(new float[] {1, 2, 3, 3, 2, 1}, new Shape(1, 2, 3));
        scores.setRequiresGradient(true);
        NDArray lens = manager.create(new int[] {2});
        NDArray factors = manager.create(new float[] {1, 3, 5, 2, 4, 8}, new Shape(1, 2, 3));
        try (GradientCollector collector = collector()) {
            collector.backward(Chap10Utils.maskedSoftmax(scores, lens).mul(factors));
            NDArray masked = scores.getGradient().duplicate();
            collector.zeroGradients();
            NDArray same = scores.get("..., :2").softmax(-1).mul(factors.get("..., :2"));
            collector.backward(same);
            assertTrue(masked.allClose(scores.getGradient()));
            assertEquals(0, masked.getFloat(0, 0, 2));
            collector.zeroGradients();
            NDArray heads = Chap10Utils.transposeQkv(scores.reshape(1, 1, 6), 2);
            collector.backward(Chap10Utils.transposeOutput(heads, 2).reshape(1, 2, 3).mul(factors));
            assertEquals(factors, scores.getGradient());
            refused("validLens of maskedSoftmax", () -> Chap10Utils.maskedSoftmax(factors, scores.get("0, 0, 0:1")));
        }
    }

    /** Without an owner, and on a detached array, a collector works as ever. */
    @Test
    void arraysWithoutAManager() {
        x.detach();
        try (GradientCollector collector = collector()) {
            collector.backward(x.square());
        }
        assertElements(x.getGradient(), 2, 4, 6);
        x.close();
    }

    @Test
    void typesAreThoseOfTheInputs() {
        NDArray wide = manager.create(new double[] {1, 2, 3});
        wide.setRequiresGradient(true);
        try (GradientCollector collector = collector()) {
            collector.backward(x.mul(wide));
            assertEquals(DataType.FLOAT32, x.getGradient().getDataType());
            assertArrayEquals(new double[] {1, 2, 3}, wide.getGradient().toDoubleArray());
            collector.backward(x.toType(DataType.FLOAT64, false).mul(wide).toType(DataType.FLOAT32, false));
        }
        assertElements(x.getGradient(), 2, 4, 6);
    }

    // ---- what is followed -------------------------------------------------------------------------------------------

    @Test
    void arraysAreFollowedOnlyUnderACollector() {
        NDArray before = x.mul(2);
        try (GradientCollector collector = collector()) {
            NDArray inside = x.mul(2);
            assertThrows(IllegalArgumentException.class, () -> collector.backward(before));
            assertThrows(IllegalArgumentException.class, () -> collector.backward(x));
            assertThrows(IllegalArgumentException.class, () -> collector.backward(manager.ones(new Shape(2)).mul(3)));
            NDArray outside = inside.stopGradient().sign();
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> collector.backward(outside));
            assertEquals("target was not computed under this gradient collector from anything that requires a gradient",
                    refused.getMessage());
        }
        assertElements(before.sign(), 1, 1, 1);
        before.muli(2);
        NDArray inside;
        try (GradientCollector collector = collector()) {
            inside = x.mul(2);
            assertThrows(UnsupportedOperationException.class, inside::sign);
            collector.backward(inside);
        }
        // It is ordinary again.
        inside.muli(2).sign();
        try (GradientCollector collector = collector()) {
            NDArray last = inside;
            assertThrows(IllegalArgumentException.class, () -> collector.backward(last.mul(2)));
        }
    }

    @Test
    void membersOfArrays() {
        assertTrue(x.hasGradient());
        NDArray gradient = x.getGradient();
        x.setRequiresGradient(true);
        assertSame(gradient, x.getGradient());
        x.setRequiresGradient(false);
        assertFalse(x.hasGradient());
        assertTrue(gradient.isReleased());
        assertEquals("the array has no gradient: expected setRequiresGradient(true) of it, or a parameter that is not frozen",
                assertThrows(IllegalStateException.class, x::getGradient).getMessage());
        for (DataType type : new DataType[] {DataType.FLOAT16, DataType.BFLOAT16, DataType.INT32, DataType.BOOLEAN}) {
            NDArray other = manager.create(new Shape(2), type);
            assertThrows(IllegalArgumentException.class, () -> other.setRequiresGradient(true));
            other.setRequiresGradient(false);
        }
        NDArray stopped = x.stopGradient();
        stopped.set(new float[] {7, 8, 9});
        assertElements(x, 7, 8, 9);
        x.setRequiresGradient(true);
        NDManager other = manager.newSubManager();
        x.attach(other);
        NDArray moved = x.getGradient();
        assertSame(other, moved.getManager());
        other.close();
        assertTrue(moved.isReleased());
        assertThrows(IllegalStateException.class, x::hasGradient);
        assertThrows(IllegalStateException.class, () -> x.setRequiresGradient(true));
        assertThrows(IllegalStateException.class, x::stopGradient);
        NDArray y = manager.ones(new Shape(2));
        y.setRequiresGradient(true);
        try (GradientCollector collector = collector()) {
            NDArray computed = y.mul(2);
            assertThrows(IllegalStateException.class, () -> computed.setRequiresGradient(true));
            assertFalse(computed.hasGradient());
            collector.zeroGradients();
        }
        NDArray its = y.getGradient();
        y.close();
        assertTrue(its.isReleased());
    }

    // ---- what is refused --------------------------------------------------------------------------------------------

    @Test
    void operationsWithoutAGradientAreRefusedByName() {
        try (GradientCollector collector = collector()) {
            NDArray matrix = x.reshape(1, 3);
            NDArray other = manager.ones(new Shape(3));
            refused("sign", x::sign);
            refused("round", x::round);
            refused("floor", x::floor);
            refused("ceil", x::ceil);
            refused("trunc", x::trunc);
            refused("mod", () -> x.mod(other));
            refused("mod", () -> other.mod(x));
            refused("mod", () -> x.mod(2));
            refused("mod", () -> NDArrays.mod(2, x));
            refused("max", () -> x.max());
            refused("min", () -> x.min());
            refused("max", () -> x.max(new int[] {0}));
            refused("prod", () -> x.prod());
            refused("argMax", () -> x.argMax());
            refused("argMin", () -> x.argMin(0));
            refused("eq", () -> x.eq(other));
            refused("eq", () -> other.eq(x));
            refused("gt", () -> x.gt(0));
            refused("logicalNot", x::logicalNot);
            refused("isNaN", x::isNaN);
            refused("isInfinite", x::isInfinite);
            refused("cumSum", () -> x.cumSum(0));
            refused("sort", () -> x.sort());
            refused("argSort", () -> x.argSort());
            refused("topK", () -> x.topK(1));
            refused("oneHot", () -> x.oneHot(3));
            refused("any", () -> x.any());
            refused("all", () -> x.all());
            refused("none", () -> x.none());
            refused("normalize", () -> x.reshape(1, 3).normalize(Double.POSITIVE_INFINITY, 1));
            refused("toType", () -> x.toType(DataType.FLOAT16, false));
            refused("toType", () -> x.toType(DataType.INT32, false));
            refused("where", () -> other.where(x, other));
            refused("sequenceLength of sequenceMask", () -> manager.ones(new Shape(3, 2)).sequenceMask(x, 0));
            refused("copyTo", () -> run(() -> x.copyTo(other)));
            refused("set", () -> run(() -> x.set(new float[3])));
            refused("set", () -> run(() -> x.set(FloatBuffer.allocate(3))));
            refused("set", () -> run(() -> x.set(new NDIndex("0"), 1)));
            refused("set", () -> run(() -> other.set(new NDIndex("0"), x.get(0))));
            refused("setScalar", () -> run(() -> x.setScalar(new NDIndex("0"), 1)));
            NDArray angles = manager.ones(new Shape(1, 3));
            refused("rotaryEmbedding", () -> matrix.rotaryEmbedding(angles, angles, RopeLayout.HALF));
            collector.backward(x.sum());
        }
        assertElements(x.getGradient(), 1, 1, 1);
    }

    private static NDArray run(Runnable action) {
        action.run();
        return null;
    }

    private static void refused(String operation, Supplier<?> call) {
        UnsupportedOperationException error =
                assertThrows(UnsupportedOperationException.class, call::get, operation);
        assertEquals(operation + " has no gradient, and its array is computed under a gradient collector: " + EXPECTED,
                error.getMessage());
    }

    @Test
    void writesIntoExistingArraysAreRefused() {
        try (GradientCollector collector = collector()) {
            NDArray y = x.mul(2);
            NDArray other = manager.ones(new Shape(3));
            refusedInto("add", () -> x.addi(1));
            refusedInto("mul", () -> y.muli(other));
            refusedInto("mul", () -> other.muli(y));
            refusedInto("sub", () -> other.sub(2, y));
            refusedInto("exp", () -> y.exp(other));
            refusedInto("neg", y::negi);
            refusedInto("sum", () -> y.sum(new int[] {0}, false, manager.create(new Shape())));
            refusedInto("softmax", () -> y.softmax(0, other));
            refusedInto("matMul", () -> y.matMul(other, manager.create(new Shape())));
            refusedInto("relu", () -> Activation.relu(y, other));
            refusedInto("take", () -> y.take(manager.create(new int[] {0, 0, 0}), 0, other));
            // Arrays that nothing follows are written as ever.
            other.muli(2).exp(other);
            collector.backward(y);
        }
    }

    private static void refusedInto(String operation, Supplier<?> call) {
        UnsupportedOperationException error =
                assertThrows(UnsupportedOperationException.class, call::get, operation);
        assertEquals(operation + " writes into an array that exists, which a gradient collector does not follow: "
                + "expected the form that makes a new array", error.getMessage());
    }

    @Test
    void elementsMayAlwaysBeRead(@TempDir Path folder) {
        try (GradientCollector collector = collector()) {
            NDArray y = x.mul(2);
            assertElements(y, 2, 4, 6);
            assertEquals(4, y.getFloat(1));
            assertTrue(y.toString().contains("4"));
            assertTrue(y.toDebugString().contains("3"));
            assertEquals(y, manager.create(new float[] {2, 4, 6}));
            assertTrue(y.allClose(y));
            assertTrue(y.contentEquals(y));
            y.toByteBuffer();
            y.toFloatBuffer();
            y.save(folder.resolve("y.npy"));
            collector.backward(y);
        }
    }

    /** Each operation, of which an operand or the result is written before backward. */
    @Test
    void operandsThatWereWrittenAreRefused() {
        NDArray factor = manager.create(new float[] {5, 6, 7});
        written("other of mul", a -> a.mul(factor), y -> factor.muli(2));
        written("other of mul", a -> a.mul(factor), y -> factor.set(new float[3]));
        written("other of mul", a -> a.mul(factor), y -> factor.set(FloatBuffer.allocate(3)));
        written("other of mul", a -> a.mul(factor), y -> factor.set(new NDIndex("0"), 3));
        written("other of mul", a -> a.mul(factor), y -> factor.set(new NDIndex("0"), manager.create(2f)));
        written("other of mul", a -> a.mul(factor), y -> manager.ones(new Shape(3)).copyTo(factor));
        written("other of mul", a -> a.mul(factor), y -> factor.get("1:").addi(1));
        written("other of mul", a -> a.mul(factor), y -> factor.reshape(1, 3).transpose().negi());
        written("other of mul", a -> a.mul(factor.get("::-1")), y -> factor.stopGradient().addi(1));
        written("other of mul", a -> a.mul(factor), y -> manager.ones(new Shape(3)).exp(factor));
        written("other of div", a -> a.div(factor), y -> factor.addi(1));
        written("result of exp", a -> a.exp(), y -> y.stopGradient().addi(1));
        written("array of square", a -> a.square(), y -> x.stopGradient().muli(1));
        NDArray condition = manager.create(new boolean[] {true, false, true});
        written("condition of where", a -> a.where(condition, 0), y -> condition.logicalNot(condition));
        NDArray indices = manager.create(new int[] {1, 1, 2});
        written("indices of take", a -> a.take(indices, 0), y -> indices.set(new int[3]));
        // What is not needed may be written.
        try (GradientCollector collector = collector()) {
            NDArray y = x.add(factor).mul(2);
            factor.muli(2);
            collector.backward(y);
        }
    }

    private void written(String what, Function<NDArray, NDArray> operation, Consumer<NDArray> write) {
        try (GradientCollector collector = collector()) {
            NDArray before = x.getGradient().duplicate();
            NDArray y = operation.apply(x);
            write.accept(y);
            IllegalStateException error = assertThrows(IllegalStateException.class, () -> collector.backward(y), what);
            assertEquals(what + " has been written since: expected the same elements until backward", error.getMessage());
            assertEquals(before, x.getGradient());
        }
    }

    // ---- collectors and threads -------------------------------------------------------------------------------------

    @Test
    void oneCollectorForEachThread() throws Exception {
        GradientCollector first = collector();
        NDArray y = x.mul(2);
        assertEquals("a gradient collector is open on this thread already: expected it closed first",
                assertThrows(IllegalStateException.class, GradientCollectorTest::collector).getMessage());
        ExecutorService other = Executors.newSingleThreadExecutor(runnable -> new Thread(runnable, "another"));
        String expected = "the gradient collector belongs to the thread \"" + Thread.currentThread().getName()
                + "\", and \"another\" uses it: expected one for each thread";
        for (Runnable use : new Runnable[] {
            () -> y.mul(2), () -> y.sign(), () -> x.stopGradient().mul(y), () -> first.backward(y), first::zeroGradients
        }) {
            ExecutionException failed =
                    assertThrows(ExecutionException.class, () -> other.submit(use).get());
            assertEquals(expected, failed.getCause().getMessage());
        }
        other.submit(() -> {
            // Leaves may be used by any thread, and others may have collectors.
            assertElements(y, 2, 4, 6);
            assertElements(x.mul(2), 2, 4, 6);
            try (GradientCollector collector = collector()) {
                collector.backward(x.mul(5));
            }
        }).get();
        other.shutdown();
        first.backward(y);
        assertElements(x.getGradient(), 7, 7, 7);
        first.close();
        first.close();
        assertEquals(Tape.CLOSED, assertThrows(IllegalStateException.class, () -> first.backward(y)).getMessage());
        assertEquals(Tape.CLOSED, assertThrows(IllegalStateException.class, first::zeroGradients).getMessage());
        collector().close();
    }

    @Test
    void engine() {
        assertSame(Engine.getInstance(), Engine.getInstance());
        assertEquals("heed", Engine.getInstance().getEngineName());
        assertEquals(Version.TEXT, Engine.getInstance().getVersion());
        assertThrows(NullPointerException.class, () -> {
            try (GradientCollector collector = collector()) {
                collector.backward(null);
            }
        });
    }

    // ---- what it holds ----------------------------------------------------------------------------------------------

    @Test
    void intermediateArraysMayBeClosed() {
        try (GradientCollector collector = collector()) {
            NDArray loss;
            try (NDScope scope = manager.scope()) {
                loss = scope.keep(x.duplicate().square().exp().mul(x).sum());
            }
            try (NDManager inner = manager.newSubManager()) {
                NDArray half = loss.div(2);
                half.attach(inner);
                loss = half.mul(2);
                loss.attach(manager);
            }
            collector.backward(loss);
            loss.close();
            NDArray closed = loss;
            assertThrows(IllegalStateException.class, () -> collector.backward(closed));
        }
        assertEquals(Math.exp(1) * 3, x.getGradient().getFloat(0), 1e-4);
    }

    @Test
    void closingTheManagerClosesTheCollector() {
        GradientCollector forgotten = collector();
        NDManager base = NDManager.newBaseManager();
        NDArray other = base.ones(new Shape(3));
        other.setRequiresGradient(true);
        NDArray y = other.mul(2).exp();
        base.close();
        assertThrows(IllegalStateException.class, () -> forgotten.backward(y));
        assertEquals(Tape.CLOSED, assertThrows(IllegalStateException.class, forgotten::zeroGradients).getMessage());
        // Another one may be opened.
        try (GradientCollector collector = collector()) {
            collector.backward(x.square());
        }
        assertElements(x.getGradient(), 2, 4, 6);
        forgotten.close();
    }

    @Test
    void aClosedLeafIsPassedOver() {
        NDArray other = manager.ones(new Shape(3));
        other.setRequiresGradient(true);
        try (GradientCollector collector = collector()) {
            NDArray y = x.mul(other);
            other.close();
            collector.backward(y);
        }
        assertElements(x.getGradient(), 1, 1, 1);
    }

    @Test
    void aFailureLeavesTheCollectorUsable() {
        try (GradientCollector collector = collector()) {
            NDArray y = x.mul(2);
            x.getGradient().close();
            assertThrows(IllegalStateException.class, () -> collector.backward(y));
            x.setRequiresGradient(false);
            x.setRequiresGradient(true);
            collector.backward(x.mul(3));
        }
        assertElements(x.getGradient(), 3, 3, 3);
    }

    @Test
    void withoutACollectorCallsAllocateNothingMore() {
        NDArray result = manager.create(new Shape(3));
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (int i = 0; i < 20_000; i++) {
            x.mul(x, result);
        }
        long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        for (int i = 0; i < 1000; i++) {
            x.mul(x, result);
        }
        assertTrue(threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before < 1000);
    }

    @Test
    void gradientsUnderARunningGarbageCollector() throws Exception {
        RunningCollector.during(() -> {
            for (int i = 0; i < 200; i++) {
                try (GradientCollector collector = collector()) {
                    NDArray y = x;
                    for (int j = 0; j < 10; j++) {
                        y = y.mul(x).add(1).tanh();
                    }
                    collector.backward(y.sum());
                    collector.zeroGradients();
                    collector.backward(x.square().sum());
                    assertElements(x.getGradient(), 2, 4, 6);
                    collector.zeroGradients();
                }
            }
        });
    }

    @Test
    void anInfiniteGradientStaysWithItsIndex() {
        NDArray a = manager.create(new float[] {0, 1, 4});
        a.setRequiresGradient(true);
        try (GradientCollector collector = collector()) {
            collector.backward(a.take(manager.create(new long[] {0, 1, -1})).sqrt().sum());
        }
        assertElements(a.getGradient(), Float.POSITIVE_INFINITY, 0.5f, 0.25f);
    }

    @Test
    void threadsAddToOneArray() throws Exception {
        NDArray a = manager.ones(new Shape(100_000));
        a.setRequiresGradient(true);
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int j = 0; j < 50; j++) {
                    try (GradientCollector collector = collector()) {
                        collector.backward(a.sum());
                    }
                }
            });
            threads[i].start();
        }
        for (Thread each : threads) {
            each.join();
        }
        assertEquals(manager.full(new Shape(100_000), 100, DataType.FLOAT32), a.getGradient());
    }

    @Test
    void parametersTakeNoArrayThatIsFollowed() {
        Linear linear = Linear.builder().setUnits(1).optBias(false).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        Parameter own = Parameter.builder().setName("own").setType(Parameter.Type.WEIGHT).build();
        try (GradientCollector collector = collector()) {
            NDArray computed = x.mul(2).reshape(1, 3);
            for (Parameter each : new Parameter[] {linear.getParameters().get("weight"), own}) {
                assertTrue(assertThrows(UnsupportedOperationException.class, () -> each.setArray(computed))
                        .getMessage()
                        .startsWith("setArray has no gradient"));
            }
            collector.zeroGradients();
        }
        linear.close();
    }

    @Test
    void aParameterThatWasFrozenSinceIsRefusedBeforeAnyGradient() {
        Linear linear = Linear.builder().setUnits(1).optBias(false).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        Parameter weight = linear.getParameters().get("weight");
        try (GradientCollector collector = collector()) {
            NDArray loss = weight.getArray().square().sum().add(x.sum());
            weight.freeze(true);
            assertEquals("the parameter \"weight\" was frozen since it was read: expected it as it was until backward",
                    assertThrows(IllegalStateException.class, () -> collector.backward(loss)).getMessage());
            assertElements(x.getGradient(), 0, 0, 0);
        }
        linear.close();
    }

    @Test
    void sixteenBitsAreNotPassedBy() {
        Linear linear = Linear.builder().setUnits(1).optBias(false).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        linear.cast(DataType.FLOAT16);
        try (GradientCollector collector = collector()) {
            NDArray weight = linear.getParameters().get("weight").getArray();
            assertThrows(RuntimeException.class,
                    () -> collector.backward(weight.toType(DataType.FLOAT32, false).sum()));
        }
        linear.close();
    }
}
