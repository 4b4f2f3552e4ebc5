// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A device that holds arrays and computes blocks. Immutable. */
public final class Device {
    private static final String CPU_TYPE = "cpu";
    private static final String ASCEND_TYPE = "ascend";
    /** The numbers of heed_device in heed.h. */
    private static final int CPU_CODE = 0;
    private static final int ASCEND_CODE = 1;

    /** The type, followed by an index that fits an int. */
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
     * @return the CPU, which managers use if no device is named
     */
    public static Device cpu() {
        return CPU;
    }

    /**
     * Returns the first Huawei Ascend NPU. Making a manager for it fails if the NPU cannot be used.
     *
     * @return the device
     */
    public static Device ascend() {
        return ascend(0);
    }

    /**
     * Returns a Huawei Ascend NPU. Making a manager for it fails if the NPU cannot be used.
     *
     * @param index the index of the NPU, from 0
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
     * Returns the device with a name, such as the value of a program's option.
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
     * Returns the number of devices of a type that can be used. If it is 0, the exception of {@link
     * NDManager#newBaseManager(Device)} gives the reason.
     *
     * @param deviceType "cpu" or "ascend"
     * @return 1 for the CPU; 0 for an NPU whose driver, plugin or device is missing
     * @throws IllegalArgumentException if it is another type
     */
    public static int getCount(String deviceType) {
        int code = code(Objects.requireNonNull(deviceType, "deviceType"));
        Library.load();
        return HeedNative.heed_device_count(code);
    }

    /**
     * Returns the type of the device.
     *
     * @return "cpu" or "ascend"
     */
    public String getDeviceType() {
        return deviceType;
    }

    /**
     * Returns the index of the device among those of its type.
     *
     * @return the index, from 0; 0 for the CPU
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
     * Returns the name of the device.
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
