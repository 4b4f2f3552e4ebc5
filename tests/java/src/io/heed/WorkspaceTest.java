// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class WorkspaceTest {
    @Test
    void isMemoryOfItsManager() {
        NDManager manager = TestDevice.newManager();
        Workspace workspace = manager.newWorkspace(1000);
        assertEquals(1000, workspace.getNumBytes());
        assertEquals("Workspace of 1000 bytes", workspace.toString());
        assertEquals(0, manager.newWorkspace(0).getNumBytes());
        Workspace closed = manager.newWorkspace(1);
        closed.close();
        closed.close();
        assertEquals("Workspace of 1 bytes (closed)", closed.toString());
        manager.close();
        for (Workspace each : new Workspace[] {workspace, closed}) {
            assertEquals(
                    "the workspace is closed",
                    assertThrows(IllegalStateException.class, each::getNumBytes).getMessage());
        }
        assertThrows(IllegalStateException.class, () -> manager.newWorkspace(1));
    }

    @Test
    void refusesImpossibleSizes() {
        try (NDManager manager = TestDevice.newManager()) {
            assertEquals(
                    "numBytes is -1, expected 0 or more",
                    assertThrows(IllegalArgumentException.class, () -> manager.newWorkspace(-1)).getMessage());
            assertThrows(OutOfMemoryError.class, () -> manager.newWorkspace(Long.MAX_VALUE));
        }
    }
}
