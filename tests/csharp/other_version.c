/* SPDX-License-Identifier: Apache-2.0 */
/* When preloaded, these functions replace libheed's, so that libheed seems to be of another version. */
#include <heed/heed.h>

int32_t heed_version(void) { return 990102; }

const char* heed_version_string(void) { return "99.1.2"; }
