// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

/**
 * The native memory of a program that closes nothing, and uses so little heap that the collector does not run by
 * itself. Each test runs in a new virtual machine.
 */
class NativeMemoryTest {
    private static final long MEBIBYTE = 1 << 20;
    private static final String[] SMALL = {"-Xmx64m", "-XX:+UseSerialGC"};

    @Test
    void threeGigabytesOfForgottenArrays() throws Exception {
        String output = run(ForgottenArrays.class, "-Dtest.mebibytes=3072");
        assertTrue(numberOf("peak", output) < 300, output);
        assertTrue(numberOf("closed", output) < 200, output);
    }

    /** Arrays of 16 KiB to 4 MiB, all their pages in use. */
    static final class ForgottenArrays {
        public static void main(String[] args) throws Exception {
            NDManager manager = NDManager.newBaseManager();
            Random random = new Random(1);
            long left = Long.getLong("test.mebibytes") * MEBIBYTE;
            while (left > 0) {
                long kibibytes = Math.round(16 * Math.pow(256, random.nextDouble()));
                manager.ones(new Shape(kibibytes << 8));
                left -= kibibytes << 10;
            }
            System.out.println("peak " + (ChildJvm.statusBytes("VmHWM") >> 20));
            manager.close();
            System.out.println("closed " + (ChildJvm.statusBytes("VmRSS") >> 20) + " collections " + collections());
        }
    }

    /** Each forward creates 128 KiB of output and 8 MiB of weights, which are kept until the next forward. */
    @Test
    void forgottenResultsOfALayer() throws Exception {
        String output = run(ForgottenResults.class);
        assertTrue(numberOf("peak", output) < 300, output);
        assertTrue(numberOf("closed", output) < 200, output);
    }

    static final class ForgottenResults {
        public static void main(String[] args) throws Exception {
            NDManager manager = NDManager.newBaseManager();
            MultiHeadAttention attention = new MultiHeadAttention(64, 8, 0, false);
            NDArray words = manager.ones(new Shape(1, 512, 64));
            NDList inputs = new NDList(words, words, words);
            attention.initialize(manager, DataType.FLOAT32, inputs.getShapes());
            ParameterStore parameters = new ParameterStore(manager, false);
            for (int i = 0; i < 200; i++) {
                attention.forward(parameters, inputs, false);
            }
            System.out.println("peak " + (ChildJvm.statusBytes("VmHWM") >> 20));
            manager.close();
            System.out.println("closed " + (ChildJvm.statusBytes("VmRSS") >> 20));
        }
    }

    @Test
    void closedArraysRequestNoCollection() throws Exception {
        String output = run(ClosedArrays.class);
        assertEquals(0, numberOf("collections", output), output);
        // Once, since the memory in use has then grown to its largest size.
        assertEquals(1, numberOf("then", output), output);
    }

    static final class ClosedArrays {
        public static void main(String[] args) throws Exception {
            try (NDManager manager = NDManager.newBaseManager()) {
                requests(manager, 500, 1);
                System.out.println("collections " + collections());
                requests(manager, 20, 25);
                System.out.println("then " + collections());
            }
        }

        /** Requests that each use this many arrays of 4 MiB. */
        private static void requests(NDManager manager, int count, int arrays) {
            for (int i = 0; i < count; i++) {
                try (NDManager request = manager.newSubManager()) {
                    NDList used = new NDList();
                    for (int j = 0; j < arrays; j++) {
                        used.add(request.ones(new Shape(1 << 20)).transpose());
                    }
                    used.forEach(array -> array.getFloat(7));
                }
            }
        }
    }

    /** Nothing fails if the virtual machine ignores explicit collections, or the program has switched them off. */
    @Test
    void withoutExplicitCollections() throws Exception {
        for (String option : new String[] {"-XX:+DisableExplicitGC", "-Dheed.forgotten.bytes=0"}) {
            String output = run(ForgottenArrays.class, "-Dtest.mebibytes=400", option);
            assertEquals(0, numberOf("collections", output), output);
            assertTrue(numberOf("peak", output) > 400, output);
        }
    }

