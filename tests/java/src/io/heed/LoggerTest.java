// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.ResourceBundle;
import java.util.function.BiConsumer;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What heed says beside its results. */
@Tag("cpu")
class LoggerTest {
    private final List<String> messages = Collections.synchronizedList(new ArrayList<>());

    private static NDManager newManager(BiConsumer<Level, String> logger) {
        return NDManager.newBaseManager(Device.cpu(), ContextOptions.builder().optLogger(logger).build());
    }

    private NDManager newManager() {
        return newManager((level, text) -> messages.add(level + " " + text));
    }

    private String only(String beginning) {
        List<String> found = new ArrayList<>(messages);
        found.removeIf(message -> !message.startsWith(beginning));
        assertEquals(1, found.size(), messages.toString());
        return found.get(0);
    }

    @Test
    void devicesAndKernels() {
        try (NDManager manager = newManager()) {
            assertTrue(only("INFO heed_context_create: heed ").contains("threads: "));
            NDArray ones = manager.ones(new Shape(2, 2));
            ones.matMul(ones);
            assertTrue(only("DEBUG heed_matmul: ").contains("by kernel"));
        }
    }

    /** The exception's sentence, also if the call has pinned an array, in which Java must not be called. */
    @Test
    void failuresAreTheirExceptions() {
        try (NDManager manager = newManager()) {
            NDArray ones = manager.ones(new Shape(2, 3));
            IllegalArgumentException error = assertThrows(IllegalArgumentException.class, () -> ones.matMul(ones));
            assertEquals("ERROR heed_matmul: " + error.getMessage(), only("ERROR"));
            messages.clear();
            Linear linear = Linear.builder().setUnits(2).build();
            linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
            IllegalArgumentException wrong =
                    assertThrows(IllegalArgumentException.class, () -> linear.forward(manager.ones(new Shape(1, 4))));
            assertEquals("ERROR heed_layer_create_outputs: " + wrong.getMessage(), only("ERROR"));
            linear.close();
        }
    }

    /** What a model's folder has beside the model; and no failures of heed's own attempts. */
    @Test
    void modelsTellWhatTheyDoNotRead() {
        try (NDManager manager = newManager();
                Model bert = Model.newInstance("bert");
                Model t5 = Model.newInstance("t5")) {
            bert.load(TestFiles.data("models/bert"), manager);
            String warning = only("WARNING");
            assertTrue(
                    warning.endsWith("has 2 tensors that are not part of the block, such as \"pooler.dense.bias\": they are not"
                            + " read"),
                    warning);
            assertTrue(messages.stream().anyMatch(each -> each.contains(": encoder has its 37 parameters from ")));
            messages.clear();
            t5.load(TestFiles.data("model_settings/t5-head-beside"), manager);
            assertTrue(only("WARNING").contains("ties the head to the embedding, but"));
            assertTrue(messages.stream().noneMatch(each -> each.startsWith("ERROR")), messages.toString());
        }
    }

    @Test
    void attemptsOfHeedsOwnAreNoFailures() {
        try (NDManager manager = newManager();
                Linear linear = Linear.builder().setUnits(2).build()) {
            linear.getParameters().get("bias").setArray(manager.ones(new Shape(2)));
            assertFalse(linear.getParameters().get("weight").isInitialized());
            linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
            manager.ones(new Shape(2, 3)).transpose().reshape(6);
            assertTrue(messages.stream().noneMatch(each -> each.startsWith("ERROR")), messages.toString());
        }
    }

    /** Neither an exception nor calls of heed in a logger change the call that the message is about. */
    @Test
    void loggersMayFail() {
        try (NDManager plain = NDManager.newBaseManager();
                NDManager manager = newManager((level, text) -> {
                    messages.add(text);
                    assertThrows(IllegalArgumentException.class, () -> plain.ones(new Shape(1, 2)).matMul(plain.ones(
                            new Shape(5, 1))));
                    throw new IllegalStateException("the logger's own");
                })) {
            NDArray ones = manager.ones(new Shape(2, 2));
            assertEquals(2, ones.matMul(ones).getFloat(0, 0));
            assertThrows(IllegalArgumentException.class, () -> ones.matMul(manager.ones(new Shape(3, 2))));
            assertFalse(messages.isEmpty());
        }
    }

    /** Each message comes once and in its order, and there is none about the logger's own calls. */
    @Test
    void loggersMayCallHeed() {
        NDManager[] own = new NDManager[1];
        int[] depth = new int[2];
        try (NDManager manager = newManager((level, text) -> {
                    messages.add(level + " " + text);
                    depth[0]++;
                    depth[1] = Math.max(depth[0], depth[1]);
                    for (int call = 0; own[0] != null && call < 3; call++) {
                        NDArray ones = own[0].ones(new Shape(2, 3));
                        assertThrows(IllegalArgumentException.class, () -> ones.matMul(ones));
                    }
                    depth[0]--;
                });
                Model quiet = Model.newInstance("bert");
                Model loud = Model.newInstance("bert")) {
            Path bert = TestFiles.data("models/bert");
            messages.clear();
            quiet.load(bert, manager);
            List<String> expected = new ArrayList<>(messages);
            assertTrue(expected.size() > 1, expected.toString());
            own[0] = manager;
            messages.clear();
            loud.load(bert, manager);
            assertEquals(expected, messages);
            assertEquals(1, depth[1]);
        }
    }

    @Test
    void theLoggerOfThePlatform() {
        System.Logger logger = new System.Logger() {
            @Override
            public String getName() {
                return "heed";
            }

            @Override
            public boolean isLoggable(Level level) {
                return level != Level.DEBUG;
            }

            @Override
            public void log(Level level, ResourceBundle bundle, String text, Throwable thrown) {
                throw new AssertionError();
            }

            @Override
            public void log(Level level, ResourceBundle bundle, String text, Object... arguments) {
                if (isLoggable(level)) {
                    messages.add(level + " " + text);
                }
            }
        };
        ContextOptions options = ContextOptions.builder().optLogger(logger).build();
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), options)) {
            manager.ones(new Shape(1, 1)).matMul(manager.ones(new Shape(1, 1)));
            only("INFO heed_context_create");
            assertEquals(1, messages.size());
        }
    }

    @Test
    void options() {
        BiConsumer<Level, String> logger = (level, text) -> {};
        ContextOptions options = ContextOptions.builder().optLogger(logger).build();
        assertEquals(options, ContextOptions.builder().optLogger(logger).build());
        assertSame(logger, options.getLogger());
        assertNull(ContextOptions.builder().build().getLogger());
        assertNotEquals(options, ContextOptions.builder().build());
        assertEquals(options.toString(), ContextOptions.builder().build().toString());
        NullPointerException error = assertThrows(
                NullPointerException.class, () -> ContextOptions.builder().optLogger((System.Logger) null));
        assertEquals("logger", error.getMessage());
    }
}
