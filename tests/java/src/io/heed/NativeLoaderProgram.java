// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** The program that NativeLoader's tests run in new processes; a test provides the libraries and folders. */
final class NativeLoaderProgram {
    private NativeLoaderProgram() {}

    /**
     * Arguments: twice | threads COUNT | unload COUNT. The last two create class loaders of their own for the class
     * path.
     */
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "twice":
                System.out.println(new Use().call());
                System.out.println(new Use().call());
                break;
            case "threads":
                useInThreads(Integer.parseInt(args[1]));
                break;
            default:
                useAndUnload(Integer.parseInt(args[1]));
        }
    }

    /** Uses heed with the classes of its own class loader, and returns the outcome. */
    public static final class Use implements Callable<String> {
        /** Called through reflection. */
        public Use() {}

        @Override
        public String call() {
            try (NDManager manager = NDManager.newBaseManager();
                    MultiHeadAttention attention = new MultiHeadAttention(4, 2, 0, true)) {
                NDArray words = manager.ones(new Shape(1, 3, 4));
                NDList input = new NDList(words, words, words);
                attention.initialize(manager, DataType.FLOAT32, input.getShapes());
                return attention.forward(new ParameterStore(manager, false), input, false).get(0).getShape().toString();
            } catch (UnsatisfiedLinkError error) {
                return error.getMessage();
            }
        }
    }

    /** Prints the outcome of each class loader, and how often the wrapper library is mapped. */
    private static void useInThreads(int count) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        CountDownLatch start = new CountDownLatch(count);
        List<URLClassLoader> loaders = new ArrayList<>();
        List<Future<String>> results = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            URLClassLoader loader = newLoader();
            loaders.add(loader);
            results.add(threads.submit(() -> {
                start.countDown();
                start.await();
                return use(loader);
            }));
        }
        for (Future<String> result : results) {
            System.out.println(result.get());
        }
        // Each has loaded a file of its own, and all still work.
        System.out.println("mapped: " + numMapped("/libheed_java.so"));
        for (URLClassLoader loader : loaders) {
            System.out.println(use(loader));
        }
        threads.shutdown();
    }

    /**
     * Prints which class loader does not work, how many are alive at the end, and what has grown since the first
     * rounds.
     */
    private static void useAndUnload(int count) throws Exception {
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        long descriptors = 0;
        long threads = 0;
        for (int i = 0; i < count; i++) {
            loaders.add(useOnce());
            waitUntil(() -> {
                System.gc();
                return numAlive(loaders) == 0 && numMapped("libheed") == 0;
            });
            if (i == count / 4) {
                descriptors = numDescriptors();
                threads = numThreads();
            }
        }
        long mostThreads = threads;
        waitUntil(() -> numThreads() <= mostThreads); // A cleaner's thread ends some time after its cleaner.
        System.out.println("alive: " + numAlive(loaders));
        System.out.println("mapped: " + numMapped("libheed"));
        System.out.println("more descriptors: " + Math.max(0, numDescriptors() - descriptors));
        System.out.println("more threads: " + Math.max(0, numThreads() - threads));
    }

    /** A separate method, so that no local variable references the class loader. */
    private static WeakReference<ClassLoader> useOnce() throws Exception {
        try (URLClassLoader loader = newLoader()) {
            String result = use(loader);
            if (!result.equals(LoaderJvm.WORKS)) {
                System.out.println(result);
            }
            return new WeakReference<>(loader);
        }
    }

    private static long numAlive(List<WeakReference<ClassLoader>> loaders) {
        return loaders.stream().filter(loader -> loader.get() != null).count();
    }

    /** Waits at most a second and a half. */
    private static void waitUntil(BooleanSupplier condition) throws InterruptedException {
        for (int attempt = 0; attempt < 500 && !condition.getAsBoolean(); attempt++) {
            Thread.sleep(3);
        }
    }

    /** Loads the same classes again; its only parent is the platform's class loader. */
    private static URLClassLoader newLoader() throws IOException {
        List<URL> urls = new ArrayList<>();
        for (String path : System.getProperty("java.class.path").split(":")) {
            urls.add(Paths.get(path).toUri().toURL());
        }
        return new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    }

    private static String use(ClassLoader loader) throws Exception {
        Class<?> use = Class.forName(Use.class.getName(), true, loader);
        return (String) ((Callable<?>) use.getConstructor().newInstance()).call();
    }

    /** How many files with this in their path are mapped as code. */
    private static long numMapped(String part) {
        try (Stream<String> maps = Files.lines(Paths.get("/proc/self/maps"))) {
            return maps.filter(line -> line.contains(part) && line.contains(" r-xp ")).count();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static long numDescriptors() throws IOException {
        try (Stream<Path> descriptors = Files.list(Paths.get("/proc/self/fd"))) {
            return descriptors.count();
        }
    }

    /** Java's threads; the JVM's own ones are created and end at any time. */
    private static long numThreads() {
        return Thread.getAllStackTraces().size();
    }
}