    @Test
    void aPropertySaysHowMuchMayBeForgotten() throws Exception {
        String few = run(ForgottenArrays.class, "-Dtest.mebibytes=400", "-Dheed.forgotten.bytes=134217728");
        String many = run(ForgottenArrays.class, "-Dtest.mebibytes=400", "-Dheed.forgotten.bytes=16777216");
        assertTrue(numberOf("collections", few) <= 4, few);
        assertTrue(numberOf("collections", many) >= 12, many);
        assertEquals(7, NativeMemory.allowedBytes("7"));
        for (String wrong : new String[] {null, "", "-1", "64m"}) {
            assertEquals(NativeMemory.DEFAULT_BYTES, NativeMemory.allowedBytes(wrong));
        }
    }

    /** Arrays of 64 MiB in an address space of 2 GiB: an allocation succeeds after forgotten arrays have been freed. */
    @Test
    void forgottenArraysAreFreedBeforeACallFails() throws Exception {
        String[] options = {
            "-Xmx64m", "-XX:+UseSerialGC", "-XX:CompressedClassSpaceSize=32m", "-XX:ReservedCodeCacheSize=32m"
        };
        for (String forgotten : new String[] {"-Dheed.forgotten.bytes=1099511627776", "-Dheed.forgotten.bytes=0"}) {
            boolean asks = !forgotten.endsWith("=0");
            String[] all = Arrays.copyOf(options, options.length + 1);
            all[options.length] = forgotten;
            ChildJvm child = ChildJvm.runWithin(2 << 20, MoreThanThereIs.class, all);
            assertEquals(asks ? 0 : 1, child.exitCode, child.output);
            assertTrue(child.output.contains(asks ? "done" : "bytes of host memory could not be allocated"), child.output);
        }
    }

    static final class MoreThanThereIs {
        public static void main(String[] args) {
            NDManager manager = NDManager.newBaseManager();
            for (int i = 0; i < 40; i++) {
                manager.create(new Shape(1 << 24));
            }
            for (int i = 0; i < 40; i++) {
                manager.newWorkspace(64 << 20);
            }
            System.out.println("done");
        }
    }

    /** Memory is counted once as long as it is in use, however many objects share it. */
    @Test
    void countsWhatIsInUse() throws Exception {
        String output = run(Counts.class);
        assertEquals(
                "array 4\nview 4\narray closed 4\nall closed 0\nworkspace 10\nwrapped 0\nlayer 16\nsnapshot 32\n"
                        + "saved 32\nmanager closed 0\n",
                output);
    }

    static final class Counts {
        public static void main(String[] args) throws IOException {
            NDManager manager = NDManager.newBaseManager();
            NDArray array = manager.ones(new Shape(32, 32));
            print("array");
            array.transpose().get(0);
            print("view");
            array.close();
            print("array closed");
            manager.close();
            print("all closed");
            manager = NDManager.newBaseManager();
            Workspace workspace = manager.newWorkspace(10 << 10);
            print("workspace");
            workspace.close();
            manager.wrap(manager.allocateDirect(400).asFloatBuffer(), new Shape(100));
            print("wrapped");
            Linear linear = Linear.builder().setUnits(64).optBias(false).build();
            linear.initialize(manager, DataType.FLOAT32, new Shape(1, 64));
            print("layer");
            linear.getDirectParameters().get(0).getValue().getArray();
            print("snapshot");
            // Of each parameter a snapshot is written, which is closed then.
            Path file = Files.createTempDirectory("heed").resolve("block.safetensors");
            new SequentialBlock().add(linear).save(file);
            Files.delete(file);
            Files.delete(file.getParent());
            print("saved");
            manager.close();
            print("manager closed");
        }

        /** In KiB; a layer takes a little more than its parameters. */
        private static void print(String what) {
            System.out.println(what + " " + (NativeMemory.usedBytes() >> 10));
        }
    }

    private static String run(Class<?> program, String... options) throws Exception {
        String[] all = Arrays.copyOf(SMALL, SMALL.length + options.length);
        System.arraycopy(options, 0, all, SMALL.length, options.length);
        ChildJvm child = ChildJvm.run(program, all);
        assertEquals(0, child.exitCode, child.output);
        return child.output;
    }

    private static long numberOf(String name, String output) {
        Matcher found = Pattern.compile("\\b" + name + " (\\d+)").matcher(output);
        assertTrue(found.find(), output);
        return Long.parseLong(found.group(1));
    }

    /** Of the whole heap, which only System.gc() causes here. */
    private static long collections() {
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (collector.getName().equals("MarkSweepCompact")) {
                return collector.getCollectionCount();
            }
        }
        throw new IllegalStateException("the serial collector is not in use");
    }
}
