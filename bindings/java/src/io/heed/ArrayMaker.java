// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.Buffer;
import java.util.Objects;
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

    NDArray ofRows(float[][] data) {
        int length = data.length == 0 ? 0 : Objects.requireNonNull(data[0], "data[0]").length;
        for (int row = 0; row < data.length; row++) {
            if (Objects.requireNonNull(data[row], "data[" + row + "]").length != length) {
                throw new IllegalArgumentException("data[" + row + "] has " + data[row].length
                        + " elements, data[0] has " + length);
            }
        }
        return written(new Shape(data.length, length), DataType.FLOAT32, tensor -> {
            for (int row = 0; row < data.length; row++) {
                try (NativeTensor part = tensor.slice(0, row, 1)) {
                    part.write(data[row]);
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
