// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** What computes: heed itself. It is there because DJL's programs ask it for their {@link GradientCollector}. */
public final class Engine {
    private static final Engine INSTANCE = new Engine();

    private Engine() {}

    /**
     * Returns the engine.
     *
     * @return the only one
     */
    public static Engine getInstance() {
        return INSTANCE;
    }

    /**
     * Returns the name of the engine.
     *
     * @return "heed"
     */
    public String getEngineName() {
        return "heed";
    }

    /**
     * Returns heed's version.
     *
     * @return the version of the jar, such as "1.2.0"
     */
    public String getVersion() {
        return Version.TEXT;
    }

    /**
     * Begins to record what this thread computes.
     *
     * @return a collector, which the caller closes on this thread
     * @throws IllegalStateException if this thread has an open one
     */
    public GradientCollector newGradientCollector() {
        return new GradientCollector(null);
    }

    @Override
    public String toString() {
        return getEngineName() + " " + getVersion();
    }
}
