// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Hears how far a load is. */
@FunctionalInterface
public interface LoadProgress {
    /**
     * Called on the thread that loads, first with 0 bytes, last with all of them, and in between for each parameter and
     * each MiB. An exception that it throws ends the load, which throws it.
     *
     * @param done the bytes that have been read
     * @param total the bytes of all parameters in the files
     */
    void report(long done, long total);
}
