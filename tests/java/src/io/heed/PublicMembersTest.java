// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every public member of the arrays' classes: after closing, with nulls, and with nonsensical arguments. */
class PublicMembersTest {
    /** Members that also work on a closed array or manager. */
    private static final Set<String> ANSWER_WHEN_CLOSED = Set.of(
            "close", "isReleased", "isOpen", "getManager", "getParentManager", "getDevice", "getName", "setName",
            "toString", "newBaseManager", "open", "builder", "equals", "hashCode");
    /** Members for which null is a valid argument. */
    private static final Set<String> TAKE_NULL = Set.of("setName", "MalformedModelException", "equals");
    /** Methods of enumerations, which the compiler adds. */
    private static final Set<String> NOT_OURS = Set.of("values", "valueOf");

    private static final Class<?>[] CLASSES = {
        NDManager.class, NDArray.class, NDList.class, Shape.class, DataType.class, Device.class, ContextOptions.class,
        ContextOptions.Builder.class, LoadOptions.class, LoadOptions.Builder.class, Workspace.class, Weights.class,
        KvCache.class, KvCache.Builder.class, CacheFullException.class, MalformedModelException.class, NDIndex.class
    };

    @TempDir
    Path folder;

    private final NDManager manager = TestDevice.newManager();

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void closedObjectsThrow() throws Exception {
        NDManager closed = TestDevice.newManager();
        NDArray array = closed.ones(new Shape(1, 1, 1));
        Workspace workspace = closed.newWorkspace(1);
        Weights weights = (Weights) sampleOf(Weights.class);
        KvCache cache = newCache(closed);
        closed.close();
        weights.close();
        int count = 0;
        for (Object object : new Object[] {closed, array, workspace, weights, cache}) {
            for (Method method : publicMethods(object.getClass())) {
                if (ANSWER_WHEN_CLOSED.contains(method.getName())) {
                    continue;
                }
                Throwable error = thrownBy(method, object, samples(method));
                assertTrue(error instanceof IllegalStateException, method + ": " + error);
                assertTrue(error.getMessage().endsWith(" is closed"), method + ": " + error);
                count++;
            }
        }
        assertTrue(count > 80, count + " methods");
    }

    @Test
    void closedArgumentsAreNamed() throws Exception {
        NDManager closed = TestDevice.newManager();
        NDArray closedArray = closed.ones(new Shape(1, 1, 1));
        closed.close();
        NDArray open = manager.ones(new Shape(1, 1, 1));
        NDList list = new NDList(open);
        int count = 0;
        for (Object object : new Object[] {open, list}) {
            for (Method method : publicMethods(object.getClass())) {
                Object[] arguments = samples(method);
                boolean replaced = false;
                for (int i = 0; i < arguments.length; i++) {
                    Object before = arguments[i];
                    if (before instanceof NDManager) {
                        arguments[i] = closed;
                    } else if (before instanceof NDArray) {
                        arguments[i] = closedArray;
                    }
                    replaced |= before != arguments[i];
                }
                if (replaced) {
                    Throwable error = thrownBy(method, object, arguments);
                    assertTrue(error instanceof IllegalStateException, method + ": " + error);
                    assertTrue(
                            error.getMessage().matches("the (array [a-zA-Z]+|manager) is closed"),
                            method + ": " + error);
                    count++;
                }
            }
        }
        assertTrue(count >= 7, count + " methods");
    }

    @Test
    void nullsAreNamed() throws Exception {
        int count = 0;
        for (Class<?> type : CLASSES) {
            for (Executable member : publicMembers(type)) {
                for (int i = 0; i < member.getParameterCount(); i++) {
                    if (member.getParameterTypes()[i].isPrimitive() || TAKE_NULL.contains(nameOf(member))) {
                        continue;
                    }
                    Object[] arguments = samples(member);
                    arguments[i] = null;
                    Throwable error = thrownBy(member, sampleOf(type), arguments);
                    assertTrue(error instanceof NullPointerException, member + " argument " + i + ": " + error);
                    // The name of the argument, or of the element in a list of lists.
                    assertTrue(error.getMessage().matches("[a-zA-Z0-9]+"), member + ": " + error.getMessage());
                    count++;
                }
            }
        }
        assertTrue(count > 70, count + " arguments");
    }

