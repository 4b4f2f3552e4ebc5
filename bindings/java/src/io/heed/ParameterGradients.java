// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The gradients of a list of parameters, for optimizers: those of each block's layer, whose parameters take a step together,
 * and those of parameters of {@link AbstractBlock}. No other thread uses the blocks while a method runs.
 */
final class ParameterGradients {
    private final ParameterList parameters;
    /** The layers of blocks, with what stands before the names of their parameters. In the order of the list. */
    private final Map<OwnLayer, String> layers = new LinkedHashMap<>();
    /** The parameters of AbstractBlock, likewise. */
    private final Map<Parameter, String> own = new LinkedHashMap<>();
    /** The layers in the order in which they are locked. */
    private final List<OwnLayer> locked;

    /**
     * Takes the parameters of blocks, as {@link Block#getParameters} names them.
     *
     * @throws IllegalArgumentException if the list has some of a block's parameters and lacks one that requires a gradient
     */
    ParameterGradients(ParameterList parameters) {
        this.parameters = new ParameterList();
        this.parameters.addAll(parameters);
        for (Pair<String, Parameter> each : parameters) {
            Parameter parameter = each.getValue();
            String prefix = prefixOf(each.getKey(), parameter.getName());
            if (parameter instanceof LayerParameter) {
                layers.putIfAbsent(((LayerParameter) parameter).layer(), prefix);
            } else {
                own.putIfAbsent(parameter, prefix);
            }
        }
        locked = new ArrayList<>(layers.keySet());
        locked.sort(Comparator.comparingLong(layer -> layer.number));
        checkComplete();
    }

    /** What stands in a list before a parameter's name, or before the end of it, which names the parameter in a child. */
    private static String prefixOf(String key, String name) {
        for (int begin = 0; begin < key.length(); begin++) {
            String end = key.substring(begin);
            if (name.equals(end) || name.endsWith("." + end)) {
                return key.substring(0, begin);
            }
        }
        throw new IllegalArgumentException("parameters has \"" + name + "\" by the name \"" + key
                + "\", expected one that ends with the parameter's own name, as getParameters() of a block gives it");
    }

    private void checkComplete() {
        Set<Parameter> listed = Collections.newSetFromMap(new IdentityHashMap<>());
        listed.addAll(parameters.values());
        for (Parameter each : own.keySet()) {
            if (each.requiresGradient() && each.isInitialized() && each.getArray().data().leaf() != each.ownLeaf()) {
                throw new IllegalArgumentException("the array of the parameter \"" + each.getName()
                        + "\" is that of another one too: expected an array for each, or one of them frozen");
            }
        }
        for (OwnLayer layer : layers.keySet()) {
            for (Parameter each : layer.parameters.values()) {
                if (each.requiresGradient() && !listed.contains(each)) {
                    throw new IllegalArgumentException("parameters lacks \"" + each.getName()
                            + "\" of a block of which it has others: expected all that require a gradient");
                }
            }
        }
    }

    /** The context of the parameters. */
    NativeContext context() {
        for (OwnLayer layer : layers.keySet()) {
            return exclusively(layer::context);
        }
        for (Parameter parameter : own.keySet()) {
            return parameter.getArray().getManager().openContext();
        }
        throw new IllegalArgumentException("parameters is empty, expected at least one parameter");
    }

    /** All sets of gradients that are not frozen, those of layers first. Made where there are none yet. */
    NativeGradients[] sets() {
        return exclusively(this::openSets);
    }

    private NativeGradients[] openSets() {
        List<NativeGradients> sets = new ArrayList<>();
        for (OwnLayer layer : layers.keySet()) {
            if (layer.isTrainable()) {
                sets.add(layer.gradients());
            }
        }
        for (Parameter parameter : own.keySet()) {
            if (parameter.requiresGradient()) {
                sets.add(parameter.ownLeaf().set());
            }
        }
        return sets.toArray(new NativeGradients[0]);
    }

