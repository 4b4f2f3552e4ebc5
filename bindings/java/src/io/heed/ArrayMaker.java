// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.reflect.Array;
import java.nio.Buffer;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Makes arrays for a manager. */
final class ArrayMaker {
    private final NDManager manager;

    ArrayMaker(NDManager manager) {
        this.manager = manager;
    }

    /** Makes an array of zeros that `filler` then fills. */
    NDArray filled(Shape shape, DataType dataType, Consumer<NativeTensor> filler) {
        Objects.requireNonNull(shape, "shape");
        Objects.requireNonNull(dataType, "dataType");
        NativeTensor tensor = NativeTensor.create(manager.openContext(), dataType.code, shape.dims());
        try {
            filler.accept(tensor);
        } catch (Throwable error) {
            tensor.close();
            throw error;
        }
        return manager.adopt(tensor);
    }

    /** Makes an array that `writer` copies from a Java array of `count` elements. */
    NDArray copied(int count, Shape shape, DataType dataType, Consumer<NativeTensor> writer) {
        return written(shape, dataType, tensor -> {
            Buffers.checkCount(count, "", shape);
            writer.accept(tensor);
        });
    }

    NDArray copied(Buffer data, Shape shape, DataType dataType) {
        Buffer elements = checkedElements(data, shape, dataType);
        return filled(shape, dataType, tensor -> Buffers.write(tensor, elements, dataType));
    }

    /** Makes an array of rows, which are Java arrays of elements of the type. `writer` copies one of them. */
    NDArray ofRows(Object[] data, DataType dataType, BiConsumer<NativeTensor, Object> writer) {
        int length = data.length == 0 ? 0 : Array.getLength(Objects.requireNonNull(data[0], "data[0]"));
        for (int row = 0; row < data.length; row++) {
            int found = Array.getLength(Objects.requireNonNull(data[row], "data[" + row + "]"));
            if (found != length) {
                throw new IllegalArgumentException(
                        "data[" + row + "] has " + found + " elements, data[0] has " + length);
            }
        }
        return written(new Shape(data.length, length), dataType, tensor -> {
            for (int row = 0; row < data.length; row++) {
                try (NativeTensor part = tensor.slice(0, row, 1)) {
                    writer.accept(part, data[row]);
                }
            }
        });
    }

    NDArray ofNumber(Number data) {
        Shape scalar = new Shape();
        if (data instanceof Float) {
            return manager.create(new float[] {data.floatValue()}, scalar);
        } else if (data instanceof Double) {
            return manager.create(new double[] {data.doubleValue()}, scalar);
        } else if (data instanceof Integer || data instanceof Short) {
            return manager.create(new int[] {data.intValue()}, scalar);
        } else if (data instanceof Long) {
            return manager.create(new long[] {data.longValue()}, scalar);
        } else if (data instanceof Byte) {
            return manager.create(new byte[] {data.byteValue()}, scalar);
        }
        throw new IllegalArgumentException("data is a " + Objects.requireNonNull(data, "data").getClass().getSimpleName()
                + ", expected a Float, Double, Integer, Short, Long or Byte");
    }

    /** Makes a matrix of ones on a diagonal, `k` columns to the right of the main one, and of zeros elsewhere. */
    NDArray eye(long rows, long columns, long k, DataType dataType) {
        return filled(new Shape(rows, columns), dataType, tensor -> {
            long length = Math.min(rows + Math.min(k, 0), columns - Math.max(k, 0));
            if (length > 0) {
                long first = k < 0 ? -k * columns : k;
                StridedView diagonal = new StridedView(new long[] {length}, new long[] {columns + 1}, first);
                try (NativeTensor ones = diagonal.of(tensor)) {
                    ones.fill(1);
                }
            }
        });
    }

    NDArray spaced(double start, double stop, int num, boolean endpoint) {
        manager.openContext();
        if (num < 0 || Double.isNaN(stop - start) || Double.isInfinite(stop - start)) {
            throw new IllegalArgumentException("start is " + start + ", stop is " + stop + " and num is " + num
                    + ", expected finite numbers and a num of 0 or more");
        }
        int steps = endpoint ? num - 1 : num;
        return filled(new Shape(num), DataType.FLOAT32, tensor -> {
            tensor.fillArange(start, steps > 0 ? (stop - start) / steps : 0);
            if (endpoint && steps > 0) {
                try (NativeTensor last = tensor.slice(0, -1, 1)) {
                    last.fill(stop);
                }
            }
        });
    }

    NDArray over(Buffer data, Shape shape, DataType dataType) {
        Buffer elements = checkedElements(data, shape, dataType);
        Buffers.checkShareable(elements, dataType);
        NativeContext open = manager.openContext();
        if (!manager.getDevice().isCpu()) {
            throw new UnsupportedOperationException("wrap needs a manager for cpu(), this one is for "
                    + manager.getDevice() + "; create(data, shape) copies");
        }
        Buffer memory = elements.slice();
        NativeTensor tensor = NativeTensor.wrap(open, dataType.code, shape.dims(), memory);
        tensor.keep(memory);
        return manager.adopt(tensor);
    }

    NDArray sequence(double start, double stop, double step, DataType dataType) {
        double count = Math.ceil((stop - start) / step);
        if (step == 0 || Double.isNaN(count) || Double.isInfinite(count)) {
            throw new IllegalArgumentException("start is " + start + ", stop is " + stop + " and step is " + step
                    + ", expected finite numbers and a step other than 0");
        }
        return filled(new Shape((long) Math.max(count, 0)), dataType, tensor -> tensor.fillArange(start, step));
    }

    /** Makes an array that `writer` copies from Java arrays; see {@link NDManager#hostContext}. */
    private NDArray written(Shape shape, DataType dataType, Consumer<NativeTensor> writer) {
        return manager.getDevice().isCpu() ? filled(shape, dataType, writer) : filled(shape, dataType, tensor -> {
            try (NativeTensor values = NativeTensor.create(manager.hostContext(), dataType.code, shape.dims())) {
                writer.accept(values);
                tensor.copy(values);
            }
        });
    }

    private static Buffer checkedElements(Buffer data, Shape shape, DataType dataType) {
        Objects.requireNonNull(data, "data");
        Objects.requireNonNull(shape, "shape");
        Objects.requireNonNull(dataType, "dataType");
        return Buffers.checked(data, dataType, shape);
    }
}
