// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * What a manager closes when it is closed. It holds the objects' native halves only, so that the collector can find
 * forgotten arrays, and sub-managers' registries but not the sub-managers, so that it can find those.
 */
final class Registry {
    private final Registry parent;
    private Set<NativeHandle.Lifetime> objects = new HashSet<>();
    /** Those of the sub-managers. */
    private Set<Registry> children = new HashSet<>();
    private volatile boolean open = true;
    /** No manager refers to this registry any more: it goes from its parent with the last thing that it holds. */
    private boolean forgotten;

    /** Throws nothing: a child of a closed registry is closed. Parent null: a base manager's. */
    Registry(Registry parent) {
        this.parent = parent;
        if (parent != null && !parent.add(this)) {
            open = false;
        }
    }

    /** False if the registry is closed. */
    synchronized boolean add(NativeHandle.Lifetime object) {
        return open && objects.add(object);
    }

    private synchronized boolean add(Registry child) {
        return open && children.add(child);
    }

    void remove(NativeHandle.Lifetime object) {
        if (removeAndGoes(object)) {
            leaveParents();
        }
    }

    boolean isOpen() {
        return open;
    }

    /** Called when the manager is lost. Its objects are closed with the parent, or when the program loses them, too. */
    void forget() {
        if (forgetAndGoes()) {
            leaveParents();
        }
    }

    /** Closes all below it, one registry after the other: however deep they are nested, the stack is not. */
    void close() {
        Deque<Registry> waiting = new ArrayDeque<>();
        waiting.push(this);
        while (!waiting.isEmpty()) {
            waiting.pop().take(waiting).forEach(NativeHandle.Lifetime::close);
        }
        leaveParents();
    }

    /** Closes this registry alone. Returns the objects to close, and adds the children to the registries to close. */
    private synchronized Set<NativeHandle.Lifetime> take(Deque<Registry> waiting) {
        children.forEach(waiting::push);
        children = Set.of();
        Set<NativeHandle.Lifetime> taken = objects;
        objects = Set.of();
        open = false;
        return taken;
    }

    /** Leaves the parent, and so on upwards where that was the last thing that a forgotten one held. */
    private void leaveParents() {
        Registry child = this;
        while (child.parent != null && child.parent.removeAndGoes(child)) {
            child = child.parent;
        }
    }

    private synchronized boolean removeAndGoes(NativeHandle.Lifetime object) {
        return open && objects.remove(object) && goes();
    }

    private synchronized boolean removeAndGoes(Registry child) {
        return open && children.remove(child) && goes();
    }

    private synchronized boolean forgetAndGoes() {
        forgotten = true;
        return open && goes();
    }

    private boolean goes() {
        return forgotten && objects.isEmpty() && children.isEmpty();
    }
}
