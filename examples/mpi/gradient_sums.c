/* SPDX-License-Identifier: Apache-2.0 */
#include "gradient_sums.h"

#include <mpi.h>

#include "../c/example.h"

/* The elements of a gradient, which lie one behind the other, and belong to the set. */
typedef struct Elements {
  float* first;
  int count;
} Elements;

static Elements elements_of_gradient(heed_gradients* gradients, int64_t index) {
  heed_tensor* view = NULL;
  Elements elements;
  CHECK(heed_gradients_tensor(gradients, heed_gradients_name(gradients, index), &view));
  elements.first = heed_tensor_data(view);
  elements.count = (int)heed_tensor_num_elements(view);
  heed_tensor_destroy(view);
  return elements;
}

void add_in_order(heed_gradients* own, heed_gradients* received, heed_gradients* sum) {
  int rank = 0, num_ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  CHECK(heed_gradients_zero(sum));
  for (int sender = 0; sender < num_ranks; ++sender) {
    heed_gradients* addend = sender == rank ? own : received;
    for (int64_t i = 0; i < heed_gradients_count(addend); ++i) {
      const Elements elements = elements_of_gradient(addend, i);
      MPI_Bcast(elements.first, elements.count, MPI_FLOAT, sender, MPI_COMM_WORLD);
    }
    CHECK(heed_gradients_add(sum, addend));
  }
}

void add_by_allreduce(heed_gradients* own, heed_gradients* received, heed_gradients* sum) {
  (void)received;
  for (int64_t i = 0; i < heed_gradients_count(own); ++i) {
    const Elements addend = elements_of_gradient(own, i), result = elements_of_gradient(sum, i);
    MPI_Allreduce(addend.first, result.first, addend.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
}
