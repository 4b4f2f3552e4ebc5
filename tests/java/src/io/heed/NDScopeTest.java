// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Arrays of a scope are freed at its end, except those that it keeps. */
class NDScopeTest {
    private final NDManager manager = TestDevice.newManager();
    private final NDArray before = manager.ones(new Shape(2, 3));

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void temporariesAreFreedAndKeptArraysAreNot() {
        NDArray kept;
        NDArray made;
        NDArray view;
        NDArray result;
        try (NDScope scope = manager.scope()) {
            made = manager.zeros(new Shape(2));
            view = before.get(0);
            result = before.transpose().matMul(before);
            // Also what is made of an array outside, but not the gradients of one.
            assertSame(scope.getManager(), before.mul(2).getManager());
            before.setRequiresGradient(true);
            assertSame(manager, before.getGradient().getManager());
            before.setRequiresGradient(false);
            kept = scope.keep(result.softmax(0));
            assertSame(scope.getManager(), made.getManager());
            assertSame(scope.getManager(), view.getManager());
            assertSame(scope.getManager(), result.getManager());
            assertSame(manager, kept.getManager());
        }
        assertTrue(made.isReleased() && view.isReleased() && result.isReleased());
        assertEquals(new Shape(3, 3), kept.getShape());
        assertFalse(before.isReleased());
        assertSame(manager, manager.zeros(new Shape(1)).getManager());
        assertSame(manager, kept.get(0).getManager());
    }

    @Test
    void aCallThatThrowsFreesThem() {
        AtomicReference<NDArray> made = new AtomicReference<>();
        assertThrows(IllegalArgumentException.class, () -> {
            try (NDScope scope = manager.scope()) {
                made.set(before.get(1));
                scope.keep(made.get().get(9));
            }
        });
        assertTrue(made.get().isReleased());
        assertSame(manager, before.get(0).getManager());
    }

    @Test
    void nestedScopesKeepOneByOne() {
        NDScope outer = manager.scope();
        NDArray ofOuter = before.get(0);
        NDArray kept;
        NDArray lost;
        try (NDScope inner = manager.scope()) {
            // Also results of arrays of the outer scope belong to the inner one.
            lost = ofOuter.flip();
            kept = inner.keep(ofOuter.expandDims(0));
            assertSame(inner.getManager(), lost.getManager());
            assertSame(outer.getManager(), kept.getManager());
            refused("array belongs to a scope inside this one, expected an array of this scope", outer, lost);
        }
        assertTrue(lost.isReleased());
        assertSame(outer.getManager(), kept.flip().getManager());
        assertSame(manager, outer.keep(kept).getManager());
        outer.close();
        assertTrue(ofOuter.isReleased());
        assertFalse(kept.isReleased());
    }

    @Test
    void closingTheOuterScopeFirstClosesTheInnerOne() {
        NDScope outer = manager.scope();
        NDScope inner = manager.scope();
        NDArray ofInner = before.get(0);
        outer.close();
        assertTrue(ofInner.isReleased());
        assertSame(manager, before.get(0).getManager());
        NDArray open = manager.ones(new Shape(1));
        assertEquals(
                "the scope is closed", assertThrows(IllegalStateException.class, () -> inner.keep(open)).getMessage());
        inner.close();
        outer.close();
        assertFalse(before.isReleased());
    }

    @Test
    void aScopeOfAnotherManagerIsItsOwn() {
        try (NDManager other = TestDevice.newManager();
                NDManager sub = manager.newSubManager()) {
            NDArray foreign = other.ones(new Shape(2));
            NDArray below = sub.ones(new Shape(2));
            NDScope scope = manager.scope();
            try (NDScope second = other.scope()) {
                assertSame(second.getManager(), foreign.get(0).getManager());
                assertSame(scope.getManager(), before.get(0).getManager());
                assertSame(sub, below.get(0).getManager());
                // The first one may end earlier.
                scope.close();
                assertSame(manager, before.get(0).getManager());
                assertSame(second.getManager(), foreign.get(0).getManager());
            }
            assertSame(other, foreign.get(0).getManager());
        }
    }

    @Test
    void otherThreadsAreNotAffected() throws Exception {
        AtomicReference<NDManager> owner = new AtomicReference<>();
        AtomicReference<NDManager> ofScope = new AtomicReference<>();
        NDScope scope = manager.scope();
        NDArray inside = before.get(0);
        Thread thread = new Thread(() -> {
            owner.set(before.get(0).getManager());
            ofScope.set(inside.flip().getManager());
            scope.close();
        });
        thread.start();
        thread.join();
        assertSame(manager, owner.get());
        assertSame(scope.getManager(), ofScope.get());
        // Closed by the other thread, it takes no more arrays of this one.
        assertTrue(inside.isReleased());
        assertSame(manager, before.get(0).getManager());
    }

    @Test
    void whatIsAroundTheScopeStaysWhereItIs() {
        try (NDScope outer = manager.scope()) {
            NDArray ofOuter = before.get(0);
            try (NDScope scope = manager.scope()) {
                assertSame(before, scope.keep(before.toType(DataType.FLOAT32, false)));
                assertSame(manager, before.getManager());
                assertSame(ofOuter, scope.keep(ofOuter));
                assertSame(outer.getManager(), ofOuter.getManager());
                try (NDManager other = TestDevice.newManager()) {
                    refused("array belongs to another manager, expected an array of this scope",
                            scope, other.ones(new Shape(1)));
                }
                NDArray closed = before.get(0);
                closed.close();
                assertEquals(
                        "the array array is closed",
                        assertThrows(IllegalStateException.class, () -> scope.keep(closed)).getMessage());
            }
        }
        manager.close();
        assertThrows(IllegalStateException.class, manager::scope);
    }

    @Test
    void parametersOutliveTheScope() throws Exception {
        Linear linear = Linear.builder().setUnits(2).build();
        Parameter own = Parameter.builder().setName("own").setType(Parameter.Type.GAMMA).build();
        own.setShape(new Shape(3));
        own.setInitializer(Initializer.ONES);
        PositionalEncoding encoding;
        NDArray out;
        try (NDScope scope = manager.scope()) {
            linear.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
            out = scope.keep(linear.forward(new ParameterStore(manager, false), new NDList(before), false).head());
            own.initialize(manager, DataType.FLOAT32);
            encoding = new PositionalEncoding(4, 0, 3, manager);
            assertSame(manager, encoding.P.getManager());
        }
        NDArray again = linear.forward(new ParameterStore(manager, false), new NDList(before), false).head();
        assertArrayEquals(out.toFloatArray(), again.toFloatArray());
        assertArrayEquals(new float[] {1, 1, 1}, own.getArray().toFloatArray());
        assertEquals(new Shape(1, 3, 4), encoding.P.getShape());
    }

    private static void refused(String message, NDScope scope, NDArray array) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, () -> scope.keep(array)).getMessage());
    }
}
