// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The parameters in a stream do not have the expected format, or are of another block. */
public final class MalformedModelException extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Makes an exception.
     *
     * @param message the reason
     */
    public MalformedModelException(String message) {
        super(message);
    }

    /**
     * Makes an exception.
     *
     * @param message the reason
     * @param cause the exception that reported it, or null
     */
    public MalformedModelException(String message, Throwable cause) {
        super(message, cause);
    }
}
