// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * A part of an array, as DJL's programs write it: what is taken of each of the first axes, as in NumPy. {@link
 * NDArray#get(NDIndex)} gives it as a view, or as a copy if the index has an array; {@link NDArray#set(NDIndex, NDArray)}
 * writes to it.
 *
 * <table>
 *   <caption>The parts of a text</caption>
 *   <tr><td>{@code 2}, {@code -1}</td><td>an index, which removes its axis</td></tr>
 *   <tr><td>{@code 1:3}, {@code :3}, {@code 1:}, {@code :}, {@code *}</td><td>a range, which keeps its axis; a missing
 *     end is that of the axis</td></tr>
 *   <tr><td>{@code ::2}, {@code 5:1:-1}, {@code ::-1}</td><td>a range with a step. If it is negative the range runs
 *     backwards, from the last index to the first if both ends are missing</td></tr>
 *   <tr><td>{@code ...}</td><td>as many whole axes as are left; at most once</td></tr>
 *   <tr><td>{@code null}</td><td>a new axis of size 1</td></tr>
 *   <tr><td>{@code {}}</td><td>in the place of a number: the next argument; alone also null for a new axis, an array of
 *     indices or a mask</td></tr>
 * </table>
 *
 * <p>An array of {@link DataType#INT32} or {@link DataType#INT64} has indices of one axis, whose place its own axes take. A
 * {@link DataType#BOOLEAN} array is a mask of as many axes as it has, which become one axis of the elements where it is
 * true. An index has at most one of them. As in NumPy, its axes come first if there are numbers in the index, but not all
 * of them beside the array.
 *
 * <p>Negative numbers count from the end. Unlike in NumPy, a range that is not within its axis, or that ends before its
 * begin, is refused by the array, not shortened. Not thread-safe while parts are added.
 */
public final class NDIndex {
    private final List<IndexPart> parts = new ArrayList<>();

    /** Makes an index without parts, to which the methods of this class add some. It takes the whole array. */
    public NDIndex() {}

    /**
     * Reads the text.
     *
     * @param indices the text, such as ":, :{}, 3": it may end in a comma
     * @param args the whole numbers and arrays that stand for each "{}", in their order; null stands for a new axis
     * @throws IllegalArgumentException if the text is no such list; the sentence names the part and its position. Or if
     *     it has not as many "{}" as there are arguments, or an array is of another type
     */
    public NDIndex(String indices, Object... args) {
        addIndices(indices, args);
    }

    /**
     * Makes an index of numbers.
     *
     * @param indices an index of each of the first axes; negative ones count from the end
     */
    public NDIndex(long... indices) {
        addIndices(indices);
    }

    /**
     * Makes an index of a range of one axis, and of the whole axes before it.
     *
     * @param axis the axis, from 0
     * @param min the first index of the range
     * @param max the index after its last
     * @return a new index
     * @throws IllegalArgumentException if axis is negative
     */
    public static NDIndex sliceAxis(int axis, long min, long max) {
        return new NDIndex().addAll("axis", axis).addSliceDim(min, max);
    }

    /**
     * Returns how many axes of an array the parts take.
     *
     * @return the number of indices and ranges, and of the axes of a mask
     */
    public int getRank() {
        int rank = 0;
        for (IndexPart part : parts) {
            rank += part.numAxes();
        }
        return rank;
    }

    /**
     * Returns where "..." stands.
     *
     * @return its position among the parts, from 0; -1 if there is none
     */
    public int getEllipsisIndex() {
        for (int i = 0; i < parts.size(); i++) {
            if (parts.get(i).kind == IndexPart.Kind.ELLIPSIS) {
                return i;
            }
        }
        return -1;
    }

    /**
     * Adds the parts of a text.
     *
     * @param indices the text, as in {@link #NDIndex(String, Object...)}
     * @param args the numbers and arrays that stand for each "{}", likewise
     * @return this index
     * @throws IllegalArgumentException as there; nothing is added then
     */
    public NDIndex addIndices(String indices, Object... args) {
        Objects.requireNonNull(indices, "indices");
        Objects.requireNonNull(args, "args");
        List<IndexPart> read = IndexText.read(indices, args);
        long ellipses = read.stream().filter(part -> part.kind == IndexPart.Kind.ELLIPSIS).count();
        if (ellipses + (getEllipsisIndex() < 0 ? 0 : 1) > 1) {
            throw new IllegalArgumentException("indices is \"" + indices + "\", expected \"...\" at most once");
        }
        parts.addAll(read);
        return this;
    }

    /**
     * Adds an index of each of the next axes.
     *
     * @param indices the indices; negative ones count from the end
     * @return this index
     */
    public NDIndex addIndices(long... indices) {
        for (long index : Objects.requireNonNull(indices, "indices")) {
            parts.add(IndexPart.index(index));
        }
        return this;
    }

    /**
     * Adds the indices of the next axis, or a mask of the next axes.
     *
     * @param indices an array of INT32 or INT64, in which negative numbers count from the end, or of BOOLEAN
     * @return this index
     * @throws IllegalArgumentException if the array is of another type
     */
    public NDIndex addIndices(NDArray indices) {
        return addArray("indices", Objects.requireNonNull(indices, "indices"));
    }

    /**
     * Adds a mask of as many axes as it has, of which the elements are taken where it is true.
     *
     * @param index a BOOLEAN array, or one of numbers, of which those that are not 0 are true
     * @return this index
     */
    public NDIndex addBooleanIndex(NDArray index) {
        return addArray("index", Objects.requireNonNull(index, "index").toType(DataType.BOOLEAN, false));
    }

    /**
     * Adds "...", as many whole axes as the other parts leave.
     *
     * @return this index
     * @throws IllegalArgumentException if the index has one already
     */
    public NDIndex addEllipseDim() {
        return addIndices("...");
    }

    /**
     * Adds a whole axis.
     *
     * @return this index
     */
    public NDIndex addAllDim() {
        return addAllDim(1);
    }

    /**
     * Adds whole axes.
     *
     * @param count how many
     * @return this index
     * @throws IllegalArgumentException if count is negative
     */
    public NDIndex addAllDim(int count) {
        return addAll("count", count);
    }

    /**
     * Adds a range of the next axis.
     *
     * @param min its first index; a negative one counts from the end
     * @param max the index after its last, likewise
     * @return this index
     */
    public NDIndex addSliceDim(long min, long max) {
        parts.add(IndexPart.range(min, max, null));
        return this;
    }

    /**
     * Adds a range with a step of the next axis.
     *
     * @param min its first index; a negative one counts from the end
     * @param max the index that it stops before, likewise
     * @param step the difference between its indices, which may be negative
     * @return this index
     * @throws IllegalArgumentException if step is 0
     */
    public NDIndex addSliceDim(long min, long max, long step) {
        if (step == 0) {
            throw new IllegalArgumentException("step is 0, expected another number");
        }
        parts.add(IndexPart.range(min, max, step));
        return this;
    }

    @Override
    public String toString() {
        return parts.stream().map(IndexPart::toString).collect(Collectors.joining(", "));
    }

    /** Adds a mask that exceptions call by this name. */
    NDIndex addMask(String name, NDArray mask) {
        if (mask.getDataType() != DataType.BOOLEAN) {
            throw new IllegalArgumentException(
                    name + " is an array of " + mask.getDataType().name() + ", expected BOOLEAN: use toType");
        }
        return addArray(name, mask);
    }

    /** Adds an array of indices or a mask that exceptions call by this name. */
    NDIndex addArray(String name, NDArray array) {
        parts.add(IndexPart.array(name, array));
        return this;
    }

    List<IndexPart> parts() {
        return Collections.unmodifiableList(parts);
    }

    private NDIndex addAll(String name, int count) {
        if (count < 0) {
            throw new IllegalArgumentException(name + " is " + count + ", expected 0 or more");
        }
        parts.addAll(Collections.nCopies(count, IndexPart.range(null, null, null)));
        return this;
    }
}
