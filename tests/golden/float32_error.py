# SPDX-License-Identifier: Apache-2.0
"""Attention in float64 NumPy, with the error of a correct float32 engine: the largest one, and the expected one.

Every number has a `bound`, the largest error of a correct engine, and a `variance`, the expected mean square of the error.
u = 2^-24 is the unit round-off of float32; no operand is narrower than float32. d(x) is the bound on the error of x, v(x) its variance.

The bounds. A sum of n rounded products, in any order, fused or not, has an error of at most n u sum |a||b| (first order).

  projections   d(y) = (E + 2) u ((|x| + d(x)) |W|^T + |b|) + d(x) |W|^T: E products and additions, the bias, one to spare.
  dot product   s = scale q.k, perhaps in base 2: d(s) = scale (d(q)|k| + |q|d(k) + d(q)d(k)) + (D + 6) u scale |q||k|: D products; the scale's
                own rounding, its application and the same for the factor log2(e), two to spare.
  additive      s = scale w.t with t = tanh(q + k), whose derivative is at most 1: d(t) = d(q) + d(k) + u |q + k| + 8 u |t|, a tanh within
                4 units in the last place (as in rule 15: the GNU C library's is within 2.2); then as the dot product of w and t.
  soft cap      c tanh(s / c): d(s) + 2 u |s| + 10 u |c tanh(s / c)|: s / c, in base 2 perhaps; tanh as above, c rounded, its product.
  bias          (3 u |bias| + u |s + bias|): the bias times log2(e), added.
  weights       w = exp(s - m) / sum exp(s - m), m a running maximum, with T = max |s + bias| over the row's visible keys. The argument s - m
                and its change to base 2 are three roundings of a number up to 2 T; rescaling to a new maximum telescopes into the same
                2 T: 6 u T, in the numerator and in the sum: 12 u T. An exponential within 4 u, the division and the sum's last rounding:
                together 12 u with some to spare. The sum: K u. Each rescaling adds an exponential and a product, 5 u, to the numerator
                and to the sum: for an engine that takes at least 10 keys at a time, 10 (K / 10 + 1) u. So w_j has an error factor of
                at most exp(r_j), r_j = d(s_j) + sum_i w_i d(s_i) + (2 K + 22) u + 12 u T. Where numbers become subnormal, the exponential
                (within one unit, 2^-149), each rescaling and the division round to a multiple of 2^-149 besides: K / 10 + 3 of these.
  log_sum_exp   max d(s) + (2 K + 22) u + 12 u T + 4 u (T + ln K): the logarithm within 2 u, its product with ln 2, the addition of m.
  heads         o = sum w_j v_j: d(o) = sum w_j (d(v_j) + (exp(r_j) - 1 + (K + 1) u)(|v_j| + d(v_j))).

Maxima and sums are over visible keys. The omitted second-order terms are below r / 2 of the whole. Since r is checked to be below 0.02,
a factor of 1.01 covers them. A narrower output type adds its own rounding; the test adds it.

The variances. The bounds assume that all roundings have the same sign, so a sum of n terms has n times the error of one. In practice roundings are
nearly independent, with either sign, and add up like the steps of a random walk: their squares add, and the error grows with the square root of n. A
rounding error that is uniform in [-e, e] has variance e^2 / 3. The terms of a sum of products t_i = a_i b_i have signs: after i of
them, in random order, the mean square of the partial sum that the rounding is relative to is at most s^2 + sum t_i^2, s the whole sum; with n such
roundings

  sum of products   v(s) = n u^2 / 3 (s^2 + sum t_i^2) + sum (v(a_i) b_i^2 + a_i^2 v(b_i) + v(a_i) v(b_i))

with the n of the bound: the errors of different elements of a vector come from different sums, so their squares add, too. Where the same error
enters twice (a query's error is in all scores of its row), independence is not assumed: (a - b)^2 <= 2 a^2 + 2 b^2, and a mean with
weights w satisfies (sum w_i a_i)^2 <= sum w_i a_i^2. Hence

  weights       v(r_j) = 2 (v(s_j) + sum w_i v(s_i)) + u^2 / 3 (6 K + 84 + 24 T^2), and v(w_j) = w_j^2 v(r_j). The last term has the roundings of r_j
                above one by one: K of the sum; two exponentials, 2 * 16; one of the division and one of the sum; for K / 10 + 1 rescalings, in
                numerator and sum, 2 * 25 each; six of up to 2 T.
  log_sum_exp   sum w_i v(s_i) + u^2 / 3 (6 K + 84 + 24 T^2 + (4 (T + ln K))^2)
  heads         v(o) = sum w_j^2 v(v_j) + sum w_j v(r_j) v_j^2 + (K + 1) u^2 / 3 (o^2 + sum (w_j v_j)^2)

The elements of a result have the mean square error mean(v). Its root is stored beside the bounds. It is about a thousand times smaller than they are,
and limits the root mean square error over all elements, not the error of one. The inequalities above make it larger than the true expectation: correct
engines reach a fraction of it. An engine with a small systematic error, such as a slightly wrong constant or a slightly too narrow operand, exceeds it
long before it exceeds a bound.
"""

