// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.List;
import java.util.function.Function;

/** The path to a child: the layer of its parent, and the name that it has there. */
final class ChildPath {
    final BlockLayer parent;
    final String name;

    ChildPath(BlockLayer parent, String name) {
        this.parent = parent;
        this.name = name;
    }

    /** The names of the children of the native layer at this path, which must be open. */
    List<String> childNames() {
        return ask(BlockLayer::childNamesOf);
    }

    /** What the native layer at this path is, in C's words. It must be open. */
    String kind() {
        return ask(NativeLayer::kind);
    }

    private <T> T ask(Function<NativeLayer, T> question) {
        long stamp = parent.enter();
        try (NativeLayer child = parent.get().child(NativeText.of(name, "name"))) {
            return question.apply(child);
        } finally {
            parent.leave(stamp);
        }
    }
}
