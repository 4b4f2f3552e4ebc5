// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.FloatBuffer;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.StreamHandler;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

/** Objects that are never closed are freed, and reported if requested. Each test runs in a new virtual machine. */
class CollectorTest {
    private static final long MEBIBYTE = 1 << 20;

    /**
     * A hundred thousand objects of all kinds, with 1.6 GB of elements, in 64 MB of heap: neither the heap nor the
     * process may grow.
     */
    @Test
    void aHundredThousandForgottenObjects() throws Exception {
        ChildJvm child = ChildJvm.run(ForgottenObjects.class, "-Xmx64m", "-XX:+UseSerialGC");
        System.out.print(child.output);
        assertEquals(0, child.exitCode, child.output);
        Matcher grown = Pattern.compile("grown by (-?\\d+) bytes").matcher(child.output);
        assertTrue(grown.find(), child.output);
        assertTrue(Long.parseLong(grown.group(1)) < 64 * MEBIBYTE, child.output);
    }

    static final class ForgottenObjects {
        private static final int COUNT = 100_000;
        /** 16 KiB each. */
        private static final Shape SHAPE = new Shape(1 << 12);

        public static void main(String[] args) throws Exception {
            NDManager manager = NDManager.newBaseManager();
            long before = 0;
            long largest = 0;
            for (int i = 0; i < COUNT; i++) {
                forget(manager, i);
                if (i % 2_000 == 1_999) {
                    System.gc();
                    Thread.sleep(20);
                    long resident = ChildJvm.statusBytes("VmRSS");
                    before = i < 10_000 ? resident : before;
                    largest = Math.max(largest, resident);
                }
            }
            System.out.println(COUNT + " objects; resident after the first 10000 are " + before / MEBIBYTE
                    + " MiB, at most " + largest / MEBIBYTE + " MiB: grown by " + (largest - before) + " bytes");
        }

        private static void forget(NDManager manager, int i) {
            switch (i % 10) {
                case 0:
                    manager.newSubManager().newSubManager().ones(SHAPE);
                    break;
                case 1:
                    FloatBuffer floats = manager.ones(SHAPE).toFloatBuffer();
                    floats.slice().put(0, 1);
                    break;
                case 2:
                    manager.newWorkspace(16 << 10);
                    break;
                case 3:
                    manager.ones(SHAPE).detach();
                    break;
                case 4:
                    manager.ones(SHAPE).reshape(64, 64).transpose().flatten();
                    break;
                case 5:
                    manager.wrap(manager.allocateDirect(16 << 10).asFloatBuffer(), SHAPE).get(0);
                    break;
                case 6:
                    ContextOptions options = ContextOptions.builder().optNumThreads(1).build();
                    NDManager.newBaseManager(Device.cpu(), options).ones(SHAPE);
                    break;
                case 7:
                    manager.newSubManager().close();
                    break;
                case 8:
                    KvCache.builder()
                            .setNumKvHeads(1)
                            .setHeadSize(16)
                            .setCapacity(128)
                            .build(manager);
                    break;
                default:
                    manager.ones(SHAPE);
                    break;
            }
        }
    }

    /**
     * Classes and library are unloaded with their class loader, even if arrays were forgotten, and can be loaded again
     * by the next.
     */
    @Test
    void classesAndLibraryAreUnloaded() throws Exception {
        ChildJvm child = ChildJvm.run(Unloading.class, "-Xmx64m");
        assertEquals("unloaded\nunloaded\nunloaded\n", child.output);
        assertEquals(0, child.exitCode);
    }

    static final class Unloading {
        public static void main(String[] args) throws Exception {
            for (int round = 0; round < 3; round++) {
                WeakReference<ClassLoader> loader = usedLoader();
                for (int i = 0; i < 500 && loader.get() != null; i++) {
                    System.gc();
                    Thread.sleep(10);
                }
                System.out.println(loader.get() == null ? "unloaded" : "still there");
            }
        }

