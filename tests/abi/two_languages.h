/* SPDX-License-Identifier: Apache-2.0 */
/* The function of the C part that the C++ part calls. */
#ifndef HEED_TESTS_TWO_LANGUAGES_H
#define HEED_TESTS_TWO_LANGUAGES_H

#include <heed/heed.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Self-attention of the words; the caller destroys *output. */
heed_status attend_in_c(const heed_layer* layer, const heed_tensor* words, heed_tensor** output);

#ifdef __cplusplus
}
#endif

#endif
