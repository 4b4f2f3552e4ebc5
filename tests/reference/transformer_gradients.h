// SPDX-License-Identifier: Apache-2.0
// The gradients of layers of a Transformer's encoder and decoder, and of stacks of them, in f64.
#pragma once

#include <vector>

#include "reference/moved_steps.h"
#include "reference/transformer.h"

namespace heed::reference {

// By name: "queries" for the rows, "keys" for the encoder's, which is there with cross attention alone; those of the parameters of the
// parts, "self_attention.W_q.weight", "feed_forward.W_1.bias", "norm_2.weight" and so on; and "self_attention.bias" and the like of
// the parts' inputs. Rows beyond the queries of a batch element take no part.
NamedRows transformer_gradients(const TransformerLayer& layer, const std::vector<double>& rows,
                                const std::vector<double>& encoder_rows, const std::vector<double>& of_output,
                                const AfterStep& after_step);

// The same with "layers.0." and so on before the names of the layers' gradients, and "norm.weight" and "norm.bias" of the final norm.
NamedRows transformer_gradients(const TransformerStack& stack, const std::vector<double>& rows,
                                const std::vector<double>& encoder_rows, const std::vector<double>& of_output,
                                const AfterStep& after_step);

}  // namespace heed::reference
