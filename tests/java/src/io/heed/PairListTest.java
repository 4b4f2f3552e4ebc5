// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;

class PairListTest {
    @Test
    void addsAndFinds() {
        PairList<String, Integer> list = new PairList<>();
        assertTrue(list.isEmpty());
        list.add("a", 1);
        list.add(new Pair<>("c", 3));
        list.add(1, "b", 2);
        list.add("a", 4);
        assertEquals(4, list.size());
        assertEquals(List.of("a", "b", "c", "a"), list.keys());
        assertEquals(List.of(1, 2, 3, 4), list.values());
        assertEquals(1, list.get("a"));
        assertNull(list.get("d"));
        assertEquals(2, list.indexOf("c"));
        assertEquals(-1, list.indexOf("d"));
        assertTrue(list.contains("b"));
        assertFalse(list.contains("d"));
        assertEquals(new Pair<>("b", 2), list.get(1));
        assertEquals("c", list.keyAt(2));
        assertEquals(4, list.valueAt(3));
        assertThrows(IndexOutOfBoundsException.class, () -> list.get(4));
        assertThrows(IndexOutOfBoundsException.class, () -> list.add(9, "e", 5));
        assertEquals(4, list.size());
    }

    @Test
    void removes() {
        PairList<String, Integer> list = new PairList<>(List.of("a", "b", "a"), List.of(1, 2, 3));
        assertEquals(1, list.remove("a"));
        assertNull(list.remove("d"));
        assertEquals(3, list.remove(1));
        assertEquals("{b=2}", list.toString());
    }

    @Test
    void isMadeOfListsPairsAndMaps() {
        Map<String, Integer> map = new LinkedHashMap<>();
        map.put("a", 1);
        map.put("b", 2);
        PairList<String, Integer> list = new PairList<>(map);
        assertEquals(list, new PairList<>(List.of("a", "b"), List.of(1, 2)));
        assertEquals(list, new PairList<>(List.of(new Pair<>("a", 1), new Pair<>("b", 2))));
        assertEquals(map, list.toMap());
        PairList<String, Integer> twice = new PairList<>(2);
        twice.addAll(list);
        twice.addAll(null);
        assertEquals(list.hashCode(), twice.hashCode());
        twice.addAll(list);
        assertNotEquals(list, twice);
        assertThrows(IllegalStateException.class, twice::toMap);
        assertThrows(IllegalArgumentException.class, () -> new PairList<>(List.of("a"), List.of()));
    }

    @Test
    void iterates() {
        PairList<String, Integer> list = new PairList<>(List.of("a", "b"), List.of(1, 2));
        List<Pair<String, Integer>> seen = new ArrayList<>();
        list.forEach(seen::add);
        assertEquals(seen, list.stream().collect(Collectors.toList()));
        assertEquals("[a=1, b=2]", seen.toString());
        Iterator<Pair<String, Integer>> end = list.iterator();
        end.next();
        end.next();
        assertThrows(NoSuchElementException.class, end::next);
    }

    @Test
    void pairs() {
        Pair<String, Integer> pair = new Pair<>("a", 1);
        assertEquals("a", pair.getKey());
        assertEquals(1, pair.getValue());
        assertEquals(new Pair<>("a", 1).hashCode(), pair.hashCode());
        assertNotEquals(new Pair<>("a", 2), pair);
        assertNotEquals(new Pair<>("b", 1), pair);
        assertNotEquals("a=1", pair);
        assertEquals(new Pair<>(null, null), new Pair<>(null, null));
    }

    /** Returned lists are copies: changing them does not change a block's lists. */
    @Test
    void givesCopies() {
        PairList<String, Integer> list = new PairList<>(List.of("a"), List.of(1));
        list.keys().clear();
        list.values().clear();
        assertEquals(1, list.size());
        assertEquals(0, new BlockList().size() + new BlockList(3).size());
        assertEquals(0, new ParameterList().size() + new ParameterList(3).size());
    }
}
