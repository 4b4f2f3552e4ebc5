/* SPDX-License-Identifier: Apache-2.0 */
#include "loss_curve.h"

#include <stdio.h>

/* The picture and the field inside its axes, in pixels. y grows downwards. */
enum { kWidth = 640, kHeight = 360, kLeft = 64, kRight = 620, kTop = 52, kBottom = 304 };

static const char* const kStyle =
    "<style>\n"
    "  .paper { fill: #ffffff } .text { fill: #24292f; font: 14px sans-serif } .title { font-size: 17px }\n"
    "  .grid { stroke: #d8dee4 } .axis { stroke: #57606a }\n"
    "  .guess { stroke: #9a6700; stroke-dasharray: 6 5 } .of-guess { fill: #9a6700 }\n"
    "  .curve { stroke: #0969da; stroke-width: 2; fill: none; stroke-linejoin: round }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    .paper { fill: #0d1117 } .text { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #8b949e }\n"
    "    .guess { stroke: #d29922 } .of-guess { fill: #d29922 } .curve { stroke: #58a6ff }\n"
    "  }\n"
    "</style>\n";

/* What a scale shows: numbers from 0 to `end`, with a mark every `step`. */
typedef struct Scale {
  double step;
  double end;
} Scale;

/* The finest scale of steps 1, 2 or 5 times a power of ten that reaches `largest` in at most seven steps. */
static Scale scale_to(double largest) {
  static const double kSteps[] = {1, 2, 5};
  for (double power = 1e-3;; power *= 10) {
    for (int i = 0; i < 3; ++i) {
      const Scale scale = {power * kSteps[i], 0};
      for (int n = 1; n <= 7; ++n) {
        if (n * scale.step >= largest) return (Scale){scale.step, n * scale.step};
      }
    }
  }
}

static double x_of(const LossCurve* curve, double step) {
  return curve->num_losses == 1 ? kLeft : kLeft + (kRight - kLeft) * (step - 1) / (curve->num_losses - 1);
}

static double y_of(Scale losses, double loss) { return kBottom - (kBottom - kTop) * loss / losses.end; }

static void draw_line(FILE* file, const char* kind, double x1, double y1, double x2, double y2) {
  fprintf(file, "<line class=\"%s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n", kind, x1, y1, x2, y2);
}

/* The caller writes the text itself and its end. */
static void begin_text(FILE* file, const char* kind, const char* anchor, double x, double y) {
  fprintf(file, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.2f\" y=\"%.2f\">", kind, anchor, x, y);
}

static void draw_axes(FILE* file, const LossCurve* curve, Scale losses) {
  const Scale steps = scale_to(curve->num_losses);
  for (int n = 0; n * losses.step <= losses.end; ++n) {
    const double y = y_of(losses, n * losses.step);
    draw_line(file, n == 0 ? "axis" : "grid", kLeft, y, kRight, y);
    begin_text(file, "text", "end", kLeft - 9, y + 5);
    fprintf(file, "%g</text>\n", n * losses.step);
  }
  draw_line(file, "axis", kLeft, kTop, kLeft, kBottom);
  /* The first step is 1. */
  for (int n = 0; n * steps.step <= curve->num_losses; ++n) {
    const double step = n == 0 ? 1 : n * steps.step, x = x_of(curve, step);
    draw_line(file, "axis", x, kBottom, x, kBottom + 5);
    begin_text(file, "text", "middle", x, kBottom + 22);
    fprintf(file, "%g</text>\n", step);
  }
  begin_text(file, "text", "middle", (kLeft + kRight) / 2.0, kHeight - 12);
  fprintf(file, "step</text>\n");
  fprintf(file,
          "<text class=\"text\" text-anchor=\"middle\" transform=\"translate(20 %.2f) rotate(-90)\">loss</text>\n",
          (kTop + kBottom) / 2.0);
}

static void draw_curve(FILE* file, const LossCurve* curve, Scale losses) {
  const double y = y_of(losses, curve->guessing);
  draw_line(file, "guess", kLeft, y, kRight, y);
  begin_text(file, "text of-guess", "end", kRight, y - 7);
  fprintf(file, "guessing: %.2f</text>\n", curve->guessing);
  fprintf(file, "<polyline class=\"curve\" points=\"");
  for (int i = 0; i < curve->num_losses; ++i) {
    fprintf(file, "%s%.2f,%.2f", i == 0 ? "" : " ", x_of(curve, i + 1), y_of(losses, curve->losses[i]));
  }
  fprintf(file, "\"/>\n");
}

int write_loss_curve(const LossCurve* curve, const char* path) {
  FILE* file = fopen(path, "w");
  double largest = curve->guessing;
  int is_written = 0;
  if (file == NULL) return 0;
  for (int i = 0; i < curve->num_losses; ++i) {
    if (curve->losses[i] > largest) largest = curve->losses[i];
  }
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
          kWidth, kHeight, kWidth, kHeight);
  fprintf(file, "<title>%s</title>\n%s", curve->title, kStyle);
  fprintf(file, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", kWidth, kHeight);
  begin_text(file, "text title", "start", kLeft, 30);
  fprintf(file, "%s</text>\n", curve->title);
  draw_axes(file, curve, scale_to(largest));
  draw_curve(file, curve, scale_to(largest));
  fprintf(file, "<metadata>");
  for (int i = 0; i < curve->num_losses; ++i) fprintf(file, "%s%.17g", i == 0 ? "" : " ", curve->losses[i]);
  fprintf(file, "</metadata>\n</svg>\n");
  is_written = !ferror(file);
  return fclose(file) == 0 && is_written;
}
