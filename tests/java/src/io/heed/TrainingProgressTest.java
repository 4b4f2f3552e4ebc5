// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;

class TrainingProgressTest {
    private static final long SECOND = 1_000_000_000;

    private final AtomicLong clock = new AtomicLong(17 * SECOND);
    private final List<TrainingStep> heard = new ArrayList<>();

    private TrainingProgress progress(long numSteps) {
        return new TrainingProgress(numSteps, clock::get, heard::add);
    }

    @Test
    void tellsHowFarItIs() {
        TrainingProgress progress = progress(4);
        clock.addAndGet(2 * SECOND);
        progress.step(2.5, 100);
        clock.addAndGet(SECOND);
        progress.step(0.0035, 50);
        TrainingStep first = heard.get(0);
        assertEquals(1, first.getNumber());
        assertEquals(4, first.getTotalSteps());
        assertEquals(2.5, first.getLoss());
        assertEquals(50, first.getTokensPerSecond(), 1e-9);
        assertEquals(6, first.getSecondsLeft(), 1e-9);
        assertEquals("step 2 of 4, loss 0.004, 50 tokens/s, 3 s left", heard.get(1).toString());
        assertEquals("TrainingProgress(step 2 of 4)", progress.toString());
    }

    @Test
    void speedIsThatOfTheLastSteps() {
        TrainingProgress progress = progress(100);
        for (int step = 0; step < 60; step++) {
            clock.addAndGet(step < 40 ? 10 * SECOND : SECOND);
            progress.step(1, 7);
        }
        TrainingStep last = heard.get(59);
        assertEquals(7, last.getTokensPerSecond(), 1e-9);
        assertEquals(40, last.getSecondsLeft(), 1e-9);
        // Ten of the twenty took ten seconds.
        assertEquals(20 * 7 / 110.0, heard.get(49).getTokensPerSecond(), 1e-9);
    }

    @Test
    void anInterruptedThreadStopsAfterItsStep() {
        TrainingProgress progress = progress(3);
        progress.step(1, 1);
        Thread.currentThread().interrupt();
        try {
            assertThrows(CancellationException.class, () -> progress.step(1, 1));
            assertTrue(Thread.currentThread().isInterrupted());
        } finally {
            Thread.interrupted();
        }
        assertEquals(2, heard.size());
        progress.step(1, 1);
        assertEquals(3, heard.get(2).getNumber());
    }

    @Test
    void anExceptionOfAListenerIsThrown() {
        RuntimeException mine = new RuntimeException("stop");
        TrainingProgress progress = new TrainingProgress(3, step -> {
            throw mine;
        });
        assertSame(mine, assertThrows(RuntimeException.class, () -> progress.step(1, 1)));
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        assertEquals("totalSteps is 0, expected at least 1",
                assertThrows(IllegalArgumentException.class, () -> new TrainingProgress(0)).getMessage());
        TrainingProgress progress = progress(1);
        assertEquals("numTokens is -1, expected 0 or more",
                assertThrows(IllegalArgumentException.class, () -> progress.step(1, -1)).getMessage());
        progress.step(1, 0);
        assertEquals("all 1 steps have been counted already",
                assertThrows(IllegalStateException.class, () -> progress.step(1, 1)).getMessage());
        NullPointerException missing =
                assertThrows(NullPointerException.class, () -> new TrainingProgress(1, (TrainingListener) null));
        assertEquals("listeners", missing.getMessage());
        assertEquals(1, TrainingListener.Defaults.logging().length);
    }
}
