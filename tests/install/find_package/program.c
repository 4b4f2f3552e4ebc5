/* SPDX-License-Identifier: Apache-2.0 */
#include <heed/heed.h>
#include <stdio.h>

int main(void) {
  heed_context* context = NULL;
  if (heed_version() != HEED_VERSION) {
    fprintf(stderr, "the header is version %d, the library %d\n", HEED_VERSION, (int)heed_version());
    return 1;
  }
  if (heed_context_create(NULL, &context) != HEED_OK) {
    fprintf(stderr, "%s\n", heed_last_error());
    return 1;
  }
  heed_context_destroy(context);
  printf("heed %s from C\n", heed_version_string());
  return 0;
}
