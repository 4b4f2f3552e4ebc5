// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;

/// <summary>A picture of how a loss falls, as SVG, which browsers and many other programs show: dark on light, or light on
/// dark where the reader prefers that. The losses are in it too, with all their digits.</summary>
internal sealed class LossCurve
{
    // The picture and the field inside its axes, in pixels. y grows downwards.
    private const int Width = 640;
    private const int Height = 360;
    private const int Left = 64;
    private const int Right = 620;
    private const int Top = 52;
    private const int Bottom = 304;

    private const string Style =
        "<style>\n"
        + "  .paper { fill: #ffffff } .text { fill: #24292f; font: 14px sans-serif } .title { font-size: 17px }\n"
        + "  .grid { stroke: #d8dee4 } .axis { stroke: #57606a }\n"
        + "  .guess { stroke: #9a6700; stroke-dasharray: 6 5 } .of-guess { fill: #9a6700 }\n"
        + "  .curve { stroke: #0969da; stroke-width: 2; fill: none; stroke-linejoin: round }\n"
        + "  @media (prefers-color-scheme: dark) {\n"
        + "    .paper { fill: #0d1117 } .text { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #8b949e }\n"
        + "    .guess { stroke: #d29922 } .of-guess { fill: #d29922 } .curve { stroke: #58a6ff }\n"
        + "  }\n"
        + "</style>\n";

    private readonly string title;
    private readonly IReadOnlyList<float> losses;
    private readonly double guessing;
    private readonly StringBuilder svg = new();

    private LossCurve(string title, IReadOnlyList<float> losses, double guessing)
    {
        this.title = title;
        this.losses = losses;
        this.guessing = guessing;
    }

    /// <summary>Writes the picture.</summary>
    /// <param name="path">The file.</param>
    /// <param name="title">What is above the curve.</param>
    /// <param name="losses">Of steps 1, 2, ...; at least one; finite, and none below 0.</param>
    /// <param name="guessing">The loss of who knows nothing, which is drawn as a dashed line.</param>
    internal static void Write(string path, string title, IReadOnlyList<float> losses, double guessing) =>
        File.WriteAllText(path, new LossCurve(title, losses, guessing).Draw());

    private string Draw()
    {
        var scale = new Scale(Math.Max(losses.Max(), guessing));
        Add($"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {Width} {Height}\" ");
        Add($"width=\"{Width}\" height=\"{Height}\" role=\"img\">\n<title>{title}</title>\n{Style}");
        Add($"<rect class=\"paper\" width=\"{Width}\" height=\"{Height}\"/>\n");
        AddText("text title", "start", Left, 30, title);
        DrawAxes(scale);
        DrawCurve(scale);
        Add($"<metadata>{string.Join(" ", losses.Select(loss => loss.ToString("R", CultureInfo.InvariantCulture)))}");
        Add($"</metadata>\n</svg>\n");
        return svg.ToString();
    }

    private void DrawAxes(Scale scale)
    {
        for (int n = 0; n * scale.Step <= scale.End; n++)
        {
            double y = YOf(scale, n * scale.Step);
            AddLine(n == 0 ? "axis" : "grid", Left, y, Right, y);
            AddText("text", "end", Left - 9, y + 5, TextOf(n * scale.Step));
        }
        AddLine("axis", Left, Top, Left, Bottom);
        var steps = new Scale(losses.Count);
        for (int n = 0; n * steps.Step <= losses.Count; n++)
        {
            double step = n == 0 ? 1 : n * steps.Step; // The first step is 1.
            AddLine("axis", XOf(step), Bottom, XOf(step), Bottom + 5);
            AddText("text", "middle", XOf(step), Bottom + 22, TextOf(step));
        }
        AddText("text", "middle", (Left + Right) / 2.0, Height - 12, "step");
        double middle = (Top + Bottom) / 2.0;
        Add($"<text class=\"text\" text-anchor=\"middle\" transform=\"translate(20 {middle:F2}) rotate(-90)\">loss</text>\n");
    }

    private void DrawCurve(Scale scale)
    {
        double y = YOf(scale, guessing);
        AddLine("guess", Left, y, Right, y);
        string guess = guessing.ToString("F2", CultureInfo.InvariantCulture);
        AddText("text of-guess", "end", Right, y - 7, $"guessing: {guess}");
        svg.Append("<polyline class=\"curve\" points=\"");
        for (int i = 0; i < losses.Count; i++)
        {
            Add($"{(i == 0 ? "" : " ")}{XOf(i + 1):F2},{YOf(scale, losses[i]):F2}");
        }
        svg.Append("\"/>\n");
    }

    private double XOf(double step) =>
        losses.Count == 1 ? Left : Left + ((Right - Left) * (step - 1) / (losses.Count - 1));

    private static double YOf(Scale scale, double loss) => Bottom - ((Bottom - Top) * loss / scale.End);

    /// <summary>A number of a scale without digits that rounding has left: 0.3, not 0.30000000000000004.</summary>
    private static string TextOf(double number) => number.ToString("0.######", CultureInfo.InvariantCulture);

    private void AddLine(string kind, double x1, double y1, double x2, double y2) =>
        Add($"<line class=\"{kind}\" x1=\"{x1:F2}\" y1=\"{y1:F2}\" x2=\"{x2:F2}\" y2=\"{y2:F2}\"/>\n");

    private void AddText(string kind, string anchor, double x, double y, string text) =>
        Add($"<text class=\"{kind}\" text-anchor=\"{anchor}\" x=\"{x:F2}\" y=\"{y:F2}\">{text}</text>\n");

    private void Add(FormattableString text) => svg.Append(text.ToString(CultureInfo.InvariantCulture));

    /// <summary>Numbers from 0 to End, with a mark every Step: the finest scale of steps 1, 2 or 5 times a power of ten that
    /// reaches a number in at most seven steps.</summary>
    private sealed class Scale
    {
        internal Scale(double largest)
        {
            double power = 1e-6;
            double[] steps = [1, 2, 5];
            int i = 0;
            while (7 * power * steps[i] < largest)
            {
                i = (i + 1) % 3;
                power = i == 0 ? 10 * power : power;
            }
            Step = power * steps[i];
            End = Step * Math.Max(1, Math.Ceiling(largest / Step));
        }

        internal double Step { get; }

        internal double End { get; }
    }
}
