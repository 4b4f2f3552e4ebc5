// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * What a manager closes when it is closed. It holds the objects' native halves only, so that the collector can find
 * forgotten arrays.
 */
final class Registry {
    /** Null once the registry is closed. */
    private Set<Runnable> closers = new HashSet<>();
    /** Those of the sub-managers. */
    private Set<Registry> children = new HashSet<>();

    /** False if the registry is closed. */
    synchronized boolean add(Runnable closer) {
        return isOpen() && closers.add(closer);
    }

    synchronized void remove(Runnable closer) {
        if (isOpen()) {
            closers.remove(closer);
        }
    }

    /** False if the registry is closed. */
    synchronized boolean add(Registry child) {
        return isOpen() && children.add(child);
    }

    synchronized void remove(Registry child) {
        children.remove(child);
    }

    synchronized boolean isOpen() {
        return closers != null;
    }

    /** Closes all below it, one registry after the other: however deep they are nested, the stack is not. */
    void close() {
        Deque<Registry> waiting = new ArrayDeque<>();
        waiting.push(this);
        while (!waiting.isEmpty()) {
            waiting.pop().take(waiting).forEach(Runnable::run);
        }
    }

    /** Closes this registry alone: gives what is to be run, and adds the children to those that wait to be closed. */
    private synchronized Set<Runnable> take(Deque<Registry> waiting) {
        if (!isOpen()) {
            return Set.of();
        }
        children.forEach(waiting::push);
        children = new HashSet<>();
        Set<Runnable> taken = closers;
        closers = null;
        return taken;
    }
}
