// SPDX-License-Identifier: Apache-2.0
// All other libraries that are built in and can compute a case.
#ifndef HEED_BENCH_PEERS_H
#define HEED_BENCH_PEERS_H

#include <string>
#include <vector>

#include "data.h"
#include "subject.h"

namespace bench {

// Libraries that cannot compute the case are left out, with their reasons in *refusals.
Subjects make_peers(const BenchCase& bench_case, const Data& data, int threads, std::vector<std::string>* refusals);

// One line: the libraries with their versions, and those that are absent.
std::string describe_peers();

}  // namespace bench

#endif  // HEED_BENCH_PEERS_H
