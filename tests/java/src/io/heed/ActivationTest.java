// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Activations of arrays and their blocks, by numbers that were computed in double. */
class ActivationTest {
    private static final List<UnaryOperator<NDArray>> FUNCTIONS = List.of(
            Activation::relu, Activation::gelu, Activation::geluTanh, Activation::geluQuick, Activation::silu);
    private static final List<Supplier<Block>> BLOCKS = List.of(
            Activation::reluBlock, Activation::geluBlock, Activation::geluTanhBlock, Activation::geluQuickBlock,
            Activation::siluBlock);
    private static final float[][] EXPECTED = {
        {1, 0, 0}, {.8413447f, -.1586553f, -.0040495f}, {.8411920f, -.1588080f, -.0036374f},
        {.8457958f, -.1542042f, -.0180713f}, {.7310586f, -.2689414f, -.1422776f}
    };

    private final NDManager manager = TestDevice.newManager();
    private final NDArray x = manager.create(new float[] {1, -1, -3}, new Shape(1, 3));

    @AfterEach
    void close() {
        manager.close();
    }

    private NDArray run(Block block, NDArray input) {
        return block.forward(new ParameterStore(), new NDList(input), false).singletonOrThrow();
    }

    @Test
    void functionsAndBlocksGiveTheFormulas() {
        for (ActivationKind kind : ActivationKind.values()) {
            NDArray found = FUNCTIONS.get(kind.ordinal()).apply(x);
            assertEquals(x.getShape(), found.getShape());
            assertSame(manager, found.getManager());
            assertArrayEquals(EXPECTED[kind.ordinal()], found.toFloatArray(), 1e-6f);
            try (Block block = BLOCKS.get(kind.ordinal()).get()) {
                assertArrayEquals(found.toFloatArray(), run(block, x).toFloatArray());
                assertEquals("Activation(" + kind + ")", block.toString());
                assertArrayEquals(new Shape[] {x.getShape()}, block.getOutputShapes(new Shape[] {x.getShape()}));
            }
        }
        assertArrayEquals(new float[] {1, -1, -3}, x.toFloatArray());
    }

    @Test
    void swishHasTheFactorsThatHeedHas() {
        float[] silu = Activation.silu(x).toFloatArray();
        assertArrayEquals(silu, Activation.swish(x, 1).toFloatArray());
        assertArrayEquals(silu, run(Activation.swishBlock(1), x).toFloatArray());
        assertArrayEquals(Activation.geluQuick(x).toFloatArray(), Activation.swish(x, 1.702f).toFloatArray());
        says("beta is 2.0, expected 1, or 1.702", () -> Activation.swish(x, 2));
        says("beta is NaN, expected 1, or 1.702", () -> Activation.swishBlock(Float.NaN));
    }

    @Test
    void keepTypesAndReadViews() {
        for (DataType type : new DataType[] {DataType.FLOAT16, DataType.BFLOAT16}) {
            NDArray found = Activation.gelu(x.toType(type, false));
            assertEquals(type, found.getDataType());
            assertArrayEquals(EXPECTED[1], found.toType(DataType.FLOAT32, false).toFloatArray(), 4e-3f);
        }
        NDArray columns = manager.create(new float[] {1, -1, 2, -2}, new Shape(2, 2)).transpose();
        assertArrayEquals(new float[] {1, 2, 0, 0}, Activation.relu(columns).toFloatArray());
        assertEquals(new Shape(0, 3), Activation.silu(manager.zeros(new Shape(0, 3))).getShape());
    }

    @Test
    void standBetweenOtherBlocks() {
        try (LayerNorm norm = LayerNorm.builder().build();
                Linear linear = Linear.builder().setUnits(4).build();
                SequentialBlock block = new SequentialBlock().addAll(norm, linear, Activation.geluBlock())) {
            block.initialize(manager, DataType.FLOAT32, x.getShape());
            NDArray found = run(block, x);
            assertEquals(new Shape(1, 4), found.getShape());
            float[] expected = Activation.gelu(run(linear, run(norm, x))).toFloatArray();
            assertArrayEquals(expected, found.toFloatArray());
            assertEquals("03ActivationBlock", block.getChildren().keyAt(2));
            assertArrayEquals(
                    new Shape[] {found.getShape()}, block.getOutputShapes(new Shape[] {x.getShape()}));
            assertTrue(block.isInitialized());
        }
    }

    private static void says(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    @Test
    void otherArraysAreRefused() {
        says(
                "the array is INT32, expected FLOAT32, FLOAT16 or BFLOAT16: copy it into an array of one of these first",
                () -> Activation.relu(manager.zeros(new Shape(3), DataType.INT32)));
        says(
                "the array has shape () of rank 0, expected rank 1 to 8",
                () -> Activation.relu(manager.zeros(new Shape())));
        assertEquals(
                "array", assertThrows(NullPointerException.class, () -> Activation.gelu(null)).getMessage());
        NDArray closed = manager.ones(new Shape(2));
        closed.close();
        assertThrows(IllegalStateException.class, () -> Activation.silu(closed));
    }
}
