// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;

/**
 * The objects that a manager closes when it is closed. A registry refers only to the native part of each object, and to
 * the registries of sub-managers, not to the sub-managers. So the garbage collector can find arrays and sub-managers
 * that the program has lost.
 */
final class Registry {
    private final Registry parent;
    private Set<NativeHandle.Lifetime> objects = new HashSet<>();
    /** The registries of the sub-managers. */
    private Set<Registry> children = new HashSet<>();
    private volatile boolean open = true;
    /** True once no manager refers to this registry. It is then removed from its parent when it becomes empty. */
    private boolean forgotten;

    /**
     * Does not throw: if the parent is closed, the new registry is closed too. The parent of a base manager's registry
     * is null.
     */
    Registry(Registry parent) {
        this.parent = parent;
        if (parent != null && !parent.add(this)) {
            open = false;
        }
    }

    /** Returns false if the registry is closed. */
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

    /**
     * Called when the program has lost the manager. Its objects are closed with the parent, or when the program has
     * lost them too.
     */
    void forget() {
        if (forgetAndGoes()) {
            leaveParents();
        }
    }

    /**
     * Closes all objects of this registry and of the registries below it. A loop instead of recursion, since the
     * nesting may be too deep for the stack.
     */
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

    /** Removes this registry from its parent, and likewise each parent that is forgotten and becomes empty. */
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
