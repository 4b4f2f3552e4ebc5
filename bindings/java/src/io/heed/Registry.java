// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.HashSet;
import java.util.Set;

/**
 * What a manager closes when it is closed. It holds the objects' native halves only, so that the collector can find
 * forgotten arrays.
 */
final class Registry {
    private Set<Runnable> closers = new HashSet<>();

    /** False if the registry is closed. */
    synchronized boolean add(Runnable closer) {
        return closers != null && closers.add(closer);
    }

    synchronized void remove(Runnable closer) {
        if (closers != null) {
            closers.remove(closer);
        }
    }

    synchronized boolean isOpen() {
        return closers != null;
    }

    void close() {
        Set<Runnable> taken;
        synchronized (this) {
            taken = closers;
            closers = null;
        }
        if (taken != null) {
            taken.forEach(Runnable::run);
        }
    }
}
