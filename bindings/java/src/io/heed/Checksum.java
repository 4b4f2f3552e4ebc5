// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** The SHA-256 of bytes, as sha256sum writes it. */
final class Checksum {
    private static final String DIGITS = "0123456789abcdef";

    private Checksum() {}

    static String of(byte[] bytes) {
        StringBuilder text = new StringBuilder(64);
        for (byte one : sha256().digest(bytes)) {
            text.append(DIGITS.charAt(one >> 4 & 15)).append(DIGITS.charAt(one & 15));
        }
        return text.toString();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException error) {
            throw new AssertionError("every Java platform has SHA-256", error);
        }
    }
}
