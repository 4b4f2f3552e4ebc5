// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** forward as inference calls it, without a store and without training. */
class ForwardOfArraysTest {
    private final NDManager manager = TestDevice.newManager();

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void ofHeedsOwnBlocks() {
        MultiHeadAttention attention = MultiHeadAttention.builder().setNumHiddens(8).setNumHeads(2).optDropout(0.5f).build();
        NDArray x = manager.randomNormal(new Shape(2, 3, 8));
        attention.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        NDArray lens = manager.create(new int[] {1, 3});
        NDList expected = attention.forward(new ParameterStore(), new NDList(x, x, x, lens), false);
        assertEquals(expected, attention.forward(x, x, x, lens));
        assertEquals(
                attention.forward(new ParameterStore(), new NDList(x, x, x), false), attention.forward(x, x, x, null));
        assertEquals(
                "inputs has 0 arrays, expected 3 or 4: queries, keys, values and, optional, validLens",
                assertThrows(IllegalArgumentException.class, attention::forward).getMessage());
        attention.close();
    }

    @Test
    void ofComposedBlocks() {
        try (SequentialBlock block = new SequentialBlock()) {
            block.add(Linear.builder().setUnits(4).build()).add(Dropout.builder().optRate(0.9f).build());
            NDArray x = manager.ones(new Shape(2, 3));
            block.initialize(manager, DataType.FLOAT32, x.getShape());
            assertEquals(block.forward(new ParameterStore(), new NDList(x), false), block.forward(x));
            NullPointerException none =
                    assertThrows(NullPointerException.class, () -> block.forward((NDArray[]) null));
            assertEquals("inputs", none.getMessage());
        }
    }
}
