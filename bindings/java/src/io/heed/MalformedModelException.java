// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Parameters that are read from a stream are not what their format, or their block, wants. */
public final class MalformedModelException extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Makes an exception.
     *
     * @param message what is wrong
     */
    public MalformedModelException(String message) {
        super(message);
    }

    /**
     * Makes an exception.
     *
     * @param message what is wrong
     * @param cause what found it, or null
     */
    public MalformedModelException(String message, Throwable cause) {
        super(message, cause);
    }
}
