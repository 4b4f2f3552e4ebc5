// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Composed blocks, and what all blocks can do with their parameters. */
class BlockTest {
    /** A block with two linear layers and a factor as its own parameter. */
    private static final class TwoLayers extends AbstractBlock {
        private final Linear first = addChildBlock("first", Linear.builder().setUnits(4).build());
        private final Dropout dropout = addChildBlock("dropout", Dropout.builder().build());
        private final Linear second = addChildBlock("second", Linear.builder().setUnits(2).build());
        private final Parameter factor =
                addParameter(Parameter.builder().setName("factor").setType(Parameter.Type.GAMMA).build());
        private PairList<String, Object> seen;

        private TwoLayers() {
            super((byte) 3);
        }

        @Override
        protected void prepare(Shape[] inputShapes) {
            factor.setShape(new Shape(1, 4));
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            first.initialize(manager, dataType, inputShapes);
            second.initialize(manager, dataType, first.getOutputShapes(inputShapes));
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            seen = params;
            NDArray hidden = first.forward(ps, inputs, training).head();
            NDArray same = dropout.forward(ps, new NDList(hidden), training).head();
            return second.forward(ps, new NDList(same), training);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return second.getOutputShapes(first.getOutputShapes(inputShapes));
        }
    }

    private NDManager manager;
    private ParameterStore ps;
    private final Shape shape = new Shape(3, 5);

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        ps = new ParameterStore(manager, true);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void hasTheParametersOfTheBlocksInside() {
        TwoLayers block = new TwoLayers();
        List<String> names =
                List.of("factor", "01first_weight", "01first_bias", "03second_weight", "03second_bias");
        assertEquals(names, block.getParameters().keys());
        assertEquals(List.of("factor"), block.getDirectParameters().keys());
        assertEquals(List.of("01first", "02dropout", "03second"), block.getChildren().keys());
        assertSame(block.first, block.getChildren().get("01first"));
        assertNotSame(block.getChildren(), block.getChildren());
        assertFalse(block.isInitialized());
        assertThrows(IllegalStateException.class, block::getInputShapes);
        assertEquals(
                "TwoLayers(01first=Linear(units=4, bias=true), 02dropout=Dropout(rate=0.5), "
                        + "03second=Linear(units=2, bias=true))",
                block.toString());

        block.initialize(manager, DataType.FLOAT32, shape);
        assertTrue(block.isInitialized());
        assertArrayEquals(new Shape[] {shape}, block.getInputShapes());
        assertArrayEquals(new Shape[] {new Shape(3, 2)}, block.getOutputShapes(new Shape[] {shape}));
        DataType[] types = {DataType.FLOAT32};
        assertArrayEquals(new Shape[] {new Shape(3, 2)}, block.getOutputShapes(new Shape[] {shape}, types));
        assertEquals(new Shape(4, 5), block.getParameters().get("01first_weight").getShape());
        assertArrayEquals(new float[] {1, 1, 1, 1}, block.factor.getArray().toFloatArray());
    }

    /** An initialized block accepts other input shapes that fit its parameters and those of its children. */
    @Test
    void shapesForOtherParametersAreRefused() {
        Table table = new Table();
        table.initialize(manager, DataType.FLOAT32, shape);
        float[] rows = table.rows.getArray().toFloatArray();
        float[] weights = table.linear.getParameters().get("weight").getArray().toFloatArray();
        table.initialize(manager, DataType.FLOAT32, shape);
        assertEquals(1, table.prepared);
        Shape longer = new Shape(4, 5);
        table.initialize(manager, DataType.FLOAT32, longer);
        assertArrayEquals(new Shape[] {longer}, table.getInputShapes());

        String message = refusal(table, new Shape(4, 6));
        assertEquals(
                "inputShapes are [(4, 6)], and the block was initialized for [(4, 5)]: "
                        + "shape is (6), but the parameter \"rows\" has values of (5)",
                message);
        table.hasRows = false;
        message = refusal(table, new Shape(7, 6));
        assertTrue(message.contains("(7, 6)") && message.contains("weight has (2, 5)"), message);
        table.linearFails = true;
        assertEquals("enough", refusal(table, new Shape(7, 5)));
        assertArrayEquals(new Shape[] {longer}, table.getInputShapes());
        assertArrayEquals(new Shape[] {longer}, table.linear.getInputShapes());
        assertArrayEquals(rows, table.rows.getArray().toFloatArray());
        assertArrayEquals(weights, table.linear.getParameters().get("weight").getArray().toFloatArray());

        table.clear();
        table.hasRows = true;
        table.linearFails = false;
        table.initialize(manager, DataType.FLOAT32, new Shape(4, 6));
        assertEquals(new Shape(6), table.rows.getShape());

        // Parameters that were set one by one are checked, too.
        Table set = new Table();
        set.rows.setArray(manager.ones(new Shape(5)));
        assertEquals(
                "inputShapes are [(4, 6)]: shape is (6), but the parameter \"rows\" has values of (5)",
                refusal(set, new Shape(4, 6)));
    }

