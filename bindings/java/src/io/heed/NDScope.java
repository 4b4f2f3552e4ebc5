// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Frees the arrays that are made on one thread between its opening and its closing: those that the manager of {@link
 * NDManager#scope} makes, and results and views of arrays that belong to it. {@link #keep} lifts one out.
 *
 * <pre>
 * try (NDScope scope = manager.scope()) {
 *     NDArray mean = ...
 *     return scope.keep(mean);
 * }
 * </pre>
 *
 * <p>Arrays on other threads, and those of other managers, sub-managers included, are not affected. Neither are the
 * parameters of blocks that are initialized or loaded meanwhile, workspaces and caches. Scopes may be nested: arrays
 * then belong to the innermost one, from which keep moves them to the one around it. Closing a scope closes those that
 * were opened in it; closing the manager closes all. A scope that is never closed lasts until then.
 */
public final class NDScope implements AutoCloseable {
    /** Those of each thread, the innermost last. Some may be closed already. */
    private static final ThreadLocal<List<NDScope>> OPEN = new ThreadLocal<>();

    /** The manager whose arrays the scope takes. */
    private final NDManager of;
    /** What owned its arrays before, and owns them when they are kept. */
    private final NDManager outside;
    /** What owns the arrays of the scope. */
    private final NDManager manager;

    NDScope(NDManager of, NDManager outside, NDManager manager) {
        this.of = of;
        this.outside = outside;
        this.manager = manager;
        removeClosed();
        List<NDScope> open = OPEN.get();
        if (open == null) {
            open = new ArrayList<>();
            OPEN.set(open);
        }
        open.add(this);
    }

    /** What owns the arrays of a manager that are made now on this thread; null: the manager itself. */
    static NDManager innermost(NDManager of) {
        List<NDScope> open = OPEN.get();
        for (int i = open == null ? -1 : open.size() - 1; i >= 0; i--) {
            NDScope scope = open.get(i);
            if (scope.of == of && scope.manager.isOpen()) {
                return scope.manager;
            }
        }
        return null;
    }

    /**
     * Returns the manager that owns the arrays of the scope. What it makes belongs to the innermost scope, too.
     *
     * @return a sub-manager of the manager that the scope was opened on
     */
    public NDManager getManager() {
        return manager;
    }

    /**
     * Moves an array out of the scope: it then belongs to the scope around this one, or else to the manager that the
     * scope was opened on.
     *
     * @param array an array of this scope. One that belongs to what is around the scope stays as it is, such as the
     *     result of a conversion that had nothing to do
     * @return the array
     * @throws IllegalArgumentException if it belongs to another manager, or to a scope inside this one
     * @throws IllegalStateException if the array or the scope is closed
     */
    public NDArray keep(NDArray array) {
        Objects.requireNonNull(array, "array");
        if (!manager.isOpen()) {
            throw new IllegalStateException("the scope is closed");
        }
        NDArray.tensorOf(array, "array");
        NDManager owner = array.getManager();
        if (owner.home() == manager) {
            array.attach(outside.on(owner.getDevice()));
        } else if (!isAround(owner.home())) {
            throw new IllegalArgumentException("array belongs to " + (owner.home().base() == of
                    ? "a scope inside this one" : "another manager") + ", expected an array of this scope");
        }
        return array;
    }

    private boolean isAround(NDManager owner) {
        NDManager around = manager.getParentManager();
        while (around != null && around != owner) {
            around = around.getParentManager();
        }
        return around == owner || outside == owner;
    }

    /** Frees the arrays of the scope. Closing twice does nothing. */
    @Override
    public void close() {
        manager.close();
        removeClosed();
    }

    private static void removeClosed() {
        List<NDScope> open = OPEN.get();
        if (open != null) {
            open.removeIf(scope -> !scope.manager.isOpen());
            if (open.isEmpty()) {
                OPEN.remove();
            }
        }
    }
}
