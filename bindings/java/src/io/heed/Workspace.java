// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Scratch memory for one forward at a time, made by {@link NDManager#newWorkspace} and owned by its manager. A forward
 * with a workspace and with output arrays allocates nothing.
 *
 * <p>A second call that uses it at the same time throws IllegalStateException. If it is closed during a call, it is
 * freed after that call.
 */
public final class Workspace implements AutoCloseable {
    private final NativeWorkspace handle;
    private final long numBytes;

    Workspace(NativeWorkspace handle, long numBytes) {
        this.handle = handle;
        this.numBytes = numBytes;
    }

    /**
     * Returns the size of the workspace.
     *
     * @return the number of bytes
     * @throws IllegalStateException if the workspace or its manager is closed
     */
    public long getNumBytes() {
        handle.checkOpen();
        return numBytes;
    }

    /**
     * Frees the memory. If a call on another thread uses it, it is freed after that call. Closing twice does nothing.
     */
    @Override
    public void close() {
        handle.close();
    }

    @Override
    public String toString() {
        return "Workspace of " + numBytes + " bytes" + (handle.isOpen() ? "" : " (closed)");
    }

    NativeWorkspace handle() {
        return handle;
    }
}