from dataclasses import dataclass

import numpy as np

U = 2.0**-24
TANH = 8  # in units of U
STEP = U * U / 3  # variance of the rounding of a number of magnitude 1


@dataclass
class Number:
    """An array, the largest error of a float32 engine, and the variance of that error."""

    value: np.ndarray
    bound: np.ndarray
    variance: np.ndarray

    def map(self, function):
        """Applies the same function of the axes to all three arrays."""
        return Number(function(self.value), function(self.bound), function(self.variance))

    @property
    def magnitude(self):
        return np.abs(self.value) + self.bound


def exact(value):
    value = np.asarray(value, np.float64)
    return Number(value, np.zeros_like(value), np.zeros_like(value))


def sum_of_products(a, b, num_extra, added=0.0):
    """a @ b + added, with num_extra roundings in addition to those of the products and their sum."""
    num_roundings = a.value.shape[-1] + num_extra
    value = a.value @ b.value + added
    # d|b| + |a|d + dd, both for errors and for variances.
    carried = lambda da, size_a, db, size_b: da @ size_b + size_a @ db + da @ db
    return Number(
        value,
        carried(a.bound, np.abs(a.value), b.bound, np.abs(b.value)) + num_roundings * U * (a.magnitude @ b.magnitude + np.abs(added)),
        carried(a.variance, a.value**2, b.variance, b.value**2)
        + num_roundings * STEP * (value**2 + a.value**2 @ b.value**2 + np.square(added)))


def project(x, weight, bias=None):
    """x W^T + b, weight (out, in)."""
    return sum_of_products(x, exact(np.asarray(weight).T), 2, 0.0 if bias is None else bias)


def split_heads(x, H):
    """(B,S,H*D) as (B,H,S,D)."""
    B, S, width = x.shape
    return x.reshape(B, S, H, width // H).transpose(0, 2, 1, 3)


def merge_heads(x):
    B, H, S, D = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * D)


def repeat_heads(x, times):
    """Repeats each key head for its query heads."""
    return np.repeat(x, times, axis=1)


def scaled(x, scale):
    return Number(x.value * scale, x.bound * abs(scale), x.variance * scale**2)


def dot_scores(q, k, scale):
    """Scores (..., Q, K) of q (..., Q, D) and k (..., K, D)."""
    return scaled(sum_of_products(q, k.map(lambda x: np.swapaxes(x, -1, -2)), 6), scale)


def additive_scores(q, k, w_v, scale):
    """Scores scale * w_v . tanh(q + k), with w_v (..., D)."""
    both = lambda a, b: a[..., :, None, :] + b[..., None, :, :]
    argument = both(q.value, k.value)
    t = np.tanh(argument)
    hidden = Number(
        t,
        both(q.bound, k.bound) + U * np.abs(argument) + TANH * U * np.abs(t),
        both(q.variance, k.variance) + STEP * argument**2 + STEP * (TANH * t)**2)
    column = exact(w_v[..., None, :, None])
    return scaled(sum_of_products(hidden, column, 6).map(lambda x: x[..., 0]), scale)


