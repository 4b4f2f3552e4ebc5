/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the number of NPUs that heed finds, and the reason if there is none. */
#include <heed/heed.h>
#include <stdio.h>

int main(void) {
  const int32_t count = heed_device_count(HEED_DEVICE_ASCEND);
  printf("%d\n%s\n", (int)count, count == 0 ? heed_last_error() : "");
  return 0;
}