        private static WeakReference<ClassLoader> usedLoader() throws Exception {
            String[] jars = System.getProperty("java.class.path").split(File.pathSeparator);
            URL[] path = {Paths.get(jars[0]).toUri().toURL(), Paths.get(jars[1]).toUri().toURL()};
            ClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader());
            Class<?> using = loader.loadClass("io.heed.CollectorTest$UsingHeed");
            ((Runnable) using.getDeclaredConstructor().newInstance()).run();
            return new WeakReference<>(loader);
        }
    }

    /** Creates an array, a view of it, a sub-manager and a block, and forgets them. */
    public static final class UsingHeed implements Runnable {
        /** Called by reflection. */
        public UsingHeed() {}

        @Override
        public void run() {
            NDManager manager = NDManager.newBaseManager();
            manager.newSubManager().ones(new Shape(1 << 18)).get(0);
            manager.ones(new Shape(2)).toFloatBuffer();
            new MultiHeadAttention(8, 2, 0, false)
                    .initialize(manager, DataType.FLOAT32, new Shape(1, 2, 8), new Shape(1, 2, 8), new Shape(1, 2, 8));
        }
    }

    @Test
    void leaksAreReportedWhereTheyWereMade() throws Exception {
        ChildJvm child = ChildJvm.run(Leaking.class, "-Xmx64m", "-Dheed.leaks=true");
        assertEquals(0, child.exitCode, child.output);
        assertTrue(child.output.contains("WARNING"), child.output);
        assertTrue(
                child.output.contains("freed by the garbage collector: neither it nor its manager was closed"),
                child.output);
        assertTrue(child.output.contains("this tensor was made here"), child.output);
        assertTrue(child.output.contains("this cache was made here"), child.output);
        assertTrue(child.output.contains("Leaking.makeAndForget(CollectorTest.java"), child.output);
        assertFalse(child.output.contains("Leaking.makeAndClose"), child.output);
        assertFalse(child.output.contains("Leaking.makeInAManager"), child.output);
        assertFalse(child.output.contains("Leaking.attendInAManager"), child.output);
        assertFalse(child.output.contains("Leaking.stepAndForgetTheInputs"), child.output);
        assertTrue(child.output.contains("Leaking.setAndForget(CollectorTest.java"), child.output);
    }

    @Test
    void leaksAreNotReportedUnlessRequested() throws Exception {
        ChildJvm child = ChildJvm.run(Leaking.class, "-Xmx64m");
        assertEquals(0, child.exitCode, child.output);
        assertEquals("", child.output);
    }

    static final class Leaking {
        public static void main(String[] args) throws Exception {
            NDManager manager = NDManager.newBaseManager();
            makeAndForget(manager);
            makeAndClose(manager);
            makeInAManager();
            attendInAManager();
            stepAndForgetTheInputs(manager);
            setAndForget();
            collect(Boolean.getBoolean(Leaks.PROPERTY) ? 3 : 0);
        }

        /**
         * Collects until this many leaks have been reported, up to a limit; then often enough that further leaks would
         * be reported.
         */
        private static void collect(int numLeaks) throws Exception {
            CountDownLatch reported = new CountDownLatch(numLeaks);
            Logger logger = Logger.getLogger("io.heed");
            logger.addHandler(new StreamHandler() {
                @Override
                public synchronized void publish(LogRecord report) {
                    reported.countDown();
                }
            });
            for (int i = 0; reported.getCount() > 0 && i < 1000; i++) {
                System.gc();
                Thread.sleep(10);
            }
            for (int i = 0; i < 20; i++) {
                System.gc();
                Thread.sleep(10);
            }
            Reference.reachabilityFence(logger);
        }

        private static void makeAndForget(NDManager manager) {
            manager.ones(new Shape(2));
            newCache(manager);
        }

        private static void makeAndClose(NDManager manager) {
            NDArray array = manager.ones(new Shape(2));
            array.toFloatBuffer();
            array.close();
            newCache(manager).close();
        }

        private static KvCache newCache(NDManager manager) {
            return KvCache.builder()
                    .setNumKvHeads(1)
                    .setHeadSize(2)
                    .setCapacity(16)
                    .build(manager);
        }

        private static void makeInAManager() {
            try (NDManager manager = NDManager.newBaseManager()) {
                manager.ones(new Shape(2)).get(0);
            }
        }

        /** As in d2l's programs, which close no block. */
        private static void attendInAManager() {
            try (NDManager manager = NDManager.newBaseManager()) {
                NDArray x = manager.ones(new Shape(1, 2, 8));
                NDList inputs = new NDList(x, x, x);
                for (Block block : new Block[] {
                    new MultiHeadAttention(8, 2, 0.5f, true), new AdditiveAttention(4, 0.5f),
                    new GeneralAttention(8, 0.5f), new DotProductAttention(0.5f)
                }) {
                    block.initialize(manager, DataType.FLOAT32, inputs.getShapes());
                    block.forward(new ParameterStore(), inputs, true);
                    block.getParameters().values().forEach(Parameter::getArray);
                }
                Dropout.builder().build().forward(new ParameterStore(), new NDList(x), true);
            }
        }

        /** Closes all that can be closed. The inputs cannot, and have an array of the sequence numbers. */
        private static void stepAndForgetTheInputs(NDManager manager) {
            try (NDManager results = manager.newSubManager();
                    MultiHeadAttention attention =
                            MultiHeadAttention.builder().setNumHiddens(2).setNumHeads(1).build();
                    KvCache cache = newCache(manager)) {
                NDArray x = results.ones(new Shape(1, 1, 2));
                attention.initialize(results, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
                AttentionInputs inputs = new AttentionInputs().setQueries(x).setCache(cache).setSequences(0);
                attention.forward(inputs, attention.createOutputs(inputs), null);
            }
        }

        /** Parameters without a manager belong to the block, which should be closed. */
        private static void setAndForget() {
            try (NDManager manager = NDManager.newBaseManager()) {
                Linear linear = Linear.builder().setUnits(2).build();
                linear.getParameters().get("weight").setArray(manager.ones(new Shape(2, 3)));
            }
        }
    }
}
