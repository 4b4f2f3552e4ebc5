// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A null in any argument of any public member is accepted, or an exception names the argument. */
class NullArgumentsTest {
    private final NDManager manager = TestDevice.newManager();
    private final Map<Class<?>, Object> samples = new HashMap<>();

    @TempDir
    Path folder;

    @AfterEach
    void close() {
        manager.close();
    }

    private void add(Object sample, Class<?>... types) {
        Arrays.asList(types).forEach(type -> samples.put(type, sample));
    }

    private void addSamples() {
        NDArray array = manager.ones(new Shape(1, 1, 1));
        add(1, int.class);
        add(1L, long.class);
        add(1f, float.class);
        add(1.0, double.class);
        add(true, boolean.class);
        add((byte) 1, byte.class);
        add("a", String.class, Object.class);
        add(new Object[0], Object[].class);
        add(new String[] {"a"}, String[].class);
        add(array, NDArray.class);
        add(new NDArray[] {array}, NDArray[].class);
        add(new NDList(array), NDList.class, Collection.class);
        add(array.getShape(), Shape.class);
        add(new Shape[] {array.getShape()}, Shape[].class);
        add(new long[] {1}, long[].class);
        add(new float[] {1}, float[].class);
        add(new int[] {1}, int[].class);
        add(new ArrayList<>(List.of()), List.class);
        add(new HashMap<>(), Map.class);
        add(new Pair<>("a", "b"), Pair.class);
        add(new PairList<>(), PairList.class);
        add(new ParameterList(), ParameterList.class);
        add(new BlockList(), BlockList.class);
        add(Parameter.builder().setName("a").setType(Parameter.Type.BIAS).build(), Parameter.class);
        add(new ParameterStore(manager, false), ParameterStore.class);
        add(new SequentialBlock(), Block.class, SequentialBlock.class);
        add(new Block[0], Block[].class);
        add((Predicate<Parameter>) each -> false, Predicate.class);
        add((BiConsumer<?, ?>) (level, text) -> {}, BiConsumer.class);
        add(Initializer.ONES, Initializer.class);
        add(new AttentionInputs(), AttentionInputs.class);
        add(new AttentionOutputs(), AttentionOutputs.class);
        add(new Taps(), Taps.class);
        add(new Wanted[] {Wanted.WEIGHTS}, Wanted[].class);
        add(new DataType[] {DataType.FLOAT32}, DataType[].class);
        add(manager, NDManager.class);
        add(Model.newInstance("a"), Model.class);
        add(Device.cpu(), Device.class);
        add(ContextOptions.builder().build(), ContextOptions.class);
        add(new NDIndex("0"), NDIndex.class);
        add(folder, Path.class);
        add(new Activation[0], Activation[].class);
        add(new NormalInitializer(), NormalInitializer.class);
    }

    /** A sample, or null if there is none. */
    private Object sampleOf(Class<?> type) throws Exception {
        if (!samples.containsKey(type)) {
            Object made = type.isEnum() ? type.getEnumConstants()[0] : null;
            if (type.getConstructors().length > 0 && !Modifier.isAbstract(type.getModifiers())) {
                for (Constructor<?> each : type.getConstructors()) {
                    made = each.getParameterCount() == 0 ? each.newInstance() : made;
                }
            }
            if (type.getSimpleName().equals("Builder")) {
                made = type.getEnclosingClass().getMethod("builder").invoke(null);
            }
            samples.put(type, made);
        }
        return samples.get(type);
    }

    @Test
    void everyMember() throws Exception {
        addSamples();
        int count = 0;
        List<String> unnamed = new ArrayList<>();
        for (Class<?> type : ReflectionTest.publicClasses()) {
            List<Executable> members = new ArrayList<>(Arrays.asList(type.getMethods()));
            members.addAll(Arrays.asList(type.getConstructors()));
            for (Executable member : members) {
                Class<?> owner = member.getDeclaringClass();
                // A list has the members of Java's lists, too.
                boolean isOurs = (owner.getName().startsWith("io.heed.") || owner.getName().startsWith("java.util.")
                                || owner == Iterable.class)
                        && !owner.isEnum() && !member.getName().equals("close");
                Class<?>[] types = member.getParameterTypes();
                for (int i = 0; isOurs && i < types.length; i++) {
                    if (!types[i].isPrimitive() && isUnnamed(member, types, type, i)) {
                        unnamed.add(member + " argument " + i);
                    }
                    count++;
                }
            }
        }
        assertTrue(unnamed.isEmpty(), String.join("\n", unnamed));
        assertTrue(count > 500, count + " arguments");
    }

    private boolean isUnnamed(Executable member, Class<?>[] types, Class<?> type, int index) throws Exception {
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = i == index ? null : sampleOf(types[i]);
            if (i != index && arguments[i] == null) {
                return false;
            }
        }
        Object object = Modifier.isStatic(member.getModifiers()) ? null : sampleOf(type);
        if (member instanceof Method && !Modifier.isStatic(member.getModifiers()) && object == null
                || Modifier.isAbstract(type.getModifiers()) && member instanceof Constructor) {
            return false;
        }
        try {
            if (member instanceof Method) {
                ((Method) member).invoke(object, arguments);
            } else {
                ((Constructor<?>) member).newInstance(arguments);
            }
            return false;
        } catch (InvocationTargetException error) {
            Throwable cause = error.getCause();
            return cause instanceof NullPointerException
                    && (cause.getMessage() == null || cause.getMessage().startsWith("Cannot "));
        }
    }
}