    /** If a child cannot be initialized, the children before it are not initialized either. */
    @Test
    void aFailedInitializeLeavesNothing() {
        Table table = new Table();
        table.linearFails = true;
        assertEquals("enough", refusal(table, shape));
        assertFalse(table.rows.isInitialized());
        assertNull(table.rows.getShape());
        assertFalse(table.linear.isInitialized());
        assertThrows(IllegalStateException.class, table.linear::getInputShapes);
        assertThrows(IllegalStateException.class, table::getInputShapes);
        // Parameters that were set before are kept.
        table.linear.getParameters().get("bias").setArray(manager.ones(new Shape(2)));
        NDArray rows = manager.ones(new Shape(5));
        table.rows.setArray(rows);
        assertEquals("enough", refusal(table, shape));
        assertSame(rows, table.rows.getArray());
        assertFalse(table.linear.isInitialized());
        assertNull(table.linear.getParameters().get("weight").getShape());
        assertArrayEquals(
                new float[] {1, 1}, table.linear.getParameters().get("bias").getArray().toFloatArray());
        table.linearFails = false;
        table.initialize(manager, DataType.FLOAT32, shape);
        assertTrue(table.isInitialized());
        assertSame(rows, table.rows.getArray());
    }

    private String refusal(Block block, Shape... shapes) {
        return assertThrows(
                        IllegalArgumentException.class, () -> block.initialize(manager, DataType.FLOAT32, shapes))
                .getMessage();
    }

    /**
     * A block with a linear layer, and a parameter for each column of the input. It may fail after initializing the
     * layer.
     */
    private static final class Table extends AbstractBlock {
        private final Linear linear = addChildBlock("linear", Linear.builder().setUnits(2).build());
        private final Parameter rows = addParameter(
                Parameter.builder().setName("rows").setType(Parameter.Type.GAMMA).build());
        private boolean hasRows = true;
        private boolean linearFails;
        private int prepared;

        @Override
        protected void prepare(Shape[] inputShapes) {
            prepared++;
            if (hasRows) {
                rows.setShape(new Shape(inputShapes[0].tail()));
            }
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            linear.initialize(manager, dataType, inputShapes);
            if (linearFails) {
                throw new IllegalArgumentException("enough");
            }
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            return linear.forward(ps, inputs, training);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return linear.getOutputShapes(inputShapes);
        }
    }

    @Test
    void forwardPassesEverythingOn() {
        TwoLayers block = initialized();
        PairList<String, Object> params = new PairList<>();
        NDList inputs = new NDList(manager.ones(shape));
        assertEquals(new Shape(3, 2), block.forward(ps, inputs, false, params).head().getShape());
        assertSame(params, block.seen);
        block.forward(ps, inputs, false);
        assertNull(block.seen);
        assertThrows(NullPointerException.class, () -> block.forward(null, inputs, false));
        assertThrows(NullPointerException.class, () -> block.forward(ps, null, false));
        assertThrows(NullPointerException.class, () -> block.initialize(null, DataType.FLOAT32, shape));
        assertThrows(NullPointerException.class, () -> block.initialize(manager, null, shape));
        assertThrows(NullPointerException.class, () -> block.initialize(manager, DataType.FLOAT32, (Shape[]) null));
    }

