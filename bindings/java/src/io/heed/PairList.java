// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Keys and their values, in order. A key may be there more than once; {@link #get(Object)} finds the first. As in DJL
 * it is no {@link List}. Not for several threads at once.
 *
 * @param <K> the type of the keys
 * @param <V> the type of the values
 */
public class PairList<K, V> implements Iterable<Pair<K, V>> {
    private final List<K> keys;
    private final List<V> values;

    /** Makes an empty list. */
    public PairList() {
        this(0);
    }

    /**
     * Makes an empty list.
     *
     * @param initialCapacity how many pairs it has room for before it grows
     */
    public PairList(int initialCapacity) {
        keys = new ArrayList<>(initialCapacity);
        values = new ArrayList<>(initialCapacity);
    }

    /**
     * Makes a list of copies of these.
     *
     * @param keys the keys
     * @param values as many values
     * @throws IllegalArgumentException if there are more of one than of the other
     */
    public PairList(List<K> keys, List<V> values) {
        if (keys.size() != values.size()) {
            throw new IllegalArgumentException(
                    "there are " + keys.size() + " keys and " + values.size() + " values, expected as many of each");
        }
        this.keys = new ArrayList<>(keys);
        this.values = new ArrayList<>(values);
    }

    /**
     * Makes a list of these pairs.
     *
     * @param pairs the pairs
     */
    public PairList(List<Pair<K, V>> pairs) {
        this(pairs.size());
        pairs.forEach(this::add);
    }

    /**
     * Makes a list of a map's entries, in the map's order.
     *
     * @param map the map
     */
    public PairList(Map<K, V> map) {
        this(map.size());
        map.forEach(this::add);
    }

    /**
     * Adds a pair at the end.
     *
     * @param key its key
     * @param value its value
     */
    public void add(K key, V value) {
        keys.add(key);
        values.add(value);
    }

    /**
     * Adds a pair in between.
     *
     * @param index how many pairs stay before it
     * @param key its key
     * @param value its value
     * @throws IndexOutOfBoundsException if there are fewer pairs than index, or index is negative
     */
    public void add(int index, K key, V value) {
        keys.add(index, key);
        values.add(index, value);
    }

    /**
     * Adds a pair at the end.
     *
     * @param pair the pair
     */
    public void add(Pair<K, V> pair) {
        add(pair.getKey(), pair.getValue());
    }

    /**
     * Adds all pairs of another list at the end.
     *
     * @param other the list; null: nothing is added
     */
    public void addAll(PairList<K, V> other) {
        if (other != null) {
            keys.addAll(other.keys);
            values.addAll(other.values);
        }
    }

    /**
     * Returns the number of pairs.
     *
     * @return the number of pairs
     */
    public int size() {
        return keys.size();
    }

    /**
     * Tells whether there is no pair.
     *
     * @return true if there is none
     */
    public boolean isEmpty() {
        return keys.isEmpty();
    }

    /**
     * Returns a pair.
     *
     * @param index how many pairs are before it
     * @return the pair
     * @throws IndexOutOfBoundsException if there is none
     */
    public Pair<K, V> get(int index) {
        return new Pair<>(keys.get(index), values.get(index));
    }

    /**
     * Returns the value of a key.
     *
     * @param key the key
     * @return the value of the first pair with this key, null if there is none
     */
    public V get(K key) {
        int index = keys.indexOf(key);
        return index < 0 ? null : values.get(index);
    }

    /**
     * Tells where a key is.
     *
     * @param key the key
     * @return how many pairs are before the first with this key, -1 if there is none
     */
    public int indexOf(K key) {
        return keys.indexOf(key);
    }

    /**
     * Tells whether a key is there.
     *
     * @param key the key
     * @return whether a pair has it
     */
    public boolean contains(K key) {
        return keys.contains(key);
    }

    /**
     * Returns the key of a pair.
     *
     * @param index how many pairs are before it
     * @return its key
     * @throws IndexOutOfBoundsException if there is no such pair
     */
    public K keyAt(int index) {
        return keys.get(index);
    }

    /**
     * Returns the value of a pair.
     *
     * @param index how many pairs are before it
     * @return its value
     * @throws IndexOutOfBoundsException if there is no such pair
     */
    public V valueAt(int index) {
        return values.get(index);
    }

    /**
     * Returns the keys.
     *
     * @return a copy, in order
     */
    public List<K> keys() {
        return new ArrayList<>(keys);
    }

    /**
     * Returns the values.
     *
     * @return a copy, in order
     */
    public List<V> values() {
        return new ArrayList<>(values);
    }

    /**
     * Takes away the first pair with a key.
     *
     * @param key the key
     * @return the pair's value, null if there is none
     */
    public V remove(K key) {
        int index = keys.indexOf(key);
        return index < 0 ? null : remove(index);
    }

    /**
     * Takes away a pair.
     *
     * @param index how many pairs are before it
     * @return its value
     * @throws IndexOutOfBoundsException if there is no such pair
     */
    public V remove(int index) {
        keys.remove(index);
        return values.remove(index);
    }

    /**
     * Returns the pairs as a map.
     *
     * @return a new map in the list's order
     * @throws IllegalStateException if two pairs have the same key
     */
    public Map<K, V> toMap() {
        Map<K, V> map = new LinkedHashMap<>();
        for (int i = 0; i < size(); i++) {
            if (map.containsKey(keys.get(i))) {
                throw new IllegalStateException("the key " + keys.get(i) + " is in the list more than once");
            }
            map.put(keys.get(i), values.get(i));
        }
        return map;
    }

    /**
     * Returns the pairs as a stream.
     *
     * @return the pairs in order
     */
    public Stream<Pair<K, V>> stream() {
        return IntStream.range(0, size()).mapToObj(this::get);
    }

    @Override
    public Iterator<Pair<K, V>> iterator() {
        return new Iterator<Pair<K, V>>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < size();
            }

            @Override
            public Pair<K, V> next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return get(next++);
            }
        };
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PairList
                && keys.equals(((PairList<?, ?>) other).keys)
                && values.equals(((PairList<?, ?>) other).values);
    }

    @Override
    public int hashCode() {
        return Objects.hash(keys, values);
    }

    @Override
    public String toString() {
        return stream().map(Pair::toString).collect(Collectors.joining(", ", "{", "}"));
    }
}
