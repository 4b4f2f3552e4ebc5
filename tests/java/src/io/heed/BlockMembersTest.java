// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every public method of every kind of block: with valid arguments, after closing, and with nulls. */
class BlockMembersTest {
    /** Methods that also work on a closed block. */
    private static final Set<String> ANSWER_WHEN_CLOSED = Set.of(
            "close", "toString", "setSeed", "getChildren", "getDirectParameters", "getParameters", "setInitializer",
            "freezeParameters", "setKeepAttentionWeights", "isKeepAttentionWeights");
    /** Types for which null is a valid argument. */
    private static final Set<Class<?>> MAY_BE_NULL = Set.of(String.class, PairList.class, Workspace.class);

    @TempDir
    Path folder;

    private final NDManager manager = TestDevice.newManager();
    private final Shape shape = new Shape(2, 3, 4);
    private final NDArray x = manager.ones(shape);
    private final NDArray ids = manager.zeros(new Shape(2, 3), DataType.INT32);

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void everyMethodWorks() throws Exception {
        int count = 0;
        for (Block block : blocks()) {
            for (Method method : publicMethods(block)) {
                Block fresh = like(block);
                fresh.initialize(manager, DataType.FLOAT32, shapes(fresh));
                Throwable error = thrownBy(method, fresh, samples(method, fresh));
                assertEquals(null, error, block + " " + method);
                count++;
                fresh.close();
            }
        }
        assertTrue(count > 150, count + " methods");
    }

    @Test
    void closedBlocksThrow() throws Exception {
        int count = 0;
        for (Block block : blocks()) {
            block.initialize(manager, DataType.FLOAT32, shapes(block));
            block.close();
            block.close();
            for (Method method : publicMethods(block)) {
                if (ANSWER_WHEN_CLOSED.contains(method.getName())) {
                    assertEquals(null, thrownBy(method, block, samples(method, block)), method.toString());
                    continue;
                }
                Throwable error = thrownBy(method, block, samples(method, block));
                assertTrue(error instanceof IllegalStateException, block + " " + method + ": " + error);
                assertTrue(
                        error.getMessage().endsWith("is closed")
                                || error.getMessage().startsWith("the block was not initialized"),
                        method + ": " + error);
                count++;
            }
        }
        assertTrue(count > 75, count + " methods");
    }

    @Test
    void nullsAreNamed() throws Exception {
        int count = 0;
        for (Block block : blocks()) {
            block.initialize(manager, DataType.FLOAT32, shapes(block));
            for (Method method : publicMethods(block)) {
                for (int i = 0; i < method.getParameterCount(); i++) {
                    Class<?> type = method.getParameterTypes()[i];
                    boolean isName = method.getName().equals("setInitializer");
                    if (type.isPrimitive() || (MAY_BE_NULL.contains(type) && !isName)) {
                        continue;
                    }
                    Object[] arguments = samples(method, block);
                    arguments[i] = null;
                    Throwable error = thrownBy(method, block, arguments);
                    assertTrue(error instanceof NullPointerException, method + " argument " + i + ": " + error);
                    assertNotNull(error.getMessage(), method.toString());
                    assertTrue(error.getMessage().matches("[a-zA-Z]+"), method + ": " + error.getMessage());
                    count++;
                }
            }
        }
        assertTrue(count > 100, count + " arguments");
    }

    private static Block[] blocks() {
        return new Block[] {
            Linear.builder().setUnits(4).build(), Dropout.builder().build(), new DotProductAttention(0.5f),
            new AdditiveAttention(4, 0.5f), new GeneralAttention(4, 0.5f), new MultiHeadAttention(4, 2, 0.5f, true),
            PositionalEncoding.builder().setNumHiddens(4).setMaxLen(3).optKind(PositionKind.LEARNED).build(),
            LayerNorm.builder().build(), FeedForward.builder().setHiddenSize(3).optGated(true).build(),
            Embedding.builder().setNumEmbeddings(2).setEmbeddingSize(4).build(),
            encoderBlock().build(), decoderBlock().build(),
            TransformerEncoder.builder().setLayer(encoderBlock()).setNumLayers(2).build(),
            TransformerDecoder.builder().setLayer(decoderBlock()).setNumLayers(2).optFinalNorm(true).build(),
            Transformer.builder()
                    .setEncoder(TransformerEncoder.builder().setLayer(encoderBlock()).setNumLayers(1))
                    .setDecoder(TransformerDecoder.builder().setLayer(decoderBlock()).setNumLayers(2))
                    .optEmbedding(Embedding.builder().setNumEmbeddings(2))
                    .build()
        };
    }

    private static TransformerEncoderBlock.Builder encoderBlock() {
        return TransformerEncoderBlock.builder().setAttention(attention()).setFeedForward(feedForward());
    }

    private static TransformerDecoderBlock.Builder decoderBlock() {
        return TransformerDecoderBlock.builder()
                .setSelfAttention(attention())
                .optCrossAttention(attention())
                .setFeedForward(feedForward());
    }

    private static MultiHeadAttention.Builder attention() {
        return MultiHeadAttention.builder().setNumHiddens(4).setNumHeads(2);
    }

    private static FeedForward.Builder feedForward() {
        return FeedForward.builder().setHiddenSize(3);
    }

