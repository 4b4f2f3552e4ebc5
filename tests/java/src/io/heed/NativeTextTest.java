// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;

class NativeTextTest {
    /** A text that gets longer between the calls that ask for its size and for its contents, up to a limit. */
    @Test
    void isRequestedAgainUntilItFits() {
        List<Long> capacities = new ArrayList<>();
        String text = NativeText.from((buffer, capacity) -> {
            capacities.add(capacity);
            byte[] bytes = ("größe".substring(0, Math.min(3 + capacities.size(), 5)) + "\0")
                    .getBytes(StandardCharsets.UTF_8);
            if (buffer != null) {
                buffer.put(bytes, 0, (int) Math.min(capacity, bytes.length));
                buffer.clear();
            }
            return bytes.length;
        });
        assertEquals("größe", text);
        assertEquals(List.of(0L, 7L, 8L), capacities);
    }

    @Test
    void emptyTextIsText() {
        assertEquals("", NativeText.from((buffer, capacity) -> 1));
    }
}
