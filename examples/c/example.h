/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs need beside heed itself: to stop with heed's sentence, to print a result, to compare it with a
 * file's. */
#ifndef HEED_EXAMPLE_H
#define HEED_EXAMPLE_H

#include <heed/heed.h>
#include <stddef.h>

/* Ends the program with the library's sentence unless the call returned HEED_OK. */
#define CHECK(call) check((call), #call)
void check(heed_status status, const char* call);

/* Prints the sizes as "(2, 4, 100)" and a line end. */
void print_shape(const heed_tensor* tensor);

/* The elements of a tensor, in row-major order and its own dtype, which has elements of that size. The caller frees
 * them. */
void* elements_of(const heed_tensor* tensor, size_t element_size);

/* Prints every element, as a float, on a line of its own: nine digits, which tell any two floats apart, and its bits in
 * hexadecimal. */
void print_elements(heed_context* context, const heed_tensor* tensor);

/* Compares a result with tensor "output" of a safetensors file, and every difference with its bound in tensor "bound" if
 * the file has one. Prints the largest difference. Returns 1 if each is within its bound (without bounds: is a number),
 * else 0. */
int compare_with_file(heed_context* context, const heed_tensor* result, const char* path);

/* The same for a result that a device has computed in 16 bits: of all differences together, and against tensor
 * "deviation" of the file, what float's roundings are expected to come to. */
int compare_in_16_bits(heed_context* context, const heed_tensor* result, const char* path);

#endif
