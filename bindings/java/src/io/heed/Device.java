// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where arrays lie and blocks compute. Immutable. */
public final class Device {
    private static final String CPU_TYPE = "cpu";
    private static final String ASCEND_TYPE = "ascend";
    /** The numbers of heed.h's heed_device. */
    private static final int CPU_CODE = 0;
    private static final int ASCEND_CODE = 1;

    /** Followed by an index that an int holds. */
    private static final Pattern ASCEND_NAME = Pattern.compile(ASCEND_TYPE + "([0-9]{0,9})");

    private static final Device CPU = new Device(CPU_TYPE, 0);

    private final String deviceType;
    private final int deviceId;

    private Device(String deviceType, int deviceId) {
        this.deviceType = deviceType;
        this.deviceId = deviceId;
    }

    /**
     * Returns the CPU.
     *
     * @return the device that managers have where none is named
     */
    public static Device cpu() {
        return CPU;
    }

    /**
     * Returns the first Huawei Ascend NPU. Whether it can be used shows when a manager is made for it.
     *
     * @return the device
     */
    public static Device ascend() {
        return ascend(0);
    }

    /**
     * Returns a Huawei Ascend NPU. Whether it can be used shows when a manager is made for it.
     *
     * @param index which one, from 0
     * @return the device
     * @throws IllegalArgumentException if index is negative
     */
    public static Device ascend(int index) {
        if (index < 0) {
            throw new IllegalArgumentException("index is " + index + ", expected 0 or more");
        }
        return new Device(ASCEND_TYPE, index);
    }

    /**
     * Returns the device of a name, as a program's option may have it.
     *
     * @param deviceName "cpu", or "ascend", which may be followed by the index: "ascend1"
     * @return the device
     * @throws IllegalArgumentException if it is another name
     */
    public static Device fromName(String deviceName) {
        Matcher ascend = ASCEND_NAME.matcher(Objects.requireNonNull(deviceName, "deviceName"));
        if (deviceName.equals(CPU_TYPE)) {
            return CPU;
        } else if (ascend.matches()) {
            return ascend.group(1).isEmpty() ? ascend() : ascend(Integer.parseInt(ascend.group(1)));
        }
        throw new IllegalArgumentException("deviceName is \"" + deviceName + "\", expected \"" + CPU_TYPE + "\", \""
                + ASCEND_TYPE + "\" or, with an index, \"" + ASCEND_TYPE + "0\"");
    }

    /**
     * Returns how many devices of a type can be used. Where there is none, {@link
     * NDManager#newBaseManager(Device)} says why.
     *
     * @param deviceType "cpu" or "ascend"
     * @return 1 for the CPU; 0 for the other where driver, plugin or device is missing
     * @throws IllegalArgumentException if it is another type
     */
    public static int getCount(String deviceType) {
        int code = code(Objects.requireNonNull(deviceType, "deviceType"));
        Library.load();
        return HeedNative.heed_device_count(code);
    }

    /**
     * Returns the type.
     *
     * @return "cpu" or "ascend"
     */
    public String getDeviceType() {
        return deviceType;
    }

    /**
     * Returns which device of its type it is.
     *
     * @return the number, from 0; 0 for the CPU
     */
    public int getDeviceId() {
        return deviceId;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Device
                && deviceType.equals(((Device) other).deviceType)
                && deviceId == ((Device) other).deviceId;
    }

    @Override
    public int hashCode() {
        return Objects.hash(deviceType, deviceId);
    }

    /**
     * Returns the name.
     *
     * @return "cpu()" or, for example, "ascend(0)"
     */
    @Override
    public String toString() {
        return isCpu() ? "cpu()" : deviceType + "(" + deviceId + ")";
    }

    boolean isCpu() {
        return equals(CPU);
    }

    int code() {
        return code(deviceType);
    }

    private static int code(String deviceType) {
        switch (deviceType) {
            case CPU_TYPE:
                return CPU_CODE;
            case ASCEND_TYPE:
                return ASCEND_CODE;
            default:
                throw new IllegalArgumentException(
                        "deviceType is " + deviceType + ", expected " + CPU_TYPE + " or " + ASCEND_TYPE);
        }
    }
}
