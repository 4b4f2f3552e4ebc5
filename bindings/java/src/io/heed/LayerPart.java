// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** What a native layer, or a part of it, is and is made of, as C says it. */
final class LayerPart {
    /** The name among the children of the whole that it is a part of. */
    final String name;
    /** What the names of its parameters begin with: the name of the first child that is the same layer. */
    final String nameOfParameters;

    final String kind;
    /** The inputs of forward, as an {@link InputList} reads them. */
    final String inputs;
    /** The options, as {@link SaidOptions} reads them. */
    final String options;
    final List<LayerPart> children = new ArrayList<>();

    private LayerPart(String name, String nameOfParameters, NativeLayer layer) {
        this.name = name;
        this.nameOfParameters = nameOfParameters;
        kind = layer.kind();
        inputs = HeedNative.listOfInputs(layer);
        options = NativeText.from(layer::options);
    }

    /** The parts of a whole. */
    static LayerPart of(NativeLayer layer) {
        LayerPart whole = new LayerPart("", "", layer);
        if (layer.childCount() != 0) {
            whole.read(layer, "", prefixes(layer));
        }
        return whole;
    }

    /** The beginnings of the parameters' names up to each dot: "norm." of "norm.weight". */
    private static Set<String> prefixes(NativeLayer layer) {
        Set<String> prefixes = new HashSet<>();
        for (long index = 0; index < layer.parameterCount(); index++) {
            String parameter = layer.parameterName(index);
            for (int dot = parameter.indexOf('.'); dot >= 0; dot = parameter.indexOf('.', dot + 1)) {
                prefixes.add(parameter.substring(0, dot + 1));
            }
        }
        return prefixes;
    }

    /**
     * Reads the children.
     *
     * @param prefix what the names of the layer's parameters begin with among those of the whole
     * @param prefixes those of all parts with parameters
     */
    private void read(NativeLayer layer, String prefix, Set<String> prefixes) {
        String last = "";
        for (long index = 0; index < layer.childCount(); index++) {
            String child = layer.childName(index);
            try (NativeLayer inside = layer.child(NativeText.of(child, "name"))) {
                // A layer that is there twice has its parameters once, under its first name.
                if (inside.parameterCount() == 0 || prefixes.contains(prefix + child + ".")) {
                    last = child;
                }
                LayerPart part = new LayerPart(child, last, inside);
                part.read(inside, prefix + last + ".", prefixes);
                children.add(part);
            }
        }
    }
}