def soft_capped(scores, cap):
    value = cap * np.tanh(scores.value / cap)
    return Number(
        value,
        scores.bound + 2 * U * np.abs(scores.value) + (TANH + 2) * U * np.abs(value),
        scores.variance + 2 * STEP * scores.value**2 + (TANH**2 + 2) * STEP * value**2)


def plus_bias(scores, added):
    value = scores.value + added
    return Number(
        value,
        scores.bound + 3 * U * np.abs(added) + U * np.abs(value),
        scores.variance + STEP * (3 * np.square(added) + value**2))


def attend(scores, v, visible=None, bias=None, empty_rows_mean=False):
    """The heads' outputs, weights and log_sum_exp. visible: bool; bias: added, -inf hides. Their shapes can be
    broadcast to the scores'."""
    shape = scores.value.shape
    K = shape[-1]
    visible = np.ones(shape, bool) if visible is None else np.broadcast_to(visible, shape).copy()
    if bias is not None:
        bias = np.broadcast_to(bias, shape)
        visible &= bias > -np.inf
        scores = plus_bias(scores, np.where(visible, bias, 0.0))
    empty = ~visible.any(axis=-1, keepdims=True)

    largest = lambda x: np.where(visible, x, 0.0).max(axis=-1, keepdims=True)
    T = largest(np.abs(scores.value))
    m = np.where(empty, 0.0, np.where(visible, scores.value, -np.inf).max(axis=-1, keepdims=True))
    exponentials = np.where(visible, np.exp(np.where(visible, scores.value - m, 0.0)), 0.0)
    total = exponentials.sum(axis=-1, keepdims=True)
    w = exponentials / np.where(empty, 1.0, total)
    average = lambda x: (w * np.where(visible, x, 0.0)).sum(axis=-1, keepdims=True)
    softmax_bound = (2 * K + 22) * U + 12 * U * T
    softmax_variance = STEP * (6 * K + 84 + 24 * T**2)
    r = scores.bound + average(scores.bound) + softmax_bound
    r_variance = 2 * (scores.variance + average(scores.variance)) + softmax_variance
    assert r[visible].max(initial=0.0) < 0.02, r[visible].max()

    with np.errstate(divide="ignore"):
        log_sum_exp = np.where(empty, -np.inf, m + np.log(total))
    last = 4 * (T + np.log(K))
    log_sum_exp = Number(
        log_sum_exp,
        np.where(empty, 0.0, largest(scores.bound) + softmax_bound + last * U),
        np.where(empty, 0.0, average(scores.variance) + softmax_variance + STEP * last**2)).map(lambda x: x[..., 0])

    if empty_rows_mean:
        w = np.where(empty, 1.0 / K, w)
    factor = np.expm1(np.where(visible | empty, r, 0.0))
    weights = Number(
        w, w * factor + np.where(visible, (K / 10 + 3) * 2.0**-149, 0.0), np.where(visible | empty, w**2 * r_variance, 0.0))
    output = w @ v.value
    heads = Number(
        output,
        w @ v.bound + (w * (factor + (K + 1) * U)) @ v.magnitude,
        w**2 @ v.variance + (w * np.where(visible | empty, r_variance, 0.0)) @ v.value**2
        + (K + 1) * STEP * (output**2 + w**2 @ v.value**2))
    return heads, weights, log_sum_exp


def result_tensors(name, result):
    """The tensors that store one result in a file: its values, the bound of each element, and the expected root mean
    square error."""
    prefix = "" if name == "output" else name + "_"
    return {name: result.value, prefix + "bound": 1.01 * result.bound, prefix + "deviation": np.sqrt(np.mean(result.variance))}


def results(output, weights, log_sum_exp):
    return {**result_tensors("output", output), **result_tensors("weights", weights), **result_tensors("log_sum_exp", log_sum_exp)}


def summary(tensors):
    return (f"output up to {np.abs(tensors['output']).max():.2f} within {tensors['bound'].max():.1e}, expected {tensors['deviation']:.1e}; "
            f"weights within {tensors['weights_bound'].max():.1e}, expected {tensors['weights_deviation']:.1e}")