    @Test
    void initializersReachTheirParameters() {
        TwoLayers block = new TwoLayers();
        block.setInitializer(new ConstantInitializer(2), Parameter.Type.WEIGHT);
        block.setInitializer(new ConstantInitializer(3), "factor");
        block.setInitializer(
                new ConstantInitializer(4), parameter -> parameter == block.second.getParameters().get("bias"));
        block.initialize(manager, DataType.FLOAT32, shape);
        assertAll(2, block.first.getParameters().get("weight"));
        assertAll(0, block.first.getParameters().get("bias"));
        assertAll(2, block.second.getParameters().get("weight"));
        assertAll(4, block.second.getParameters().get("bias"));
        assertAll(3, block.factor);
        // 5 ones times 2, four of these times 2, plus 4.
        NDArray output = block.forward(ps, new NDList(manager.ones(shape)), false).head();
        assertArrayEquals(new float[] {84, 84, 84, 84, 84, 84}, output.toFloatArray());

        // Existing parameters are kept; after clear they are drawn again.
        block.setInitializer(Initializer.ONES, Parameter.Type.WEIGHT);
        block.initialize(manager, DataType.FLOAT32, shape);
        assertAll(2, block.first.getParameters().get("weight"));
        block.clear();
        assertFalse(block.isInitialized());
        assertFalse(block.factor.isInitialized());
        block.initialize(manager, DataType.FLOAT32, shape);
        assertAll(1, block.first.getParameters().get("weight"));

        String message = assertThrows(
                        IllegalArgumentException.class, () -> block.setInitializer(Initializer.ONES, "nobody"))
                .getMessage();
        assertEquals("paramName is \"nobody\", but the block's parameters are [factor]", message);
        assertThrows(NullPointerException.class, () -> block.setInitializer(null, Parameter.Type.WEIGHT));
        assertThrows(
                NullPointerException.class, () -> block.setInitializer(Initializer.ONES, (Parameter.Type) null));
        assertThrows(NullPointerException.class, () -> block.setInitializer(Initializer.ONES, (String) null));
    }

    /** If an initializer fails, the block has no parameters, as before. An initializer may use the block. */
    @Test
    void anInitializerMayFail() {
        Linear linear = Linear.builder().setUnits(2).build();
        linear.setInitializer((owner, wanted, type) -> owner.ones(new Shape(7)), Parameter.Type.BIAS);
        assertThrows(
                IllegalArgumentException.class, () -> linear.initialize(manager, DataType.FLOAT32, shape));
        assertFalse(linear.isInitialized());
        linear.setInitializer((owner, wanted, type) -> null, "bias");
        assertThrows(NullPointerException.class, () -> linear.initialize(manager, DataType.FLOAT32, shape));
        linear.setInitializer(
                (owner, wanted, type) -> {
                    assertFalse(linear.isInitialized());
                    return owner.ones(wanted, DataType.INT32).toType(DataType.FLOAT64, true);
                },
                "bias");
        linear.initialize(manager, DataType.FLOAT16, shape);
        assertAll(1, linear.getParameters().get("bias"));
        assertEquals(DataType.FLOAT16, linear.getParameters().get("bias").getArray().getDataType());
    }

    @Test
    void castConvertsAllParameters() {
        TwoLayers block = initialized();
        float[] before = block.first.getParameters().get("weight").getArray().toFloatArray();
        block.cast(DataType.FLOAT16);
        for (Parameter parameter : block.getParameters().values()) {
            assertEquals(DataType.FLOAT16, parameter.getArray().getDataType(), parameter.getName());
        }
        float[] after = block.first.getParameters().get("weight").getArray().toFloatArray();
        for (int i = 0; i < before.length; i++) {
            // Half a unit in the last place of a dtype with 11 bits.
            assertEquals(before[i], after[i], Math.abs(before[i]) / 2048);
        }
        NDArray output = block.forward(ps, new NDList(manager.ones(shape)), false).head();
        assertEquals(new Shape(3, 2), output.getShape());
        String message = assertThrows(IllegalArgumentException.class, () -> block.first.cast(DataType.FLOAT64))
                .getMessage();
        assertEquals("dataType is FLOAT64, but parameters can only be of FLOAT32, FLOAT16 or BFLOAT16", message);
        assertThrows(IllegalArgumentException.class, () -> block.first.cast(DataType.INT32));
        assertArrayEquals(after, block.first.getParameters().get("weight").getArray().toFloatArray());
        assertThrows(NullPointerException.class, () -> block.cast(null));
        Linear without = Linear.builder().setUnits(2).build();
        assertThrows(IllegalStateException.class, () -> without.cast(DataType.FLOAT16));
    }

