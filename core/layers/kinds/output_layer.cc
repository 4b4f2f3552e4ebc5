// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/output_layer.h"

#include <cinttypes>
#include <cmath>

#include "base/decimal_text.h"
#include "base/error.h"
#include "layers/kinds/linear.h"

namespace heed {

std::shared_ptr<Layer> make_output_layer(const std::shared_ptr<Context>& context, const OutputOptions& options,
                                         const Embedding* embedding) {
  const auto text_of = [](float value) { return DecimalText(static_cast<double>(value), 9); };
  if (!std::isfinite(options.scale)) {
    fail(Status::InvalidArgument, OPTION("output->scale") " is %s, expected a finite number",
         text_of(options.scale).c_str());
  }
  if (!std::isfinite(options.soft_cap) || options.soft_cap < 0) {
    fail(Status::InvalidArgument, OPTION("output->soft_cap") " is %s, expected a finite number of at least 0",
         text_of(options.soft_cap).c_str());
  }
  if (options.is_tied && embedding == nullptr) {
    fail(Status::InvalidArgument,
         OPTION("output->tied") " is " FLAG("tied", "1") ", but " OPTION("embedding") " is " WORD(
             "NULL") ": expected the embedding whose table projects the output");
  }
  LinearOptions linear;
  linear.output_size = options.size;
  linear.no_bias = !options.has_bias;
  if (options.scale != 0) linear.scale = options.scale;
  linear.soft_cap = options.soft_cap;
  const HostAllocator& allocator = context->host_allocator();
  if (!options.is_tied) {
    if (options.size < 1) {
      fail(Status::InvalidArgument, OPTION("output->size") " is %" PRId64 ", expected at least 1", options.size);
    }
    return host_make_shared<Linear>(allocator, context, linear);
  }
  const Shape& table = embedding->table().shape();
  if (options.size != 0 && options.size != table[0]) {
    fail(Status::InvalidArgument,
         OPTION("output->size") " is %" PRId64 ", but " OPTION("output->tied") " is " FLAG(
             "tied", "1") ": expected %" PRId64 " or 0, the number of embeddings",
         options.size, table[0]);
  }
  linear.output_size = table[0];
  return host_make_shared<Linear>(allocator, context, linear, embedding->table());
}

void write_options(const OutputOptions& options, JsonWriter& json) {
  json.begin_object();
  json.member("size", options.size);
  json.member("tied", options.is_tied);
  json.member("bias", options.has_bias);
  json.member("scale", options.scale);
  json.member("soft_cap", options.soft_cap);
  json.end_object();
}

}  // namespace heed