    private static Block like(Block block) {
        for (Block made : blocks()) {
            if (made.getClass() == block.getClass()) {
                return made;
            }
        }
        throw new AssertionError(block);
    }

    private static List<Method> publicMethods(Block block) {
        List<Method> methods = new ArrayList<>();
        for (Method method : block.getClass().getMethods()) {
            boolean isOurs = method.getDeclaringClass() != Object.class && !Modifier.isStatic(method.getModifiers());
            boolean namesAParameter = method.getName().equals("setInitializer")
                    && method.getParameterTypes()[1] == String.class;
            if (isOurs && !(namesAParameter && block.getParameters().isEmpty())) {
                methods.add(method);
            }
        }
        return methods;
    }

    /** The list of inputs of forward. */
    private NDList list(Block block) {
        if (block instanceof Embedding) {
            return new NDList(ids);
        }
        if (block instanceof TransformerDecoderBlock || block instanceof TransformerDecoder) {
            return new NDList(x, x);
        }
        if (block instanceof Transformer) {
            return new NDList(ids, ids);
        }
        boolean hasOne = block instanceof BuiltBlock;
        return hasOne ? new NDList(x) : new NDList(x, x, x);
    }

    private Shape[] shapes(Block block) {
        return list(block).getShapes();
    }

    /** A cache for any of {@link #blocks}. */
    private KvCache newCache() {
        return KvCache.builder()
                .optMaxSequences(2)
                .optNumLayers(2)
                .setNumKvHeads(2)
                .setHeadSize(2)
                .setCapacity(3)
                .build(manager);
    }

    private Object[] samples(Method method, Block block) throws Exception {
        Object[] samples = new Object[method.getParameterCount()];
        for (int i = 0; i < samples.length; i++) {
            samples[i] = sampleOf(method.getParameterTypes()[i], method, block);
        }
        return samples;
    }

    private Object sampleOf(Class<?> type, Method method, Block block) throws Exception {
        if (type == boolean.class) {
            return false;
        } else if (type == long.class) {
            return 1L;
        } else if (type == String.class) {
            return method.getName().equals("setInitializer") ? block.getParameters().keyAt(0) : null;
        } else if (type == NDManager.class) {
            return manager;
        } else if (type == DataType.class) {
            return DataType.FLOAT32;
        } else if (type == Shape[].class) {
            return shapes(block);
        } else if (type == DataType[].class) {
            DataType[] types = new DataType[shapes(block).length];
            Arrays.fill(types, list(block).head().getDataType());
            return types;
        } else if (type == NDList.class) {
            return list(block);
        } else if (type == NDArray[].class) {
            return list(block).toArray(new NDArray[0]);
        } else if (type == ParameterStore.class) {
            return new ParameterStore(manager, false);
        } else if (type == PairList.class) {
            return new PairList<String, Object>();
        } else if (type == AttentionInputs.class) {
            NDList list = list(block);
            AttentionInputs inputs = new AttentionInputs()
                    .setQueries(list.head())
                    .setKeys(list.size() == 2 ? list.get(1) : null);
            if (method.getName().equals("fillCache")) {
                inputs.setCache(newCache()).setQueries(list.size() == 2 ? null : list.head());
            }
            return inputs;
        } else if (type == AttentionOutputs.class) {
            return new AttentionOutputs().setOutput(manager.ones(shape));
        } else if (type == Taps.class) {
            return new Taps();
        } else if (type == Workspace.class) {
            return null;
        } else if (type == Wanted[].class) {
            return new Wanted[] {Wanted.OUTPUT};
        } else if (type == Initializer.class) {
            return Initializer.ONES;
        } else if (type == Parameter.Type.class) {
            return Parameter.Type.WEIGHT;
        } else if (type == Predicate.class) {
            return (Predicate<Parameter>) parameter -> true;
        } else if (type == Path.class) {
            Path file = folder.resolve(block.getClass().getSimpleName());
            if (!Files.exists(file)) {
                Block saved = like(block);
                saved.initialize(manager, DataType.FLOAT32, shapes(block));
                ((NativeBlock) saved).save(file);
            }
            return file;
        } else if (type == Weights.class) {
            return Weights.open((Path) sampleOf(Path.class, method, block));
        } else if (type == LoadOptions.class) {
            return LoadOptions.builder().build();
        } else if (type.isArray() && type.getComponentType() == String.class) {
            return new String[0];
        } else if (type == OutputStream.class) {
            return new ByteArrayOutputStream();
        } else if (type == DataOutputStream.class) {
            return new DataOutputStream(new ByteArrayOutputStream());
        } else if (type == InputStream.class || type == DataInputStream.class) {
            Block saved = like(block);
            saved.initialize(manager, DataType.FLOAT32, shapes(block));
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            if (type == InputStream.class) {
                ((NativeBlock) saved).save(bytes);
            } else {
                saved.saveParameters(new DataOutputStream(bytes));
            }
            return new DataInputStream(new ByteArrayInputStream(bytes.toByteArray()));
        }
        throw new AssertionError("no sample of " + type);
    }

    private static Throwable thrownBy(Method method, Block block, Object[] arguments) throws Exception {
        try {
            method.invoke(block, arguments);
            return null;
        } catch (InvocationTargetException error) {
            return error.getCause();
        }
    }
}
