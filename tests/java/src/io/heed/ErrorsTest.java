// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.CancellationException;

import org.junit.jupiter.api.Test;

class ErrorsTest {
    @Test
    void everyStatusHasItsException() {
        Map<Status, Class<? extends Throwable>> own = new EnumMap<>(Status.class);
        own.put(Status.INVALID_ARGUMENT, IllegalArgumentException.class);
        own.put(Status.OUT_OF_MEMORY, OutOfMemoryError.class);
        own.put(Status.UNSUPPORTED, UnsupportedOperationException.class);
        own.put(Status.NOT_INITIALIZED, IllegalStateException.class);
        own.put(Status.BUSY, IllegalStateException.class);
        own.put(Status.CACHE_FULL, CacheFullException.class);
        own.put(Status.CANCELLED, CancellationException.class);
        for (Status status : Status.values()) {
            Throwable error = Errors.of(status.ordinal(), "a sentence");
            assertEquals(own.getOrDefault(status, HeedException.class), error.getClass());
            assertEquals("a sentence", error.getMessage());
            if (error instanceof HeedException) {
                assertEquals(status, ((HeedException) error).getStatus());
            }
        }
    }

    @Test
    void aLaterStatusIsUnknown() {
        for (int code : new int[] {-1, Status.UNKNOWN.ordinal(), 1000}) {
            HeedException error = assertInstanceOf(HeedException.class, Errors.of(code, "a sentence"));
            assertEquals(Status.UNKNOWN, error.getStatus());
        }
    }
}
