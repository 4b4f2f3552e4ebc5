// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class NDArrayTest {
    @Test
    void widensFloatsOf16Bits(@TempDir Path folder) {
        // 1.5, -2 and the largest finite number, which only its own type can hold.
        Path file = TestFiles.write(
                folder.resolve("halves"),
                "{\"f16\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,6]},"
                        + "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[6,12]}}",
                bytes(0x3e00, 0xc000, 0x7bff, 0x3fc0, 0xc000, 0x7f7f));
        try (NDManager manager = NDManager.newBaseManager()) {
            assertArrayEquals(new float[] {1.5f, -2, 65504}, manager.load(file, "f16").toFloatArray());
            assertArrayEquals(
                    new float[] {1.5f, -2, Float.intBitsToFloat(0x7f7f0000)},
                    manager.load(file, "bf16").toFloatArray());
        }
    }

    @Test
    void refusesToGiveAnotherType() {
        try (NDManager manager = NDManager.newBaseManager()) {
            NDArray floats = manager.ones(new Shape(2));
            NDArray longs = manager.ones(new Shape(2), DataType.INT64);
            NDArray doubles = manager.ones(new Shape(2), DataType.FLOAT64);
            for (Executable use : new Executable[] {
                floats::toIntArray, floats::toLongArray, floats::toDoubleArray,
                longs::toFloatArray, longs::toIntArray, doubles::toFloatArray
            }) {
                assertThrows(IllegalStateException.class, use);
            }
            assertEquals(
                    "toFloatArray needs an array of FLOAT32, FLOAT16 or BFLOAT16, this one is of INT64",
                    assertThrows(IllegalStateException.class, longs::toFloatArray).getMessage());
        }
    }

    /** Of a shape-only array, which takes no memory. */
    @Test
    void refusesToGiveMoreThanAJavaArrayHolds() {
        long[] dims = {1L << 31};
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.BFLOAT16, DataType.INT64}) {
            try (NativeTensor tensor = NativeTensor.shapeOnly(Library.context(), type.code, dims)) {
                NDArray array = new NDArray(null, tensor);
                Executable use = type == DataType.INT64 ? array::toLongArray : array::toFloatArray;
                assertEquals(
                        "the array has 2147483648 elements, more than a Java array can hold",
                        assertThrows(IllegalStateException.class, use).getMessage());
            }
        }
    }

    @Test
    void saysWhatItIs() {
        try (NDManager manager = NDManager.newBaseManager()) {
            NDArray array = manager.ones(new Shape(2, 3), DataType.BFLOAT16);
            assertEquals("NDArray (2, 3) bfloat16", array.toString());
            assertSame(manager, array.getManager());
            array.close();
            assertEquals("NDArray (2, 3) bfloat16 (closed)", array.toString());
            assertSame(manager, array.getManager());
        }
    }

    @Test
    void cannotBeUsedOnceClosed() {
        try (NDManager manager = NDManager.newBaseManager()) {
            NDArray array = manager.ones(new Shape(2));
            array.close();
            array.close();
            for (Executable use : new Executable[] {
                array::getShape, array::getDataType, array::size, array::toFloatArray, array::toIntArray,
                array::toLongArray, array::toDoubleArray
            }) {
                assertEquals("the array is closed", assertThrows(IllegalStateException.class, use).getMessage());
            }
        }
    }

    private static byte[] bytes(int... halves) {
        byte[] bytes = new byte[2 * halves.length];
        for (int i = 0; i < halves.length; i++) {
            bytes[2 * i] = (byte) halves[i];
            bytes[2 * i + 1] = (byte) (halves[i] >> 8);
        }
        return bytes;
    }
}
