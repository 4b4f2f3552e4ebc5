// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlatformTest {
    /** Values of os.name and os.arch in various JVMs. */
    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, linux-x86_64",
        "Linux, x86_64, linux-x86_64",
        "Linux, x64, linux-x86_64",
        "LINUX, AMD64, linux-x86_64",
        "Linux, aarch64, linux-aarch64",
        "Linux, arm64, linux-aarch64",
        "Linux, i386, linux-i386",
        "Linux, riscv64, linux-riscv64",
        "Mac OS X, x86_64, macos-x86_64",
        "macOS, arm64, macos-aarch64",
        "Darwin, aarch64, macos-aarch64",
        "Windows 10, amd64, windows-x86_64",
        "Windows Server 2022, aarch64, windows-aarch64",
        "FreeBSD, amd64, freebsd-x86_64",
    })
    void hasOneNameForEachSystemAndProcessor(String system, String processor, String name) {
        assertEquals(name, Platform.name(system, processor));
    }
}
