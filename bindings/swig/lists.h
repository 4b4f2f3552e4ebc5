/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEED_SWIG_LISTS_H
#define HEED_SWIG_LISTS_H

#include <heed/heed.h>

/* The inputs that the forward of Java and C# takes in a list, in its order, such as
 * "ids=queries# validLens=valid_lens?": the name in the list, the member of the structs of inputs, "#" if it has ids, and
 * "?" if it may be missing. */
const char* list_of_inputs(const heed_layer* layer);

#endif
