// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Locale;

/**
 * What the system property heed.leaks turns on: each native object remembers where it was made, and one that the
 * garbage collector found before it or its manager was closed is reported with that place.
 */
final class Leaks {
    static final String PROPERTY = "heed.leaks";
    static final boolean REPORTED = Boolean.getBoolean(PROPERTY);

    private Leaks() {}

    static Throwable placeOf(Class<? extends NativeHandle> type) {
        String name = type.getSimpleName().replace("Native", "").toLowerCase(Locale.ROOT);
        return new Throwable("this " + name + " was made here");
    }

    static void report(Throwable place) {
        System.getLogger("io.heed")
                .log(
                        System.Logger.Level.WARNING,
                        "freed by the garbage collector: neither it nor its manager was closed",
                        place);
    }
}
