/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of how a loss falls, as SVG, which browsers and many other programs show. */
#ifndef HEED_EXAMPLE_LOSS_CURVE_H
#define HEED_EXAMPLE_LOSS_CURVE_H

typedef struct LossCurve {
  const char* title;
  const double* losses; /* of steps 1 to num_losses; finite, and none below 0 */
  int num_losses;
  double guessing; /* the loss of who knows nothing, which is drawn as a dashed line */
} LossCurve;

/* Writes the picture: dark on light, or light on dark where the reader prefers that. The losses are in it too, with all their
 * digits. Returns 0 if the file cannot be written, otherwise 1. */
int write_loss_curve(const LossCurve* curve, const char* path);

#endif
