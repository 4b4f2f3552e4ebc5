/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check(heed_status status, const char* call) {
  if (status == HEED_OK) return;
  fprintf(stderr, "%s\n  failed with %s: %s\n", call, heed_status_name(status), heed_last_error());
  exit(1);
}

void print_shape(const heed_tensor* tensor) {
  printf("(");
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) {
    printf(axis == 0 ? "%lld" : ", %lld", (long long)heed_tensor_dim(tensor, axis));
  }
  printf(")\n");
}

void* elements_of(const heed_tensor* tensor, size_t element_size) {
  const size_t num_bytes = (size_t)heed_tensor_num_elements(tensor) * element_size;
  void* elements = malloc(num_bytes);
  if (elements == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", num_bytes);
    exit(1);
  }
  CHECK(heed_tensor_read(tensor, elements, num_bytes));
  return elements;
}

/* The elements in row-major order as doubles, whatever the tensor's dtype and strides; freed by the caller. */
static double* read_elements(heed_context* context, const heed_tensor* tensor) {
  const int64_t num_elements = heed_tensor_num_elements(tensor);
  double* elements = malloc((size_t)num_elements * sizeof(double) + 1);
  int64_t dims[8];
  heed_tensor* copy = NULL;
  if (elements == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) dims[axis] = heed_tensor_dim(tensor, axis);
  CHECK(heed_tensor_create(context, HEED_F64, heed_tensor_rank(tensor), dims, &copy));
  CHECK(heed_tensor_copy(copy, tensor));
  CHECK(heed_tensor_read(copy, elements, heed_tensor_num_bytes(copy)));
  heed_tensor_destroy(copy);
  return elements;
}

void print_elements(heed_context* context, const heed_tensor* tensor) {
  double* elements = read_elements(context, tensor);
  for (int64_t i = 0; i < heed_tensor_num_elements(tensor); ++i) {
    const float element = (float)elements[i];
    uint32_t bits;
    memcpy(&bits, &element, sizeof bits);
    printf("%.9g %08lx\n", element, (unsigned long)bits);
  }
  free(elements);
}

static void check_same_size(const heed_tensor* result, const heed_tensor* loaded, const char* name) {
  if (heed_tensor_num_elements(result) == heed_tensor_num_elements(loaded)) return;
  fprintf(stderr, "tensor \"%s\" of the file has %lld elements, the result %lld\n", name,
          (long long)heed_tensor_num_elements(loaded), (long long)heed_tensor_num_elements(result));
  exit(1);
}

int compare_in_16_bits(heed_context* context, const heed_tensor* result, const char* path) {
  /* How much larger rounding errors are in bfloat16, which has 8 bits of precision, than in float, which has 24. */
  const double times_larger = 65536;
  const int64_t num_elements = heed_tensor_num_elements(result);
  heed_tensor *output = NULL, *deviation = NULL;
  double *actual = NULL, *expected = NULL, *of_float = NULL;
  double largest = 0, sum_of_squares = 0, mean = 0, allowed = 0;

  CHECK(heed_tensor_load_safetensors(context, path, "output", &output));
  CHECK(heed_tensor_load_safetensors(context, path, "deviation", &deviation));
  check_same_size(result, output, "output");
  actual = read_elements(context, result);
  expected = read_elements(context, output);
  of_float = read_elements(context, deviation);
  for (int64_t i = 0; i < num_elements; ++i) {
    const double difference = fabs(actual[i] - expected[i]);
    if (difference > largest) largest = difference;
    sum_of_squares += difference * difference;
  }
  mean = num_elements > 0 ? sum_of_squares / (double)num_elements : 0;
  allowed = times_larger * of_float[0] * times_larger * of_float[0];
  printf("largest difference to the file's output: %.2e, mean of the squares %.2e, expected in 16 bits up to %.2e\n",
         largest, mean, allowed);

  free(of_float);
  free(expected);
  free(actual);
  heed_tensor_destroy(deviation);
  heed_tensor_destroy(output);
  /* False for a NaN. */
  return mean <= allowed;
}

int compare_with_file(heed_context* context, const heed_tensor* result, const char* path) {
  const int64_t num_elements = heed_tensor_num_elements(result);
  heed_tensor *output = NULL, *bound = NULL;
  double *actual = NULL, *expected = NULL, *allowed = NULL;
  int64_t num_outside = 0, largest = 0;

  CHECK(heed_tensor_load_safetensors(context, path, "output", &output));
  check_same_size(result, output, "output");
  actual = read_elements(context, result);
  expected = read_elements(context, output);
  if (heed_tensor_load_safetensors(context, path, "bound", &bound) == HEED_OK) {
    check_same_size(result, bound, "bound");
    allowed = read_elements(context, bound);
  } else if (heed_last_status() != HEED_ERROR_NOT_FOUND) {
    check(heed_last_status(), "heed_tensor_load_safetensors(context, path, \"bound\", &bound)");
  }

  for (int64_t i = 0; i < num_elements; ++i) {
    const double difference = fabs(actual[i] - expected[i]);
    if (difference > fabs(actual[largest] - expected[largest])) largest = i;
    /* Written so that a NaN is outside. */
    if (!(difference <= (allowed != NULL ? allowed[i] : INFINITY))) ++num_outside;
  }
  if (num_elements > 0) {
    printf("largest difference to the file's output: %.2e", fabs(actual[largest] - expected[largest]));
    if (allowed != NULL) {
      printf(", bound there %.2e; %lld of %lld numbers within their bounds", allowed[largest],
             (long long)(num_elements - num_outside), (long long)num_elements);
    }
    printf("\n");
  }

  free(allowed);
  free(expected);
  free(actual);
  heed_tensor_destroy(bound);
  heed_tensor_destroy(output);
  return num_outside == 0;
}
