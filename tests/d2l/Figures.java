// SPDX-License-Identifier: Apache-2.0
package d2l;

import java.util.Arrays;
import java.util.stream.Collectors;

/** What notebooks call of Tablesaw's plots, by the same names. A figure draws nothing: it says what it would show. */
public final class Figures {
    private Figures() {}

    /** Makes the numbers of a plot from those of an array, as the notebooks' own function does. */
    public static final class Functions {
        private Functions() {}

        public static double[] floatToDoubleArray(float[] numbers) {
            double[] doubles = new double[numbers.length];
            Arrays.setAll(doubles, i -> numbers[i]);
            return doubles;
        }
    }

    public static final class Figure {
        private final Trace[] traces;

        public Figure(Layout layout, Trace... traces) {
            this.traces = traces;
        }

        @Override
        public String toString() {
            return Arrays.stream(traces).map(Trace::toString).collect(Collectors.joining(", ", "a figure of ", ""));
        }
    }

    /** The plot of a training: numbers that come one after another, each of which is finite. */
    public static final class Animator {
        private final StringBuilder shown = new StringBuilder();

        public void add(float epoch, float value, String metric) {
            if (!Float.isFinite(value)) {
                throw new IllegalArgumentException(metric + " is " + value + " at " + epoch);
            }
            shown.append(' ').append(value);
        }

        public void show() {}

        @Override
        public String toString() {
            return "a plot of" + shown;
        }
    }

    /** Numbers in a figure: each is finite. */
    public static class Trace {
        private final String shows;

        Trace(String shows, double[]... rows) {
            this.shows = shows;
            if (!Arrays.stream(rows).flatMapToDouble(Arrays::stream).allMatch(Double::isFinite)) {
                throw new IllegalArgumentException(shows + " has numbers that are not finite");
            }
        }

        @Override
        public String toString() {
            return shows;
        }
    }

    public static class TraceBuilder {
        public TraceBuilder name(String name) {
            return this;
        }
    }

    public static final class HeatmapTrace extends Trace {
        private HeatmapTrace(double[][] z) {
            super("a heat map of " + z.length + " x " + (z.length == 0 ? 0 : z[0].length), z);
        }

        public static HeatmapBuilder builder(Object[] x, Object[] y, double[][] z) {
            return new HeatmapBuilder(new HeatmapTrace(z));
        }

        public static final class HeatmapBuilder extends TraceBuilder {
            private final HeatmapTrace trace;

            HeatmapBuilder(HeatmapTrace trace) {
                this.trace = trace;
            }

            public HeatmapTrace build() {
                return trace;
            }
        }
    }

    public static final class ScatterTrace extends Trace {
        public enum Mode {
            LINE,
            MARKERS
        }

        private ScatterTrace(double[] x, double[] y) {
            super(x.length + " points", x, y);
        }

        public static ScatterBuilder builder(double[] x, double[] y) {
            if (x.length != y.length) {
                throw new IllegalArgumentException(x.length + " numbers beside " + y.length);
            }
            return new ScatterBuilder(new ScatterTrace(x, y));
        }

        public static final class ScatterBuilder extends TraceBuilder {
            private final ScatterTrace trace;

            ScatterBuilder(ScatterTrace trace) {
                this.trace = trace;
            }

            @Override
            public ScatterBuilder name(String name) {
                return this;
            }

            public ScatterBuilder mode(Mode mode) {
                return this;
            }

            public ScatterBuilder marker(Marker marker) {
                return this;
            }

            public ScatterTrace build() {
                return trace;
            }
        }
    }

    public enum Symbol {
        CIRCLE
    }

    public static final class Marker {
        public static Marker builder() {
            return new Marker();
        }

        public Marker symbol(Symbol symbol) {
            return this;
        }

        public Marker size(double size) {
            return this;
        }

        public Marker opacity(double opacity) {
            return this;
        }

        public Marker build() {
            return this;
        }
    }

    public static final class Axis {
        public enum Type {
            LOG
        }

        public static Axis builder() {
            return new Axis();
        }

        public Axis title(String title) {
            return this;
        }

        public Axis type(Type type) {
            return this;
        }

        public Axis domain(double begin, double end) {
            return this;
        }

        public Axis build() {
            return this;
        }
    }

    public static final class Grid {
        public enum Pattern {
            INDEPENDENT
        }

        public static Grid builder() {
            return new Grid();
        }

        public Grid columns(int columns) {
            return this;
        }

        public Grid rows(int rows) {
            return this;
        }

        public Grid pattern(Pattern pattern) {
            return this;
        }

        public Grid build() {
            return this;
        }
    }

    public static final class Layout {
        public static Layout builder() {
            return new Layout();
        }

        public Layout title(String title) {
            return this;
        }

        public Layout xAxis(Axis axis) {
            return this;
        }

        public Layout yAxis(Axis axis) {
            return this;
        }

        public Layout width(int width) {
            return this;
        }

        public Layout height(int height) {
            return this;
        }

        public Layout grid(Grid grid) {
            return this;
        }

        public Layout showLegend(boolean shows) {
            return this;
        }

        public Layout build() {
            return this;
        }
    }
}
