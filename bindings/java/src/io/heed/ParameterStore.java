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
     * Returns a parameter's values.
     *
     * @param parameter the parameter; null: there are none
     * @param device where they are wanted, which must be where they are; null: wherever
     * @param training without effect
     * @return {@link Parameter#getArray}, null without a parameter
     * @throws IllegalArgumentException if they are on another device
     */
    public NDArray getValue(Parameter parameter, Device device, boolean training) {
        if (parameter == null) {
            return null;
        }
        NDArray array = parameter.getArray();
        if (device != null && !device.equals(array.getDevice())) {
            throw new IllegalArgumentException("device is " + device + ", but the parameter \"" + parameter.getName()
                    + "\" is on " + array.getDevice());
        }
        return array;
    }

    /** Waits until the manager's device has done all that it was asked to; there are no copies that could differ. */
    public void sync() {
        if (manager != null) {
            manager.synchronize();
        }
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
