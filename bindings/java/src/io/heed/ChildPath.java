// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The path to a child: the layer of its parent, and the part of that layer which it is. */
final class ChildPath {
    final BlockLayer parent;
    final LayerPart part;

    ChildPath(BlockLayer parent, LayerPart part) {
        this.parent = parent;
        this.part = part;
    }
}