    /** Any arguments give a result or a documented exception; the process does not end. */
    @Test
    void nonsenseIsRefused() throws Exception {
        Random random = new Random(5);
        List<Executable> members = new ArrayList<>();
        for (Class<?> type : CLASSES) {
            members.addAll(publicMembers(type));
        }
        int answered = 0;
        // A call that gets no native memory waits half a second for the cleaner, so the runs that repeat java.api's tests
        // make fewer calls.
        int rounds = Integer.getInteger("heed.test.calls", 20_000);
        for (int round = 0; round < rounds; round++) {
            Executable member = members.get(random.nextInt(members.size()));
            Object[] arguments = new Object[member.getParameterCount()];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = nonsense(member.getParameterTypes()[i], random);
            }
            Object object = nonsense(member.getDeclaringClass(), random);
            Throwable error = object == null ? null : thrownBy(member, object, arguments);
            answered += error == null ? 1 : 0;
            assertTrue(isDocumented(error), () -> member + Arrays.deepToString(arguments) + ": " + error);
        }
        assertTrue(answered > rounds / 10, answered + " calls succeeded");
        assertEquals(2, manager.ones(new Shape(2)).toFloatArray().length);
    }

    private static boolean isDocumented(Throwable error) {
        return error == null
                || error instanceof NullPointerException
                || error instanceof IllegalArgumentException
                || error instanceof IllegalStateException
                || error instanceof IndexOutOfBoundsException
                || error instanceof UnsupportedOperationException
                || error instanceof ArithmeticException
                || error instanceof OutOfMemoryError
                || error instanceof HeedException
                || error instanceof java.io.IOException;
    }

    // ---- Members ----------------------------------------------------------------------------------------------------

    private static List<Method> publicMethods(Class<?> type) {
        List<Method> methods = new ArrayList<>();
        for (Method method : type.getDeclaredMethods()) {
            boolean ours = !method.isSynthetic() && !NOT_OURS.contains(method.getName());
            if (ours && Modifier.isPublic(method.getModifiers())) {
                methods.add(method);
            }
        }
        // The order of reflection depends on the virtual machine.
        methods.sort((left, right) -> left.toString().compareTo(right.toString()));
        return methods;
    }

    private static List<Executable> publicMembers(Class<?> type) {
        List<Executable> members = new ArrayList<>(publicMethods(type));
        members.removeIf(member -> nameOf(member).equals("equals") || nameOf(member).equals("close"));
        members.addAll(Arrays.asList(type.getConstructors()));
        return members;
    }

    private static String nameOf(Executable member) {
        return member instanceof Constructor ? member.getDeclaringClass().getSimpleName() : member.getName();
    }

    private static Throwable thrownBy(Executable member, Object object, Object[] arguments) throws Exception {
        try {
            if (member instanceof Constructor) {
                ((Constructor<?>) member).newInstance(arguments);
            } else {
                ((Method) member).invoke(object, arguments);
            }
            return null;
        } catch (InvocationTargetException error) {
            return error.getCause();
        }
    }

    // ---- Arguments --------------------------------------------------------------------------------------------------

    private static KvCache newCache(NDManager manager) {
        return KvCache.builder()
                .setNumKvHeads(1)
                .setHeadSize(2)
                .setCapacity(16)
                .optMaxSequences(2)
                .build(manager);
    }

    private Object[] samples(Executable member) {
        Object[] samples = new Object[member.getParameterCount()];
        for (int i = 0; i < samples.length; i++) {
            samples[i] = sampleOf(member.getParameterTypes()[i]);
        }
        return samples;
    }

    /** A value that every member accepts, for an array of shape (1, 1, 1). */
    private Object sampleOf(Class<?> type) {
        if (type == long.class) {
            return 1L;
        } else if (type == long[].class) {
            return new long[3];
        } else if (type == int[].class) {
            return new int[] {0, 1, 2};
        } else if (type == float[].class) {
            return new float[1];
        } else if (type.isArray() && type.getComponentType().isArray()) {
            return Array.newInstance(type.getComponentType().getComponentType(), 1, 1);
        } else if (type == double[].class) {
            return new double[1];
        } else if (type == byte[].class) {
            return new byte[1];
        } else if (type == boolean[].class) {
            return new boolean[1];
        } else if (type == int.class) {
            return 0;
        } else if (type == byte.class) {
            return (byte) 0;
        } else if (type == float.class) {
            return 1f;
        } else if (type == double.class) {
            return 1.0;
        } else if (type == boolean.class) {
            return true;
        } else if (type == Shape.class) {
            return new Shape(1, 1, 1);
        } else if (type == Shape[].class) {
            return new Shape[] {new Shape(1)};
        } else if (type == DataType.class) {
            return DataType.FLOAT32;
        } else if (type == Device.class) {
            return Device.cpu();
        } else if (type == ContextOptions.class) {
            return ContextOptions.builder().build();
        } else if (type == ContextOptions.Builder.class) {
            return ContextOptions.builder();
        } else if (type == LoadOptions.class) {
            return LoadOptions.builder().build();
        } else if (type == LoadOptions.Builder.class) {
            return LoadOptions.builder();
        } else if (type == NDManager.class) {
            return manager;
        } else if (type == NDArray.class) {
            return manager.ones(new Shape(1, 1, 1));
        } else if (type == NDArray[].class) {
            return new NDArray[] {manager.ones(new Shape(1))};
        } else if (type == NDList.class || type == Collection.class) {
            return new NDList(manager.ones(new Shape(1)));
        } else if (type == Workspace.class) {
            return manager.newWorkspace(1);
        } else if (type == Weights.class) {
            return Weights.open(TestFiles.write(
                    folder.resolve("weights"),
                    "{\"cpu\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
                    (byte) 1));
        } else if (type == KvCache.class) {
            return newCache(manager);
        } else if (type == KvCache.Builder.class) {
            return KvCache.builder().setNumKvHeads(1).setHeadSize(2).setCapacity(16);
        } else if (type == Block.class) {
            return MultiHeadAttention.builder().setNumHiddens(2).setNumHeads(1).build();
        } else if (type == CacheLayout.class) {
            return CacheLayout.CONTIGUOUS;
        } else if (type == CacheFullException.class) {
            return new CacheFullException("cache has no room");
        } else if (type == Buffer.class) {
            return Buffers.direct(4).asFloatBuffer();
        } else if (type == Path.class) {
            return folder.resolve("array.npy");
        } else if (type == String.class) {
            return "cpu";
        } else if (type == NDIndex.class) {
            return new NDIndex("0, {}", 0);
        } else if (type == Number.class) {
            return 1.5;
        } else if (type == Function.class) {
            return (Function<NDArray, NDArray>) part -> part;
        } else if (type == Object[].class) {
            return new Object[] {0};
        } else if (type == Object.class) {
            return "any";
        } else if (type == Number.class) {
            return 1;
        } else if (type == RopeLayout.class) {
            return RopeLayout.HALF;
        } else if (type == BiConsumer.class) {
            return (BiConsumer<?, ?>) (level, text) -> {};
        } else if (type == Consumer.class) {
            return (Consumer<?>) element -> {};
        } else if (type == Predicate.class) {
            return (Predicate<?>) element -> false;
        } else if (type == UnaryOperator.class) {
            return UnaryOperator.identity();
        } else if (type == IntFunction.class) {
            return (IntFunction<Object[]>) Object[]::new;
        } else if (type == Comparator.class) {
            return (Comparator<?>) (first, second) -> 0;
        } else if (type == System.Logger.class) {
            return System.getLogger("io.heed");
        } else if (type == DataInputStream.class) {
            return new DataInputStream(new ByteArrayInputStream(new Shape(1).getEncoded()));
        } else if (type == InputStream.class) {
            return new ByteArrayInputStream(new NDList(manager.ones(new Shape(1))).encode());
        } else if (type == OutputStream.class) {
            return new ByteArrayOutputStream();
        } else if (type == Throwable.class || type == MalformedModelException.class) {
            return new MalformedModelException("");
        }
        throw new AssertionError("no sample of " + type);
    }

    /** Mostly nonsensical values, but never those that take much memory. */
    private Object nonsense(Class<?> type, Random random) {
        long[] numbers = {0, 1, 2, 3, 7, -1, -2, -7, Long.MIN_VALUE, Long.MAX_VALUE, 1L << 62};
        float[] floats = {0, 1, -1, 2.5f, -0f, 1e30f, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY};
        long number = numbers[random.nextInt(random.nextBoolean() ? 4 : numbers.length)];
        int length = random.nextInt(random.nextInt(10) == 0 ? 12 : 5);
        if (type.isPrimitive() || random.nextInt(20) > 0) {
            if (type == long.class) {
                return number;
            } else if (type == int.class) {
                return (int) number;
            } else if (type == float.class) {
                return floats[random.nextInt(floats.length)];
            } else if (type == double.class) {
                return (double) floats[random.nextInt(floats.length)];
            } else if (type == boolean.class) {
                return random.nextBoolean();
            } else if (type == Number.class) {
                return random.nextBoolean() ? (Number) number : (Number) floats[random.nextInt(floats.length)];
            } else if (type == long[].class) {
                return random.longs(length, 0, numbers.length).map(i -> numbers[(int) i % 6]).toArray();
            } else if (type == int[].class) {
                return random.ints(length, -4, 5).toArray();
            } else if (type == float[].class) {
                return new float[length];
            } else if (type == Shape.class) {
                int large = random.nextInt(4) == 0 ? numbers.length : 4;
                return new Shape(random.longs(length, 0, large).map(i -> numbers[(int) i]).toArray());
            } else if (type == NDIndex.class) {
                String[] parts = {":", "...", "0", "-2", "1:", ":9", "0, 0", "1:0, ...", ":, :, :, :, :", "::-1", "null, ..., ::2"};
                return new NDIndex(parts[random.nextInt(parts.length)]);
            } else if (type == Object[].class) {
                return new Object[] {number, random.nextInt(3) == 0 ? null : length};
            } else if (type == DataType.class) {
                return DataType.values()[random.nextInt(DataType.values().length)];
            } else if (type == Buffer.class) {
                Buffer[] buffers = {
                    FloatBuffer.allocate(length), ByteBuffer.allocate(4 * length),
                    ByteBuffer.allocateDirect(4 * length), Buffers.direct(4 * length).asFloatBuffer(),
                    IntBuffer.allocate(length).asReadOnlyBuffer()
                };
                return buffers[random.nextInt(buffers.length)];
            } else if (type == NDArray.class) {
                return someArray(random);
            } else if (type == NDManager.class) {
                NDManager open = random.nextBoolean() ? manager : manager.newSubManager();
                return random.nextInt(10) == 0 ? closedManager() : open;
            } else if (type == String.class) {
                return new String[] {"cpu", "ascend", "", "\0", "\ud83d"}[random.nextInt(5)];
            } else if (type == Path.class) {
                return new Path[] {folder, folder.resolve("some"), folder.resolve("no/such")}[random.nextInt(3)];
            }
            return sampleOf(type);
        }
        return null;
    }

    private static NDManager closedManager() {
        NDManager closed = TestDevice.newManager();
        closed.close();
        return closed;
    }

    private NDArray someArray(Random random) {
        DataType type = DataType.values()[random.nextInt(DataType.values().length)];
        type = random.nextBoolean() ? DataType.FLOAT32 : type;
        NDArray array = manager.ones(new Shape(random.longs(random.nextInt(5), 0, 4).toArray()), type);
        array = random.nextInt(3) == 0 ? array.transpose() : array;
        if (random.nextInt(20) == 0) {
            array.close();
        }
        return array;
    }
}
