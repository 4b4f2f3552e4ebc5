// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;

/** Public members as other languages of the JVM, and frameworks, call them. */
class ReflectionTest {
    static List<Class<?>> publicClasses() throws Exception {
        URI jar = NDArray.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        List<Class<?>> found = new ArrayList<>();
        try (JarFile entries = new JarFile(new File(jar))) {
            for (String name : entries.stream().map(Object::toString).collect(Collectors.toList())) {
                if (name.startsWith("io/heed/") && name.endsWith(".class")) {
                    Class<?> type = Class.forName(
                            name.substring(0, name.length() - ".class".length()).replace('/', '.'), false,
                            NDArray.class.getClassLoader());
                    if (isPublic(type)) {
                        found.add(type);
                    }
                }
            }
        }
        return found;
    }

    private static boolean isPublic(Class<?> type) {
        return Modifier.isPublic(type.getModifiers())
                && (type.getEnclosingClass() == null || isPublic(type.getEnclosingClass()));
    }

    @Test
    void membersAreOfPublicClasses() throws Exception {
        int count = 0;
        for (Class<?> type : publicClasses()) {
            for (Method method : type.getMethods()) {
                assertTrue(isPublic(method.getDeclaringClass()), type + ": " + method);
                count++;
            }
            for (Field field : type.getFields()) {
                assertTrue(isPublic(field.getDeclaringClass()), type + ": " + field);
            }
        }
        assertTrue(count > 1000, count + " methods");
    }

    @Test
    void aBlockComputesByReflection() throws Exception {
        try (NDManager manager = NDManager.newBaseManager();
                Block block = new DotProductAttention(0)) {
            NDArray ones = manager.ones(new Shape(1, 2, 4));
            Class<?> type = block.getClass();
            Method forward = type.getMethod("forward", NDArray[].class);
            NDList found = (NDList) forward.invoke(block, (Object) new NDArray[] {ones, ones, ones});
            assertEquals(ones, found.singletonOrThrow());
            type.getMethod("initialize", NDManager.class, DataType.class, Shape[].class)
                    .invoke(block, manager, DataType.FLOAT32, new Shape[] {ones.getShape(), ones.getShape(), ones.getShape()});
            assertEquals(true, type.getMethod("isInitialized").invoke(block));
            assertEquals("DotProductAttention(dropout=0.0)", type.getMethod("toString").invoke(block));
            assertEquals(new Shape(1, 2, 2), ((NDArray) type.getField("attentionWeights").get(block)).getShape());
        }
    }
}
