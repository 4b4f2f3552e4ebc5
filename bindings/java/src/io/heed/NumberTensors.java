// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Native arrays of one element, to which the numbers of calls are written. Those of a context are used again from call
 * to call, each by one call at a time.
 */
final class NumberTensors {
    /** Those that no call uses. A thread begins with one slot, and takes no lock. */
    static final class Pool {
        private final AtomicReferenceArray<NumberTensors> slots = new AtomicReferenceArray<>(LayerCall.Pool.SLOTS);

        NumberTensors take(NDManager manager) {
            int slot = LayerCall.Pool.firstSlot();
            NumberTensors numbers = slots.getAndSet(slot, null);
            return numbers == null ? new NumberTensors(manager.openContext(), manager.hostContext(), slot) : numbers;
        }

        void give(NumberTensors numbers) {
            NumberTensors other = slots.getAndSet(numbers.slot, numbers);
            if (other != null) {
                other.close();
            }
        }
    }

    private static final int TYPES = DataType.values().length;

    private final NativeContext context;
    private final NativeContext host;
    private final int slot;
    /** By the codes of types; null until a number of the type is written. */
    private final NativeTensor[] tensors = new NativeTensor[TYPES];
    /** The same in the processor's memory, and this memory. */
    private final NativeTensor[] onHost = new NativeTensor[TYPES];

    private final ByteBuffer[] memory = new ByteBuffer[TYPES];
    /** For the second number of a call. */
    private NumberTensors second;

    private NumberTensors(NativeContext context, NativeContext host, int slot) {
        this.context = context;
        this.host = host;
        this.slot = slot;
    }

    static NumberTensors take(NDManager manager) {
        return manager.openContext().numbers.take(manager);
    }

    /** Others, for the second number of a call. */
    NumberTensors second() {
        second = second == null ? new NumberTensors(context, host, slot) : second;
        return second;
    }

    void give() {
        context.numbers.give(this);
    }

    /**
     * A native array with a number of a type, which is valid until the next one is asked for.
     *
     * @param name what exceptions call the number
     * @throws IllegalArgumentException if it is an integer type that does not hold the number
     */
    NativeTensor of(String name, Number number, DataType type) {
        switch (type) {
            case FLOAT32:
                memoryOf(type).putFloat(0, number.floatValue());
                return onDevice(type, type);
            case INT64:
                memoryOf(type).putLong(0, whole(name, number, type, Long.MIN_VALUE, Long.MAX_VALUE));
                return onDevice(type, type);
            case INT32:
                memoryOf(type).putInt(0, (int) whole(name, number, type, Integer.MIN_VALUE, Integer.MAX_VALUE));
                return onDevice(type, type);
            case INT8:
                memoryOf(type).put(0, (byte) whole(name, number, type, Byte.MIN_VALUE, Byte.MAX_VALUE));
                return onDevice(type, type);
            case UINT8:
                memoryOf(type).put(0, (byte) whole(name, number, type, 0, 255));
                return onDevice(type, type);
            case BOOLEAN:
                memoryOf(type).put(0, (byte) (number.doubleValue() == 0 ? 0 : 1));
                return onDevice(type, type);
            default:
                memoryOf(DataType.FLOAT64).putDouble(0, number.doubleValue());
                return onDevice(DataType.FLOAT64, type);
        }
    }

    private ByteBuffer memoryOf(DataType type) {
        if (memory[type.code] == null) {
            onHost[type.code] = made(host, type);
            memory[type.code] = onHost[type.code].data().order(ByteOrder.nativeOrder());
        }
        return memory[type.code];
    }

    /** The number that is in the processor's memory, in the context and of a type. */
    private NativeTensor onDevice(DataType written, DataType type) {
        if (context == host && written == type) {
            return onHost[type.code];
        }
        if (tensors[type.code] == null) {
            tensors[type.code] = made(context, type);
        }
        tensors[type.code].copy(onHost[written.code]);
        return tensors[type.code];
    }

    private void close() {
        if (second != null) {
            second.close();
        }
        for (int code = 0; code < TYPES; code++) {
            if (tensors[code] != null) {
                tensors[code].close();
            }
            if (onHost[code] != null) {
                onHost[code].close();
            }
        }
    }

    private static NativeTensor made(NativeContext where, DataType type) {
        NativeTensor tensor = NativeTensor.create(where, type.code, new long[0]);
        tensor.leaveToCollector();
        return tensor;
    }

    private static long whole(String name, Number number, DataType type, long least, long largest) {
        boolean isLong = number instanceof Long
                || number instanceof Integer
                || number instanceof Short
                || number instanceof Byte;
        double value = number.doubleValue();
        if (!isLong && value != Math.rint(value) || Double.isNaN(value) || Double.isInfinite(value)) {
            throw new IllegalArgumentException(name + " is " + number + ", expected a whole number for an array of "
                    + type.name() + ": use toType to make it one of FLOAT32");
        }
        // As a double, the largest long is not exact.
        boolean fits = isLong || value >= -0x1p63 && value < 0x1p63;
        long whole = number.longValue();
        if (!fits || whole < least || whole > largest) {
            throw new IllegalArgumentException(name + " is " + number + ", expected " + least + " to " + largest
                    + " for an array of " + type.name());
        }
        return whole;
    }
}
