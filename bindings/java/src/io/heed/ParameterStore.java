// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * DJL's store of parameters on several devices, an argument of {@code forward}. heed keeps the parameters of a block on
 * the block's device, so nothing is stored or copied here.
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
     * @param copy has no effect
     */
    public ParameterStore(NDManager manager, boolean copy) {
        this.manager = manager;
    }

    /**
     * Returns the values of a parameter.
     *
     * @param parameter the parameter, or null
     * @param device the device on which the values are expected; null: any
     * @param training has no effect
     * @return {@link Parameter#getArray}, which may take memory of its own; null if the parameter is null
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

    /** Waits until the manager's device has done all its work. There are no copies that could differ. */
    public void sync() {
        if (manager != null) {
            manager.synchronize();
        }
    }

    /**
     * Returns the store's manager.
     *
     * @return the manager that the store was made with, or null
     */
    public NDManager getManager() {
        return manager;
    }
}
