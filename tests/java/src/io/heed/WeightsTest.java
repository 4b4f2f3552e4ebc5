// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What tests/bindings/cases/weights.txt does not have of files of weights: Java's list, and a logger. */
@Tag("cpu")
class WeightsTest {
    @TempDir
    Path folder;

    @Test
    void namesCannotBeChanged() {
        try (Weights weights = Weights.open(TestFiles.golden("d2l"))) {
            assertThrows(UnsupportedOperationException.class, () -> weights.getNames().clear());
        }
    }

    /** The block's context has a logger, and the call is one of the block. */
    @Test
    void thatCannotBeOpenedAreLogged() {
        List<String> messages = new ArrayList<>();
        ContextOptions options = ContextOptions.builder().optLogger((level, text) -> messages.add(text)).build();
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), options);
                Linear linear = Linear.builder().setUnits(2).build()) {
            linear.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
            messages.clear();
            HeedException error = assertThrows(HeedException.class, () -> linear.load(folder.resolve("none"), "fc"));
            assertEquals(List.of("load: " + error.getMessage()), messages);
        }
    }
}
