// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.List;

/** What one step of an optimizer changes, as C's structs. */
final class StepParts implements AutoCloseable {
    private final NativeStructs structs = new NativeStructs();
    private final List<NativeStepPart> parts = new ArrayList<>();
    private final List<TensorMembers> members = new ArrayList<>();

    /**
     * Adds a part.
     *
     * @param prefix what stands before the names of its parameters
     * @param layer null: the gradients are of a tensor
     */
    void add(String prefix, NativeLayer layer, NativeGradients gradients) {
        NativeStepPart part = structs.add(new NativeStepPart());
        parts.add(part);
        TensorMembers handles =
                new TensorMembers().add(part, List.of(NativeStepPart::setLayer, NativeStepPart::setGradients));
        members.add(handles);
        part.setPrefix(NativeText.of(prefix, "name"));
        handles.set(0, layer);
        handles.set(1, gradients);
    }

    void step(NativeOptimizer optimizer) {
        if (parts.isEmpty()) {
            throw new IllegalStateException("all parameters are frozen, expected at least one that requires a gradient");
        }
        optimizer.stepParts(structs.addressesOf(parts), parts.size());
    }

    @Override
    public void close() {
        members.forEach(TensorMembers::release);
        structs.close();
    }
}
