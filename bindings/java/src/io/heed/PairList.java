// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Keys with values, in order. A key may occur more than once; {@link #get(Object)} finds the first. As in DJL, this is
 * not a {@link List}. Not thread-safe.
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
     * @param initialCapacity the number of pairs that it has room for before it grows
     */
    public PairList(int initialCapacity) {
        keys = new ArrayList<>(initialCapacity);
        values = new ArrayList<>(initialCapacity);
    }

    /**
     * Makes a list with copies of these lists.
     *
     * @param keys the keys
     * @param values one value for each key
     * @throws IllegalArgumentException if the lists differ in length
     */
    public PairList(List<K> keys, List<V> values) {
        if (Objects.requireNonNull(keys, "keys").size() != Objects.requireNonNull(values, "values").size()) {
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
        this(Objects.requireNonNull(pairs, "pairs").size());
        pairs.forEach(this::add);
    }

    /**
     * Makes a list of the entries of a map, in the map's order.
     *
     * @param map the map
     */
    public PairList(Map<K, V> map) {
        this(Objects.requireNonNull(map, "map").size());
        map.forEach(this::add);
    }

    /**
     * Appends a pair.
     *
     * @param key its key
     * @param value its value
     */
    public void add(K key, V value) {
        keys.add(key);
        values.add(value);
    }

    /**
     * Inserts a pair.
     *
     * @param index the index of the new pair
     * @param key its key
     * @param value its value
     * @throws IndexOutOfBoundsException if index is negative or above the number of pairs
     */
    public void add(int index, K key, V value) {
        keys.add(index, key);
        values.add(index, value);
    }

    /**
     * Appends a pair.
     *
     * @param pair the pair
     */
    public void add(Pair<K, V> pair) {
        add(Objects.requireNonNull(pair, "pair").getKey(), pair.getValue());
    }

    /**
     * Appends all pairs of another list.
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
     * Tells whether the list is empty.
     *
     * @return true if it has no pairs
     */
    public boolean isEmpty() {
        return keys.isEmpty();
    }

    /**
     * Returns a pair.
     *
     * @param index the index of the pair, from 0
     * @return the pair
     * @throws IndexOutOfBoundsException if there is no such pair
     */
    public Pair<K, V> get(int index) {
        return new Pair<>(keys.get(index), values.get(index));
    }

    /**
     * Returns the value of a key.
     *
     * @param key the key
     * @return the value of the first pair with this key, or null if there is none
     */
    public V get(K key) {
        int index = keys.indexOf(key);
        return index < 0 ? null : values.get(index);
    }

    /**
     * Returns the index of a key.
     *
     * @param key the key
     * @return the index of the first pair with this key, or -1 if there is none
     */
    public int indexOf(K key) {
        return keys.indexOf(key);
    }

    /**
     * Tells whether a key occurs in the list.
     *
     * @param key the key
     * @return true if a pair has it
     */
    public boolean contains(K key) {
        return keys.contains(key);
    }

    /**
     * Returns the key of a pair.
     *
     * @param index the index of the pair, from 0
     * @return its key
     * @throws IndexOutOfBoundsException if there is no such pair
     */
    public K keyAt(int index) {
        return keys.get(index);
    }

    /**
     * Returns the value of a pair.
     *
     * @param index the index of the pair, from 0
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
     * Removes the first pair with a key.
     *
     * @param key the key
     * @return the value of the pair, or null if there is none
     */
    public V remove(K key) {
        int index = keys.indexOf(key);
        return index < 0 ? null : remove(index);
    }

    /**
     * Removes a pair.
     *
     * @param index the index of the pair, from 0
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
    public void forEach(Consumer<? super Pair<K, V>> action) {
        Iterable.super.forEach(Objects.requireNonNull(action, "action"));
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
