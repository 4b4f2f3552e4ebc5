// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * A key and its value.
 *
 * @param <K> the type of the key
 * @param <V> the type of the value
 */
public final class Pair<K, V> {
    private final K key;
    private final V value;

    /**
     * Makes a pair.
     *
     * @param key the key, which may be null
     * @param value the value, which may be null
     */
    public Pair(K key, V value) {
        this.key = key;
        this.value = value;
    }

    /**
     * Returns the key.
     *
     * @return the key
     */
    public K getKey() {
        return key;
    }

    /**
     * Returns the value.
     *
     * @return the value
     */
    public V getValue() {
        return value;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Pair
                && Objects.equals(key, ((Pair<?, ?>) other).key)
                && Objects.equals(value, ((Pair<?, ?>) other).value);
    }

    @Override
    public int hashCode() {
        return Objects.hash(key, value);
    }

    @Override
    public String toString() {
        return key + "=" + value;
    }
}
