// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * DJL's store of parameters on several devices, which {@code forward} takes. heed keeps a block's parameters on its own
 * device, so nothing is kept or copied here.
 */
public final class ParameterStore {
    private final NDManager manager;

    /** Makes a store without a manager. */
    public ParameterStore() {
        this(null, false);
    }

    /**
     * Makes a store.
     *
     * @param manager the manager that {@link #getManager()} returns
     * @param copy without effect
     */
    public ParameterStore(NDManager manager, boolean copy) {
        this.manager = manager;
    }

    /**
     * Returns the store's manager.
     *
     * @return what the store was made with, null if it was made without
     */
    public NDManager getManager() {
        return manager;
    }
}
