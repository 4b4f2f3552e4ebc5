// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A failure of the native library for which Java has no exception of its own, such as a failure of a file or a device.
 * A full cache is a {@link CacheFullException}.
 */
public class HeedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The status. */
    private final Status status;

    HeedException(Status status, String sentence) {
        super(sentence);
        this.status = status;
    }

    /**
     * Returns the kind of failure.
     *
     * @return the status
     */
    public final Status getStatus() {
        return status;
    }
}
