// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Locale;

/**
 * Reports leaks, if the system property heed.leaks is set. Each native object then remembers the stack trace of its
 * creation. It is reported if the garbage collector finds the object before the object or its manager was closed.
 */
final class Leaks {
    static final String PROPERTY = "heed.leaks";
    static final boolean REPORTED = Boolean.getBoolean(PROPERTY);

    private Leaks() {}

    static Throwable creationOf(Class<? extends NativeHandle> type) {
        String name = type.getSimpleName().replace("Native", "").toLowerCase(Locale.ROOT);
        return new Throwable("this " + name + " was made here");
    }

    static void report(Throwable creation) {
        System.getLogger("io.heed")
                .log(
                        System.Logger.Level.WARNING,
                        "freed by the garbage collector: neither it nor its manager was closed",
                        creation);
    }
}
