// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * The attention weights and log-sum-exps of attentions inside a block, in one call of the whole block, by the names of
 * its children, such as "layers.0.self_attention" in a {@link TransformerEncoder} and "decoder.layers.0.cross_attention"
 * in a {@link Transformer}. The names are those of {@link Block#getChildren}, joined by dots. The block keeps nothing,
 * and its output has the same bits with and without taps.
 *
 * <pre>{@code
 * Taps taps = new Taps("layers.0.self_attention", "layers.1.self_attention");
 * NDList result = encoder.forward(ps, inputs, taps, false);
 * NDArray weights = taps.getWeights().get("layers.1.self_attention");   // (B, H, Q, K)
 * }</pre>
 *
 * Calls with {@link AttentionInputs}, such as those with a cache, take taps in {@link AttentionOutputs#setTaps}, with
 * arrays that {@code createTaps} of the block has made.
 *
 * <p>The arrays belong to the manager of the call's inputs. A later call that makes arrays replaces them in the taps and
 * does not close them. Used by one call at a time.
 */
public final class Taps implements AutoCloseable {
    /** What is wanted of a child, and its arrays. */
    private static final class Tap {
        final Set<Wanted> wanted;
        final AttentionOutputs arrays = new AttentionOutputs();

        Tap(Set<Wanted> wanted) {
            this.wanted = wanted;
        }
    }

    /** Receives the arrays of a child; null if there is none. */
    interface Visitor {
        void visit(String child, NDArray weights, NDArray logSumExp);
    }

    private final Map<String, Tap> taps = new LinkedHashMap<>();

    /**
     * Makes taps that return the attention weights of these children. {@link #add} adds further ones.
     *
     * @param children their names, such as "layers.0.self_attention"
     */
    public Taps(String... children) {
        for (String child : Objects.requireNonNull(children, "children")) {
            add(child);
        }
    }

    /**
     * Adds a child, or replaces what was wanted of it and closes nothing.
     *
     * @param child its name, such as "layers.0.self_attention"
     * @param wanted {@link Wanted#WEIGHTS}, {@link Wanted#LOG_SUM_EXP} or both; if none is named, the weights
     * @return this
     * @throws IllegalArgumentException if the output is wanted: call the child alone for it
     */
    public Taps add(String child, Wanted... wanted) {
        Objects.requireNonNull(child, "child");
        Set<Wanted> set = EnumSet.noneOf(Wanted.class);
        for (Wanted each : Objects.requireNonNull(wanted, "wanted")) {
            set.add(Objects.requireNonNull(each, "wanted"));
        }
        if (set.contains(Wanted.OUTPUT)) {
            throw new IllegalArgumentException(
                    "wanted has OUTPUT for the child \"" + child + "\", expected its weights, its log-sum-exp or both");
        }
        taps.put(child, new Tap(set.isEmpty() ? EnumSet.of(Wanted.WEIGHTS) : set));
        return this;
    }

    /**
     * Returns the names of the children.
     *
     * @return the names in the order in which they were added
     */
    public Collection<String> getChildren() {
        return Collections.unmodifiableSet(new LinkedHashSet<>(taps.keySet()));
    }

    /**
     * Returns the attention weights before dropout, (B, H, Q, K) of FLOAT32 each.
     *
     * @return a new list of the arrays by the names of the children, in the order in which they were added; empty before a call has
     *     made arrays, and without children whose log-sum-exps alone are wanted
     */
    public PairList<String, NDArray> getWeights() {
        return arrays(Wanted.WEIGHTS);
    }

    /**
     * Returns the log-sum-exps of each query's scores, (B, H, Q) of FLOAT32 each.
     *
     * @return a new list of the arrays by the names of the children, in the order in which they were added; empty before a call has
     *     made arrays, and without children whose weights alone are wanted
     */
    public PairList<String, NDArray> getLogSumExps() {
        return arrays(Wanted.LOG_SUM_EXP);
    }

    private PairList<String, NDArray> arrays(Wanted wanted) {
        PairList<String, NDArray> found = new PairList<>();
        taps.forEach((child, tap) -> {
            if (tap.arrays.get(wanted) != null) {
                found.add(child, tap.arrays.get(wanted));
            }
        });
        return found;
    }

    /** New taps with what is wanted here, and with arrays for a call of a layer. */
    Taps made(LayerCall call, NativeLayer layer, NDManager manager) {
        Taps made = new Taps();
        try {
            taps.forEach((child, tap) -> {
                Tap copy = new Tap(tap.wanted);
                made.taps.put(child, copy);
                for (Wanted each : tap.wanted) {
                    copy.arrays.set(each, manager.adopt(call.createTap(layer, child, each)));
                }
            });
            return made;
        } catch (Throwable error) {
            made.close();
            throw error;
        }
    }

    /** Takes over the arrays of others. */
    void take(Taps made) {
        taps.clear();
        taps.putAll(made.taps);
    }

    /** Marks the arrays for the tape that records their call; null: none does. */
    void mark(Tape tape) {
        if (tape != null) {
            taps.values().forEach(tap -> {
                tape.mark("attention weights", tap.arrays.getWeights());
                tape.mark("log-sum-exps", tap.arrays.getLogSumExp());
            });
        }
    }

    /** Counts that a call has written the arrays. */
    void countWrites() {
        taps.values().forEach(tap -> tap.arrays.countWrites());
    }

    int size() {
        return taps.size();
    }

    /** Visits the children in order. Throws if one of them has no arrays. */
    void forEach(Visitor visitor) {
        taps.forEach((child, tap) -> {
            if (tap.wanted.stream().anyMatch(wanted -> tap.arrays.get(wanted) == null)) {
                throw new IllegalArgumentException(
                        "the taps have no array for \"" + child + "\", expected those of createTaps");
            }
            visitor.visit(child, tap.arrays.getWeights(), tap.arrays.getLogSumExp());
        });
    }

    /** Closes the arrays. They stay set. */
    @Override
    public void close() {
        taps.values().forEach(tap -> tap.arrays.close());
    }
}