    @Test
    void castParametersStayTheirManagers() {
        NDManager sub = manager.newSubManager();
        Linear linear = Linear.builder().setUnits(2).build();
        linear.initialize(sub, DataType.FLOAT32, shape);
        linear.cast(DataType.BFLOAT16);
        assertTrue(linear.isInitialized());
        sub.close();
        assertFalse(linear.isInitialized());
    }

    @Test
    void freezeOnlySetsAFlag() {
        TwoLayers block = new TwoLayers();
        assertTrue(block.getParameters().values().stream().allMatch(Parameter::requiresGradient));
        block.freezeParameters(true, parameter -> parameter.getType() == Parameter.Type.BIAS);
        assertTrue(block.factor.requiresGradient());
        assertFalse(block.first.getParameters().get("bias").requiresGradient());
        block.freezeParameters(true);
        assertFalse(block.factor.requiresGradient());
        block.freezeParameters(false);
        assertTrue(block.getParameters().values().stream().allMatch(Parameter::requiresGradient));
    }

    @Test
    void seedsRepeatAndDifferInside() {
        NDList inputs = new NDList(manager.ones(shape));
        TwoLayers block = new TwoLayers();
        block.setSeed(9);
        block.initialize(manager, DataType.FLOAT32, shape);
        float[] first = block.forward(ps, inputs, true).head().toFloatArray();
        TwoLayers other = new TwoLayers();
        other.setSeed(9);
        other.initialize(manager, DataType.FLOAT32, shape);
        assertArrayEquals(first, other.forward(ps, inputs, true).head().toFloatArray());
        assertFalse(Arrays.equals(first, other.forward(ps, inputs, true).head().toFloatArray()));

        ComposedAttention attention = new ComposedAttention(8, 2, 0, false);
        attention.setSeed(1);
        Shape x = new Shape(1, 2, 8);
        attention.initialize(manager, DataType.FLOAT32, x, x, x, new Shape(1));
        assertFalse(Arrays.equals(
                attention.getParameters().get("01W_q_weight").getArray().toFloatArray(),
                attention.getParameters().get("02W_k_weight").getArray().toFloatArray()));
    }

    @Test
    void parametersEndWithTheirManagerOrTheBlock() {
        NDManager sub = manager.newSubManager();
        TwoLayers block = new TwoLayers();
        block.initialize(sub, DataType.FLOAT32, shape);
        sub.close();
        assertFalse(block.isInitialized());
        assertThrows(IllegalStateException.class, () -> block.factor.getArray());
        assertThrows(IllegalStateException.class, block::getInputShapes);
        block.initialize(manager, DataType.FLOAT32, shape);
        assertTrue(block.isInitialized());
        NDArray factor = block.factor.getArray();
        block.close();
        block.close();
        assertTrue(factor.isReleased());
        assertThrows(IllegalStateException.class, () -> block.first.isInitialized());
        assertThrows(IllegalStateException.class, () -> block.forward(ps, new NDList(manager.ones(shape)), false));
    }

    @Test
    void aBlockThatDoesNotInitializeItsChildrenIsReported() {
        AbstractBlock block = new AbstractBlock() {
            {
                addChildBlock("linear", Linear.builder().setUnits(1).build());
            }

            @Override
            protected NDList forwardInternal(
                    ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
                return inputs;
            }

            @Override
            public Shape[] getOutputShapes(Shape[] inputShapes) {
                return inputShapes;
            }
        };
        String message = assertThrows(
                        IllegalStateException.class, () -> block.initialize(manager, DataType.FLOAT32, shape))
                .getMessage();
        assertTrue(message.contains("initializeChildBlocks"), message);
        assertThrows(NullPointerException.class, () -> block.addChildBlock(null, new TwoLayers()));
        assertThrows(NullPointerException.class, () -> block.addChildBlock("x", null));
    }

