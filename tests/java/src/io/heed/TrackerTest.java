// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class TrackerTest {
    @Test
    void fixedHasOneValue() {
        assertEquals(0.3f, Tracker.fixed(0.3f).getNewValue(1));
        assertEquals(0.3f, Tracker.fixed(0.3f).getNewValue(1000));
    }

    @Test
    void factorMultipliesInEachStep() {
        Tracker tracker = Tracker.factor().setBaseValue(2).setFactor(0.5f).build();
        assertEquals(1, tracker.getNewValue(1));
        assertEquals(0.25f, tracker.getNewValue(3));
        Tracker least = Tracker.factor().setBaseValue(2).setFactor(0.5f).optMinValue(0.25f).build();
        assertEquals(0.25f, least.getNewValue(3));
        assertEquals(0.25f, least.getNewValue(100));
        Tracker last = Tracker.factor().setBaseValue(2).setFactor(0.5f).optMaxUpdates(2).build();
        assertEquals(0.5f, last.getNewValue(100));
    }

    @Test
    void multiFactorMultipliesAfterItsSteps() {
        int[] steps = {5, 30};
        Tracker tracker = Tracker.multiFactor().setBaseValue(0.5f).setSteps(steps).optFactor(0.5f).build();
        steps[0] = 1;
        assertEquals(0.5f, tracker.getNewValue(5));
        assertEquals(0.25f, tracker.getNewValue(6));
        assertEquals(0.125f, tracker.getNewValue(31));
        // It does not depend on what was asked before.
        assertEquals(0.5f, tracker.getNewValue(1));
    }

    @Test
    void linearAddsItsSlope() {
        assertEquals(2.5f, Tracker.linear().setBaseValue(2).optSlope(0.25f).build().getNewValue(2));
        Tracker falling = Tracker.linear().setBaseValue(2).optSlope(-0.25f).optMinValue(1).build();
        assertEquals(1, falling.getNewValue(4));
        assertEquals(1, falling.getNewValue(9));
        Tracker rising = Tracker.linear().setBaseValue(0).optSlope(0.5f).optMaxValue(1).build();
        assertEquals(1, rising.getNewValue(9));
        assertEquals(1.5f, Tracker.linear().optSlope(0.5f).optMaxUpdates(3).build().getNewValue(9));
    }

    @Test
    void cosineFallsToItsLastValue() {
        Tracker tracker = Tracker.cosine().setBaseValue(1).setMaxUpdates(20).optFinalValue(0).build();
        assertEquals(1, tracker.getNewValue(0));
        assertEquals(0.5f, tracker.getNewValue(10), 1e-7f);
        assertEquals(0, tracker.getNewValue(20), 1e-7f);
        assertEquals(0, tracker.getNewValue(21));
        assertEquals(0.01f, Tracker.cosine().setBaseValue(1).setMaxUpdates(20).build().getNewValue(99));
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        refused("factor is 1.5, expected above 0, and at most 1", () -> Tracker.factor().setFactor(1.5f).build());
        refused("factor is 0.0, expected above 0, and at most 1", () -> Tracker.factor().build());
        refused("minValue is 3.0, expected above 0, and below baseValue, which is 2.0",
                () -> Tracker.factor().setBaseValue(2).setFactor(0.5f).optMinValue(3).build());
        refused("both minValue and maxUpdates are set, expected one of them",
                () -> Tracker.factor().setBaseValue(2).setFactor(0.5f).optMinValue(1).optMaxUpdates(3).build());
        refused("steps is [3, 3], expected rising numbers of at least 1",
                () -> Tracker.multiFactor().setSteps(new int[] {3, 3}).build());
        refused("factor is 2.0, expected above 0, and at most 1",
                () -> Tracker.multiFactor().setSteps(new int[] {3}).optFactor(2).build());
        refused("slope is 0.0, expected another number", () -> Tracker.linear().build());
        refused("2 of minValue, maxValue and maxUpdates are set, expected at most one",
                () -> Tracker.linear().optSlope(1).optMaxValue(2).optMaxUpdates(3).build());
        refused("maxValue is 2.0, where a line does not come that begins at 0.0 with a slope of -1.0",
                () -> Tracker.linear().optSlope(-1).optMaxValue(2).build());
        refused("maxUpdates is 0, expected at least 1", () -> Tracker.cosine().setBaseValue(1).build());
        refused("baseValue is 0.0, expected above 0, and above finalValue, which is 0.01",
                () -> Tracker.cosine().setMaxUpdates(2).build());
        assertThrows(NullPointerException.class, () -> Tracker.multiFactor().build());
    }

    private static void refused(String message, Runnable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}
