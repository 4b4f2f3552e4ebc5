// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.EnumSet;

import org.junit.jupiter.api.Test;

class DataTypeTest {
    @Test
    void knowsItsSizeAndKind() {
        EnumSet<DataType> floating =
                EnumSet.of(DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16, DataType.BFLOAT16);
        EnumSet<DataType> integer = EnumSet.of(DataType.INT8, DataType.UINT8, DataType.INT32, DataType.INT64);
        int[] numBytes = {4, 8, 2, 1, 4, 1, 8, 1, 2};
        for (DataType type : DataType.values()) {
            assertEquals(numBytes[type.ordinal()], type.getNumOfBytes(), type.name());
            assertEquals(floating.contains(type), type.isFloating(), type.name());
            assertEquals(integer.contains(type), type.isInteger(), type.name());
            assertEquals(type == DataType.BOOLEAN, type.isBoolean(), type.name());
            assertEquals(type, DataType.of(type.code));
        }
        assertEquals("bfloat16", DataType.BFLOAT16.toString());
    }

    @Test
    void refusesANumberOfALaterLibrary() {
        assertThrows(UnsupportedOperationException.class, () -> DataType.of(99));
    }
}
