// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Gradients of composed blocks, all of whose parameters an optimizer changes together. */
class ParameterGradientsTest {
    private NDManager manager;
    private Scaled block;

    /** A linear layer, and the product with a parameter of its own. */
    private static final class Scaled extends AbstractBlock {
        final Linear linear = addChildBlock("linear", Linear.builder().setUnits(3).build());
        final Parameter scale = addParameter(Parameter.builder()
                .setName("scale")
                .setType(Parameter.Type.GAMMA)
                .optShape(new Shape(3))
                .build());

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            return new NDList(linear.forward(store, inputs, training).get(0).mul(scale.getArray()));
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            linear.initialize(manager, dataType, inputShapes);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return linear.getOutputShapes(inputShapes);
        }
    }

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
        block = new Scaled();
        block.setSeed(1);
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
    }

    @AfterEach
    void close() {
        block.close();
        manager.close();
    }

    private static GradientCollector collector() {
        return Engine.getInstance().newGradientCollector();
    }

    private NDArray input() {
        return manager.create(new float[] {1, 2, 3, 4, 5, 6}, new Shape(2, 3));
    }

    private void backward() {
        try (GradientCollector collector = collector()) {
            collector.backward(block.forward(input()).get(0).square().sum());
        }
    }

    private NDArray weight() {
        return block.linear.getParameters().get("weight").getArray();
    }

    @Test
    void aStepChangesBlocksAndOwnParametersTogether() {
        ParameterGradients gradients = new ParameterGradients(block.getParameters());
        assertEquals(2, gradients.sets().length);
        assertTrue(gradients.areAllZero());
        backward();
        assertFalse(gradients.areAllZero());
        NDArray weight = weight();
        NDArray scale = block.scale.getArray();
        NDArray wantedWeight = weight.sub(weight.getGradient().mul(0.5));
        NDArray wantedScale = scale.sub(scale.getGradient().mul(0.5));
        assertFalse(wantedScale.allClose(scale));
        try (NativeOptimizer optimizer = sgd(gradients.context(), 0.5)) {
            gradients.step(optimizer);
            assertTrue(weight().allClose(wantedWeight));
            assertTrue(scale.allClose(wantedScale));
            scale.getGradient().set(new float[] {Float.NaN, 0, 0});
            // A gradient that is not finite stops all of them.
            assertThrows(IllegalArgumentException.class, () -> gradients.step(optimizer));
            assertTrue(weight().allClose(wantedWeight));
            gradients.zero();
            assertTrue(gradients.areAllZero());
            gradients.step(optimizer);
            assertTrue(scale.allClose(wantedScale));
        }
    }

    private static NativeOptimizer sgd(NativeContext context, double learningRate) {
        try (NativeSgdOptions options = new NativeSgdOptions()) {
            options.setLearningRate(learningRate);
            return HeedNative.heed_sgd_create(context, options);
        }
    }

    @Test
    void gradientsAreScaledAndClipped() {
        ParameterGradients gradients = new ParameterGradients(block.getParameters());
        backward();
        NDArray before = weight().getGradient().duplicate();
        gradients.scale(2);
        assertTrue(weight().getGradient().allClose(before.mul(2)));
        double norm = gradients.clipNorm(1);
        assertTrue(norm > 1);
        assertEquals(1, gradients.clipNorm(Double.POSITIVE_INFINITY), 1e-5);
        gradients.clipElements(0.01);
        for (Parameter each : block.getParameters().values()) {
            assertTrue(each.getArray().getGradient().abs().max().getFloat() <= 0.01f, each.getName());
        }
        assertThrows(IllegalArgumentException.class, () -> gradients.clipNorm(-1));
    }

    @Test
    void aListMustBeComplete() {
        ParameterList some = new ParameterList();
        some.add("linear_weight", block.linear.getParameters().get("weight"));
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> new ParameterGradients(some));
        assertTrue(refused.getMessage().startsWith("parameters lacks \"bias\""), refused.getMessage());
        block.linear.getParameters().get("bias").freeze(true);
        ParameterGradients gradients = new ParameterGradients(some);
        block.linear.getParameters().get("bias").freeze(false);
        try (NativeOptimizer optimizer = sgd(gradients.context(), 1)) {
            assertThrows(IllegalArgumentException.class, () -> gradients.step(optimizer));
            block.linear.getParameters().get("bias").freeze(true);
            gradients.step(optimizer);
            block.freezeParameters(true);
            assertThrows(IllegalStateException.class, () -> gradients.step(optimizer));
        }
        ParameterList other = new ParameterList();
        other.add("w", block.scale);
        assertThrows(IllegalArgumentException.class, () -> new ParameterGradients(other));
        ParameterGradients none = new ParameterGradients(new ParameterList());
        assertThrows(IllegalArgumentException.class, none::context);
        block.freezeParameters(false);
        ParameterGradients all = new ParameterGradients(block.getParameters());
        block.close();
        assertThrows(IllegalStateException.class, all::sets);
    }

    @Test
    void ownParametersAreLeaves() {
        NDArray scale = block.scale.getArray();
        assertTrue(scale.hasGradient());
        scale.setRequiresGradient(true);
        assertThrows(IllegalStateException.class, () -> scale.setRequiresGradient(false));
        try (GradientCollector collector = collector()) {
            NDArray y = scale.square().sum();
            collector.backward(y);
            assertArrayEquals(new float[] {2, 2, 2}, scale.getGradient().toFloatArray());
            NDArray other = scale.square();
            ParameterGradients gradients = new ParameterGradients(block.getParameters());
            try (NativeOptimizer optimizer = sgd(gradients.context(), 0.25)) {
                gradients.step(optimizer);
            }
            assertArrayEquals(new float[] {0.5f, 0.5f, 0.5f}, scale.toFloatArray());
            assertEquals("array of square has been written since: expected the same elements until backward",
                    assertThrows(IllegalStateException.class, () -> collector.backward(other)).getMessage());
            collector.zeroGradients();
            assertArrayEquals(new float[3], scale.getGradient().toFloatArray());
        }
        block.scale.freeze(true);
        assertThrows(IllegalStateException.class, scale::getGradient);
        block.scale.freeze(false);
        scale.getGradient().addi(1);
        NDArray next = manager.ones(new Shape(3));
        block.scale.setArray(next);
        assertFalse(scale.hasGradient());
        assertArrayEquals(new float[3], next.getGradient().toFloatArray());
        block.scale.cast(DataType.FLOAT64);
        NDArray wide = block.scale.getArray();
        try (GradientCollector collector = collector()) {
            collector.backward(wide.mul(2));
        }
        assertArrayEquals(new double[] {2, 2, 2}, wide.getGradient().toDoubleArray());
        // An optimizer needs FLOAT32.
        ParameterGradients gradients = new ParameterGradients(block.getParameters());
        assertThrows(IllegalArgumentException.class, gradients::sets);
        block.scale.cast(DataType.FLOAT16);
        NDArray narrow = block.scale.getArray();
        assertThrows(IllegalArgumentException.class, narrow::getGradient);
    }

    @Test
    void aWrappedBufferStaysAliveWithItsGradient() {
        NDArray values = manager.wrap(manager.allocateDirect(12).asFloatBuffer(), new Shape(3));
        block.scale.setArray(values);
        backward();
        ParameterGradients gradients = new ParameterGradients(block.getParameters());
        try (NativeOptimizer optimizer = sgd(gradients.context(), 1)) {
            for (int i = 0; i < 5; i++) {
                System.gc();
                gradients.step(optimizer);
            }
        }
    }

    @Test
    void theStateOfAReplacedLayerIsNew() {
        ParameterGradients gradients = new ParameterGradients(block.getParameters());
        backward();
        block.linear.clear();
        block.linear.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        assertEquals(0, weight().getGradient().abs().sum().getFloat());
        assertFalse(gradients.areAllZero());
        backward();
        assertTrue(weight().getGradient().abs().sum().getFloat() > 0);
    }

    @Test
    void manyThreadsAddToTheGradientsOfABlock() throws Exception {
        try (GradientCollector collector = collector()) {
            collector.backward(block.linear.forward(input()).get(0).sum());
        }
        NDArray once = weight().getGradient().duplicate();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<?>> running = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            running.add(threads.submit(() -> {
                try (GradientCollector collector = collector()) {
                    collector.backward(block.linear.forward(input()).get(0).sum());
                }
            }));
        }
        for (Future<?> each : running) {
            each.get();
        }
        threads.shutdown();
        assertTrue(weight().getGradient().allClose(once.mul(41)));
    }

    /** Whoever loses a collector without closing it loses what it holds, too. */
    @Test
    void aForgottenCollectorIsClosed() throws Exception {
        WeakReference<GradientCollector> lost = lose();
        for (int i = 0; i < 500 && lost.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertNull(lost.get());
        IllegalStateException error = null;
        for (int i = 0; i < 500; i++) {
            try {
                collector().close();
                error = null;
                break;
            } catch (IllegalStateException stillOpen) {
                error = stillOpen;
                Thread.sleep(10);
            }
        }
        assertNull(error);
    }

    private WeakReference<GradientCollector> lose() {
        GradientCollector made = collector();
        block.forward(input()).get(0).exp();
        return new WeakReference<>(made);
    }

    @Test
    void parametersOfOneArrayAreRefusedByName() {
        backward();
        NDArray shared = block.scale.getArray();
        Parameter other = Parameter.builder().setName("other").setType(Parameter.Type.WEIGHT).build();
        other.setArray(shared);
        ParameterList both = new ParameterList();
        both.add("scale", block.scale);
        both.add("other", other);
        String refused = assertThrows(IllegalArgumentException.class, () -> new ParameterGradients(both).zero())
                .getMessage();
        assertTrue(refused.contains("is that of another one too"), refused);
        other.freeze(true);
    }
}
