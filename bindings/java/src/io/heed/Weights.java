// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The named arrays of a .safetensors file, or of all files of a model in several files. It lists the arrays, and many
 * blocks can be loaded from it; the files are opened only once. It belongs to no manager: the program has to close it.
 * Many threads may use it at the same time.
 */
public final class Weights implements AutoCloseable {
    private final NativeWeights handle;
    private final String path;
    /** The index of each name; names are in the order of their bytes. */
    private final Map<String, Long> indices;

    private Weights(NativeWeights handle, String path) {
        this.handle = handle;
        this.path = path;
        long count = handle.count();
        indices = new LinkedHashMap<>();
        for (long index = 0; index < count; index++) {
            indices.put(handle.name(index), index);
        }
    }

    /**
     * Opens a file, or all files of a model, and reads the names, types and shapes of the arrays, but no elements. The
     * files stay open, and must not be written meanwhile.
     *
     * @param path a .safetensors file; of a model in several files the index (model.safetensors.index.json), or any of
     *     the files with the index beside it
     * @return the weights, which the caller closes
     * @throws HeedException with {@link Status#IO} if a file cannot be read, {@link Status#CORRUPT_FILE} if it does not
     *     have the format, or is of another kind, such as PyTorch's .bin: the message says which, and what to do
     */
    public static Weights open(Path path) {
        ByteBuffer file = NativeText.of(path);
        NativeWeights handle = NativeWeights.open(Library.context(), file);
        try {
            return new Weights(handle, path.toString());
        } catch (Throwable error) {
            handle.close();
            throw error;
        }
    }

    /**
     * Returns the names of all arrays, in the order of their bytes in UTF-8.
     *
     * @return the names, in an unmodifiable list
     * @throws IllegalStateException if the weights are closed
     */
    public List<String> getNames() {
        handle.checkOpen();
        return Collections.unmodifiableList(new ArrayList<>(indices.keySet()));
    }

    /**
     * Returns the type of an array's elements.
     *
     * @param name the array's name
     * @return the type; null for one that heed does not have, whose name {@link #getDataTypeName} returns
     * @throws IllegalArgumentException if there is no array of that name
     * @throws IllegalStateException if the weights are closed
     */
    public DataType getDataType(String name) {
        int code = handle.dtype(indexOf(name));
        return code < 0 ? null : DataType.of(code);
    }

    /**
     * Returns the name that the file gives to the type of an array's elements.
     *
     * @param name the array's name
     * @return the name of the type, such as "F32" or "F8_E4M3"
     * @throws IllegalArgumentException if there is no array of that name
     * @throws IllegalStateException if the weights are closed
     */
    public String getDataTypeName(String name) {
        return handle.dtypeName(indexOf(name));
    }

    /**
     * Returns the shape of an array.
     *
     * @param name the array's name
     * @return its shape
     * @throws IllegalArgumentException if there is no array of that name
     * @throws UnsupportedOperationException if it has more than 8 axes
     * @throws IllegalStateException if the weights are closed
     */
    public Shape getShape(String name) {
        long index = indexOf(name);
        int rank = handle.rank(index);
        if (rank > 8) {
            throw new UnsupportedOperationException(
                    "\"" + name + "\" has " + rank + " axes, expected at most 8");
        }
        long[] dims = new long[rank];
        for (int axis = 0; axis < rank; axis++) {
            dims[axis] = handle.dim(index, axis);
        }
        return new Shape(dims);
    }

    /**
     * Closes the files. If a call on another thread uses them, they are closed after that call. Closing twice does
     * nothing.
     */
    @Override
    public void close() {
        handle.close();
    }

    @Override
    public String toString() {
        return "Weights of " + path + ", " + indices.size() + " arrays" + (handle.isOpen() ? "" : " (closed)");
    }

    NativeWeights handle() {
        return handle;
    }

    private long indexOf(String name) {
        handle.checkOpen();
        Objects.requireNonNull(name, "name");
        Long index = indices.get(name);
        if (index == null) {
            throw new IllegalArgumentException("name is \"" + name + "\", which is no array of " + path);
        }
        return index;
    }
}
