// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ParameterTest {
    private NDManager manager;
    private final ParameterStore ps = new ParameterStore();
    private Linear linear;
    private Parameter weight;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        linear = Linear.builder().setUnits(2).build();
        weight = linear.getParameters().get("weight");
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void describesItself() {
        Parameter bias = linear.getParameters().get("bias");
        assertEquals("weight", weight.getName());
        assertEquals(Parameter.Type.WEIGHT, weight.getType());
        assertEquals(Parameter.Type.BIAS, bias.getType());
        assertNull(weight.getShape());
        assertNull(weight.getInitializer());
        assertFalse(weight.isInitialized());
        assertTrue(weight.requiresGradient());
        assertThrows(IllegalStateException.class, () -> weight.getArray());
        assertThrows(IllegalStateException.class, () -> weight.setShape(new Shape(2, 3)));
        assertThrows(IllegalStateException.class, () -> weight.initialize(manager, DataType.FLOAT32));
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        assertEquals(new Shape(2, 3), weight.getShape());
        assertTrue(weight.isInitialized());
        assertTrue(weight.toString().contains("weight"));
        assertEquals("Parameter weight (2, 3) float32", weight.toString());
        assertSame(manager, weight.getArray().getManager());
        linear.cast(DataType.BFLOAT16);
        assertEquals("Parameter bias (2) bfloat16", bias.toString());
        linear.clear();
        assertEquals("Parameter weight of unknown shape", weight.toString());
        linear.close();
        assertThrows(IllegalStateException.class, weight::isInitialized);
        assertEquals("Parameter weight of a closed block", weight.toString());
    }

    /** An array that is closed stays closed, even if another thread is writing to it. */
    @Test
    void anArrayClosedWhileItIsWritten() {
        NativeTensor before = NativeTensor.create(manager.openContext(), DataType.FLOAT32.code, new long[] {2});
        NativeTensor after = NativeTensor.create(manager.openContext(), DataType.FLOAT32.code, new long[] {2});
        NDList opened = new NDList();
        NDArray array = new NDArray(manager, before, new NDArray.Writer() {
            @Override
            public void write(NativeTensor value) {
                opened.close();
            }

            @Override
            public NativeTensor current() {
                return after;
            }
        });
        opened.add(array);
        array.set(new float[] {1, 2});
        assertTrue(array.isReleased());
        assertFalse(before.isOpen());
        assertFalse(after.isOpen());
    }

    @Test
    void setOfTheArrayReachesTheBlock() {
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        NDArray x = manager.create(new float[] {1, 4, 16}, new Shape(1, 3));
        NDArray array = weight.getArray();
        NDArray before = weight.getArray();
        float[] old = before.toFloatArray();

        array.set(new float[] {1, 2, 3, 4, 5, 6});
        assertArrayEquals(new float[] {57, 120}, forward(x));
        assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, array.toFloatArray());
        assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, weight.getArray().toFloatArray());
        assertArrayEquals(old, before.toFloatArray());

        before.set(FloatBuffer.wrap(new float[] {0, 0, 1, 1, 0, 0}));
        assertArrayEquals(new float[] {16, 1}, forward(x));
        manager.ones(new Shape(2, 3)).copyTo(before);
        assertArrayEquals(new float[] {21, 21}, forward(x));
        assertThrows(IllegalArgumentException.class, () -> before.set(new float[5]));
        assertArrayEquals(new float[] {21, 21}, forward(x));
        // A view of a snapshot is a snapshot, too.
        assertThrows(IllegalArgumentException.class, () -> before.reshape(6).set(new float[6]));
        assertArrayEquals(new float[] {21, 21}, forward(x));
    }

    @Test
    void setArrayReachesTheBlockAndConverts() {
        NDArray x = manager.ones(new Shape(1, 3));
        weight.setArray(manager.ones(new Shape(2, 3), DataType.FLOAT64));
        assertTrue(weight.isInitialized());
        assertFalse(linear.isInitialized());
        NDArray snapshot = weight.getArray();
        assertEquals(DataType.FLOAT32, snapshot.getDataType());
        linear.getParameters().get("bias").setArray(manager.zeros(new Shape(2)));
        assertArrayEquals(new float[] {3, 3}, forward(x));
        weight.setArray(manager.full(new Shape(2, 3), 2, DataType.FLOAT16));
        assertArrayEquals(new float[] {6, 6}, forward(x));
        String message = assertThrows(
                        IllegalArgumentException.class, () -> weight.setArray(manager.ones(new Shape(3, 3))))
                .getMessage();
        assertTrue(message.contains("(3, 3)") && message.contains("(2, 3)"), message);
        NDArray closed = manager.ones(new Shape(2, 3));
        closed.close();
        message = assertThrows(IllegalStateException.class, () -> weight.setArray(closed)).getMessage();
        assertEquals("the array is closed", message);
        assertThrows(
                IllegalArgumentException.class,
                () -> weight.setArray(manager.ones(new Shape(2, 3), DataType.INT32)));
        assertThrows(NullPointerException.class, () -> weight.setArray(null));
        // The parameters belong to the block, and are closed with it.
        linear.close();
        assertTrue(snapshot.isReleased());
        assertThrows(IllegalStateException.class, () -> weight.setArray(manager.ones(new Shape(2, 3))));
        assertThrows(IllegalStateException.class, () -> weight.getArray());
    }

    @Test
    void snapshotsEndWithTheManager() {
        NDManager sub = manager.newSubManager();
        linear.initialize(sub, DataType.FLOAT32, new Shape(1, 3));
        NDArray snapshot = weight.getArray();
        sub.close();
        assertTrue(snapshot.isReleased());
        assertThrows(IllegalStateException.class, () -> snapshot.set(new float[6]));
        assertThrows(IllegalStateException.class, () -> weight.getArray());
        assertNull(weight.getShape());
        // Parameters that are set one by one belong to the block.
        weight.setArray(manager.ones(new Shape(2, 3)));
        linear.getParameters().get("bias").setArray(manager.ones(new Shape(2)));
        assertArrayEquals(new float[] {4, 4}, forward(manager.ones(new Shape(1, 3))));
    }

    @Test
    void theStoreGivesTheArray() {
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
        ParameterStore store = new ParameterStore(manager, false);
        assertSame(manager, store.getManager());
        assertNull(ps.getManager());
        NDArray array = store.getValue(weight, TestDevice.DEVICE, true);
        assertArrayEquals(weight.getArray().toFloatArray(), array.toFloatArray());
        assertNotNull(store.getValue(weight, null, false));
        assertNull(store.getValue(null, Device.cpu(), false));
        String message = assertThrows(
                        IllegalArgumentException.class, () -> store.getValue(weight, Device.ascend(7), false))
                .getMessage();
        assertEquals("device is ascend(7), but the parameter \"weight\" is on " + TestDevice.DEVICE, message);
        store.sync();
        ps.sync();
    }

    @Test
    void aParameterOfAUsersBlock() {
        Parameter parameter = Parameter.builder()
                .setName("p")
                .setType(Parameter.Type.OTHER)
                .optShape(new Shape(2))
                .optInitializer(Initializer.ONES)
                .optRequiresGrad(false)
                .build();
        assertEquals(new Shape(2), parameter.getShape());
        assertEquals(Initializer.ONES, parameter.getInitializer());
        assertFalse(parameter.requiresGradient());
        assertFalse(parameter.isInitialized());
        assertTrue(assertThrows(IllegalStateException.class, parameter::getArray).getMessage().contains("\"p\""));
        parameter.setShape(new Shape(3));
        parameter.initialize(manager, DataType.FLOAT64);
        assertArrayEquals(new double[] {1, 1, 1}, parameter.getArray().toDoubleArray());
        NDArray drawn = parameter.getArray();
        parameter.initialize(manager, DataType.FLOAT32);
        assertSame(drawn, parameter.getArray());
        assertThrows(IllegalArgumentException.class, () -> parameter.setArray(manager.ones(new Shape(2))));
        NDArray array = manager.ones(new Shape(3));
        parameter.setArray(array);
        assertSame(array, parameter.getArray());
        assertThrows(IllegalStateException.class, () -> parameter.setShape(new Shape(4)));
        assertSame(
                array,
                Parameter.builder()
                        .setName("q")
                        .setType(Parameter.Type.BIAS)
                        .optArray(array)
                        .build()
                        .getArray());
        assertEquals(
                "type is not set: call setType, as with Parameter.Type.WEIGHT",
                assertThrows(
                                NullPointerException.class,
                                () -> Parameter.builder().setName("p").build())
                        .getMessage());
        assertEquals(
                "name is not set: call setName, as with \"weight\"",
                assertThrows(
                                NullPointerException.class,
                                () -> Parameter.builder().setType(Parameter.Type.BIAS).build())
                        .getMessage());
        assertEquals("Parameter p (3) float32", parameter.toString());
        array.close();
        assertEquals("Parameter p (3) without values", parameter.toString());
        Parameter drawnByItsOwn = Parameter.builder()
                .setName("w")
                .optShape(new Shape(1))
                .optInitializer(new ConstantInitializer(7))
                .build();
        assertEquals(Parameter.Type.OTHER, drawnByItsOwn.getType());
        drawnByItsOwn.initialize(manager, DataType.FLOAT32);
        assertEquals(7, drawnByItsOwn.getArray().getFloat(0));
        Parameter vague = Parameter.builder().setName("v").setType(Parameter.Type.OTHER).build();
        assertEquals("Parameter v of unknown shape", vague.toString());
        assertThrows(IllegalStateException.class, () -> vague.initialize(manager, DataType.FLOAT32));
        vague.setShape(new Shape(1));
        assertThrows(IllegalStateException.class, () -> vague.initialize(manager, DataType.FLOAT32));
        vague.setInitializer((owner, shape, type) -> null);
        assertThrows(NullPointerException.class, () -> vague.initialize(manager, DataType.FLOAT32));
        for (Parameter.Type type : Parameter.Type.values()) {
            assertEquals(type == Parameter.Type.OTHER, type.getInitializer() == null);
            Parameter made = Parameter.builder().setName("p").setType(type).build();
            assertSame(type.getInitializer(), made.getInitializer());
        }
    }

    private float[] forward(NDArray x) {
        return linear.forward(ps, new NDList(x), false).head().toFloatArray();
    }
}
