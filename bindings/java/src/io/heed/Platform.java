// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Locale;

/** The names of systems and processors in the jar: linux, macos, windows; x86_64, aarch64. */
final class Platform {
    private Platform() {}

    /** The folder in the jar with the libraries for this process. */
    static String name() {
        return name(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    /**
     * Maps the names that JVMs give to systems and processors, which differ, to one name. Names that are not in the
     * list stay as they are.
     */
    static String name(String system, String processor) {
        return system(system.toLowerCase(Locale.ROOT)) + "-" + processor(processor.toLowerCase(Locale.ROOT));
    }

    private static String system(String name) {
        if (name.startsWith("mac") || name.startsWith("darwin")) {
            return "macos";
        }
        return name.startsWith("windows") ? "windows" : name;
    }

    private static String processor(String name) {
        switch (name) {
            case "amd64":
            case "x64":
                return "x86_64";
            case "arm64":
                return "aarch64";
            default:
                return name;
        }
    }
}