    /** A block computes with the manager of the arrays that it was first given, and with its options. */
    @Test
    void badPartsOfABlockAreRefused() {
        TwoLayers inner = new TwoLayers();
        TwoLayers outer = new TwoLayers();
        outer.addChildBlock("inner", inner);
        for (TwoLayers whole : new TwoLayers[] {inner, outer}) {
            assertThrows(IllegalArgumentException.class, () -> inner.addChildBlock("whole", whole));
        }
        Parameter.Builder builder = Parameter.builder().setName("table").setType(Parameter.Type.OTHER);
        inner.addParameter(builder.build());
        String message = assertThrows(IllegalArgumentException.class, () -> inner.addParameter(builder.build()))
                .getMessage();
        assertEquals("the block has a parameter table already", message);
        isNull("parameter", () -> inner.addParameter(null));
        isNull("block", () -> inner.addChildBlock("none", null));
        isNull("array", () -> builder.build().setArray(null));
        isNull("array", () -> Linear.builder().setUnits(2).build().getParameters().get("weight").setArray(null));
        AbstractBlock nothing = new AbstractBlock() {
            @Override
            protected NDList forwardInternal(
                    ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
                return null;
            }

            @Override
            public Shape[] getOutputShapes(Shape[] inputShapes) {
                return inputShapes;
            }
        };
        isNull("forwardInternal's result", () -> nothing.forward(ps, new NDList(), false));
    }

    private static void isNull(String name, Executable use) {
        assertEquals(name, assertThrows(NullPointerException.class, use).getMessage());
    }

    @Test
    @Tag("cpu")
    void computesInTheContextOfItsFirstArrays() {
        ContextOptions one = ContextOptions.builder().optNumThreads(1).build();
        NDManager other = NDManager.newBaseManager(Device.cpu(), one);
        MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, false);
        attention.load(TestFiles.golden("d2l"), "attention");
        NDArray x = other.randomNormal(new Shape(2, 4, 100));
        float[] output = attention.forward(ps, new NDList(x, x, x), false).head().toFloatArray();
        NDArray copy = manager.create(x.toFloatArray(), x.getShape());
        float[] later = attention.forward(ps, new NDList(copy, copy, copy), false).head().toFloatArray();
        assertArrayEquals(output, later);
        other.close();
        later = attention.forward(ps, new NDList(copy, copy, copy), false).head().toFloatArray();
        assertArrayEquals(output, later);
        attention.clear();
        attention.load(TestFiles.golden("d2l"), "attention");
        later = attention.forward(ps, new NDList(copy, copy, copy), false).head().toFloatArray();
        assertArrayEquals(output, later);

        Linear linear = Linear.builder().setUnits(2).build();
        NDManager third = NDManager.newBaseManager(Device.cpu(), one);
        linear.getParameters().get("weight").setArray(third.ones(new Shape(2, 3)));
        linear.getParameters().get("bias").setArray(manager.ones(new Shape(2)));
        third.close();
        assertArrayEquals(
                new float[] {4, 4},
                linear.forward(ps, new NDList(manager.ones(new Shape(1, 3))), false).head().toFloatArray());
    }

    @Test
    void forwardForTrainingInitializes() {
        NDList inputs = new NDList(manager.ones(shape));
        try (TwoLayers block = new TwoLayers();
                NDManager owner = TestDevice.newManager()) {
            assertThrows(IllegalStateException.class, () -> block.forward(new ParameterStore(), inputs, true));
            ParameterStore ps = new ParameterStore(owner, false);
            assertThrows(IllegalStateException.class, () -> block.forward(ps, inputs, false));
            assertFalse(block.isInitialized());
            block.forward(ps, inputs, true);
            assertTrue(block.isInitialized());
            NDArray weight = block.getParameters().valueAt(1).getArray().duplicate();
            block.forward(ps, inputs, true);
            assertEquals(weight, block.getParameters().valueAt(1).getArray());
        }
    }

    private TwoLayers initialized() {
        TwoLayers block = new TwoLayers();
        block.initialize(manager, DataType.FLOAT32, shape);
        return block;
    }

    private static void assertAll(float expected, Parameter parameter) {
        for (float number : parameter.getArray().toFloatArray()) {
            assertEquals(expected, number, parameter.getName());
        }
    }
}
