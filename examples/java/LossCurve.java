// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A picture of how a loss falls, as SVG, which browsers and many other programs show: dark on light, or light on dark
 * where the reader prefers that. The losses are in it too, with all their digits.
 */
final class LossCurve {
    /** The picture and the field inside its axes, in pixels. y grows downwards. */
    private static final int WIDTH = 640;

    private static final int HEIGHT = 360;
    private static final int LEFT = 64;
    private static final int RIGHT = 620;
    private static final int TOP = 52;
    private static final int BOTTOM = 304;

    private static final String STYLE = "<style>\n"
            + "  .paper { fill: #ffffff } .text { fill: #24292f; font: 14px sans-serif } .title { font-size: 17px }\n"
            + "  .grid { stroke: #d8dee4 } .axis { stroke: #57606a }\n"
            + "  .guess { stroke: #9a6700; stroke-dasharray: 6 5 } .of-guess { fill: #9a6700 }\n"
            + "  .curve { stroke: #0969da; stroke-width: 2; fill: none; stroke-linejoin: round }\n"
            + "  @media (prefers-color-scheme: dark) {\n"
            + "    .paper { fill: #0d1117 } .text { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #8b949e }\n"
            + "    .guess { stroke: #d29922 } .of-guess { fill: #d29922 } .curve { stroke: #58a6ff }\n"
            + "  }\n"
            + "</style>\n";

    private final String title;
    private final List<Float> losses;
    private final double guessing;
    private final StringBuilder svg = new StringBuilder();

    private LossCurve(String title, List<Float> losses, double guessing) {
        this.title = title;
        this.losses = losses;
        this.guessing = guessing;
    }

    /**
     * Writes the picture.
     *
     * @param losses of steps 1, 2, ...; at least one; finite, and none below 0
     * @param guessing the loss of who knows nothing, which is drawn as a dashed line
     */
    static void write(Path path, String title, List<Float> losses, double guessing) throws IOException {
        Files.writeString(path, new LossCurve(title, losses, guessing).draw());
    }

    private String draw() {
        double largest = losses.stream().mapToDouble(loss -> loss).reduce(guessing, Math::max);
        Scale scale = new Scale(largest);
        add(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">%n",
                WIDTH, HEIGHT, WIDTH, HEIGHT);
        add("<title>%s</title>%n", title);
        svg.append(STYLE);
        add("<rect class=\"paper\" width=\"%d\" height=\"%d\"/>%n", WIDTH, HEIGHT);
        addText("text title", "start", LEFT, 30, title);
        drawAxes(scale);
        drawCurve(scale);
        add("<metadata>%s</metadata>%n</svg>%n", losses.stream().map(String::valueOf).collect(Collectors.joining(" ")));
        return svg.toString();
    }

    private void drawAxes(Scale scale) {
        for (int n = 0; n * scale.step <= scale.end; n++) {
            double y = yOf(scale, n * scale.step);
            addLine(n == 0 ? "axis" : "grid", LEFT, y, RIGHT, y);
            addText("text", "end", LEFT - 9, y + 5, textOf(n * scale.step));
        }
        addLine("axis", LEFT, TOP, LEFT, BOTTOM);
        Scale steps = new Scale(losses.size());
        for (int n = 0; n * steps.step <= losses.size(); n++) {
            double step = n == 0 ? 1 : n * steps.step; // The first step is 1.
            addLine("axis", xOf(step), BOTTOM, xOf(step), BOTTOM + 5);
            addText("text", "middle", xOf(step), BOTTOM + 22, textOf(step));
        }
        addText("text", "middle", (LEFT + RIGHT) / 2.0, HEIGHT - 12, "step");
        add(
                "<text class=\"text\" text-anchor=\"middle\" transform=\"translate(20 %.2f) rotate(-90)\">loss</text>%n",
                (TOP + BOTTOM) / 2.0);
    }

    private void drawCurve(Scale scale) {
        double y = yOf(scale, guessing);
        addLine("guess", LEFT, y, RIGHT, y);
        addText("text of-guess", "end", RIGHT, y - 7, String.format(Locale.ROOT, "guessing: %.2f", guessing));
        svg.append("<polyline class=\"curve\" points=\"");
        for (int i = 0; i < losses.size(); i++) {
            add("%s%.2f,%.2f", i == 0 ? "" : " ", xOf(i + 1), yOf(scale, losses.get(i)));
        }
        add("\"/>%n");
    }

    private double xOf(double step) {
        return losses.size() == 1 ? LEFT : LEFT + (RIGHT - LEFT) * (step - 1) / (losses.size() - 1);
    }

    private static double yOf(Scale scale, double loss) {
        return BOTTOM - (BOTTOM - TOP) * loss / scale.end;
    }

    /** A number of a scale without digits that rounding has left: 0.3, not 0.30000000000000004. */
    private static String textOf(double number) {
        BigDecimal rounded = new BigDecimal(number).round(new MathContext(6));
        return rounded.signum() == 0 ? "0" : rounded.stripTrailingZeros().toPlainString();
    }

    private void addLine(String kind, double x1, double y1, double x2, double y2) {
        add("<line class=\"%s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>%n", kind, x1, y1, x2, y2);
    }

    private void addText(String kind, String anchor, double x, double y, String text) {
        add("<text class=\"%s\" text-anchor=\"%s\" x=\"%.2f\" y=\"%.2f\">%s</text>%n", kind, anchor, x, y, text);
    }

    private void add(String format, Object... arguments) {
        svg.append(String.format(Locale.ROOT, format, arguments));
    }

    /**
     * Numbers from 0 to end, with a mark every step: the finest scale of steps 1, 2 or 5 times a power of ten that reaches
     * a number in at most seven steps.
     */
    private static final class Scale {
        final double step;
        final double end;

        Scale(double largest) {
            double power = 1e-6;
            double[] steps = {1, 2, 5};
            int i = 0;
            while (7 * power * steps[i] < largest) {
                i = (i + 1) % 3;
                power = i == 0 ? 10 * power : power;
            }
            step = power * steps[i];
            end = step * Math.max(1, Math.ceil(largest / step));
        }
    }
}