    /** Sets all gradients to 0. */
    void zero() {
        change(NativeGradients::zero);
    }

    /** Multiplies all gradients. */
    void scale(double factor) {
        change(gradients -> gradients.scale(factor));
    }

    private interface Change {
        void make(NativeGradients gradients);
    }

    private void change(Change change) {
        exclusively(() -> {
            for (NativeGradients each : openSets()) {
                change.make(each);
            }
            countWrites();
            return null;
        });
    }

    /** Replaces each element by the nearest number from -limit to limit. */
    void clipElements(double limit) {
        exclusively(() -> {
            for (OwnLayer layer : layers.keySet()) {
                for (Parameter each : layer.parameters.values()) {
                    if (each.requiresGradient()) {
                        try (NDArray gradient = layer.sum().of(((LayerParameter) each).nativeName)) {
                            gradient.clip(-limit, limit, gradient);
                        }
                    }
                }
            }
            for (Parameter each : own.keySet()) {
                if (each.requiresGradient()) {
                    NDArray gradient = each.ownLeaf().gradient();
                    gradient.clip(-limit, limit, gradient);
                }
            }
            return null;
        });
    }

    boolean areAllZero() {
        return exclusively(() -> {
            NativeGradients[] sets = openSets();
            // Squares of the smallest floats are not 0 in double.
            return sets.length == 0 || using(sets, pointers -> HeedNative.heed_gradients_norm(pointers)) == 0;
        });
    }

    /** Scales all gradients so that their norm is at most maxNorm. Returns the norm before. */
    double clipNorm(double maxNorm) {
        return exclusively(() -> {
            NativeGradients[] sets = openSets();
            double norm =
                    sets.length == 0 ? 0 : using(sets, pointers -> HeedNative.heed_gradients_clip(pointers, maxNorm));
            countWrites();
            return norm;
        });
    }

    /** Takes one step of all parameters. They change together, or not at all. */
    void step(NativeOptimizer optimizer) {
        exclusively(() -> {
            checkComplete();
            try (StepParts parts = new StepParts()) {
                layers.forEach((layer, prefix) -> {
                    if (layer.isTrainable()) {
                        parts.add(prefix, layer.get(), layer.gradients());
                    }
                });
                own.forEach((parameter, prefix) -> {
                    if (parameter.requiresGradient()) {
                        parts.add(prefix, null, parameter.ownLeaf().set());
                    }
                });
                parts.step(optimizer);
            }
            layers.keySet().forEach(OwnLayer::countChange);
            own.keySet().stream()
                    .filter(Parameter::requiresGradient)
                    .forEach(parameter -> parameter.getArray().data().countWrite());
            return null;
        });
    }

    private void countWrites() {
        layers.keySet().forEach(layer -> layer.sum().countWrite());
        own.keySet().stream().filter(Parameter::requiresGradient).forEach(parameter -> parameter.ownLeaf().countWrite());
    }

    private interface OfPointers {
        double of(long[] pointers);
    }

    private static double using(NativeGradients[] sets, OfPointers computation) {
        long[] pointers = new long[sets.length];
        int entered = 0;
        try {
            for (NativeGradients set : sets) {
                pointers[entered] = set.enter();
                entered++;
            }
            return computation.of(pointers);
        } finally {
            while (entered > 0) {
                entered--;
                sets[entered].leave();
            }
        }
    }

    /** Runs something while no other thread uses the layers. All threads lock layers in the same order. */
    private <T> T exclusively(Supplier<T> action) {
        long[] stamps = new long[locked.size()];
        int count = 0;
        try {
            for (OwnLayer layer : locked) {
                stamps[count] = layer.enterAlone();
                count++;
                layer.checkNotClosed();
            }
            return action.get();
        } finally {
            while (count > 0) {
                count--;
                locked.get(count).leaveAlone(stamps[count]);
            }
        }
    }
}
