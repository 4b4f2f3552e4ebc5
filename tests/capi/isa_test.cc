// SPDX-License-Identifier: Apache-2.0
// HEED_ISA: the environment variable that chooses the ISA of a context when it is created.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"
#include "support/platform/environment.h"

namespace heed::capi_test {
namespace {

nlohmann::json description_of(const Context& context) {
  char text[1024];
  check(heed_context_describe(context.get(), text, sizeof text, nullptr));
  return nlohmann::json::parse(text);
}

std::string isa_of(const Context& context) { return description_of(context).at("isa"); }

// A test may set the variable; afterwards it has the value with which the tests were started.
class Isa : public testing::Test {
 protected:
  Isa() { variable_.unset(); }

  // heed_context_create with this value of HEED_ISA.
  std::function<heed_status(OutParameters&)> create_with(const std::string& name) {
    return [this, name](OutParameters& out) {
      variable_.set(name.c_str());
      return heed_context_create(nullptr, &out.context);
    };
  }

  // The available ISAs, as the message about an unknown one lists them.
  std::vector<std::string> available() {
    OutParameters out;
    create_with("none of them")(out);
    variable_.unset();
    std::string list = heed_last_error();
    list = list.substr(list.rfind(": ") + 2) + ", ";
    std::vector<std::string> names;
    for (size_t at = 0, end = 0; (end = list.find(", ", at)) != std::string::npos; at = end + 2)
      names.push_back(list.substr(at, end - at));
    return names;
  }

  const Variable variable_{"HEED_ISA"};
};

TEST_F(Isa, UnknownNamesAreRefused) {
  const auto refused_as = [this](const char* what, const std::string& name, const std::string& shown) -> RefusedCall {
    return {what, create_with(name), {HEED_ERROR_INVALID_ARGUMENT, {"HEED_ISA is \"" + shown + "\"", ": portable"}}};
  };
  expect_refused({
      refused_as("another's name", "sse2", "sse2"),
      refused_as("capitals", "PORTABLE", "PORTABLE"),
      refused_as("a space behind", "portable ", "portable "),
      refused_as("a space alone", " ", " "),
      refused_as("a beginning", "port", "port"),
      refused_as("two of them", "portable,portable", "portable,portable"),
      refused_as("a format", "%s%n", "%s%n"),
      refused_as("other bytes", "avx\n\x1B[1m\xFF", "avx\\x0a\\x1b[1m\\xff"),
      refused_as("very long", std::string(100000, 'x'), std::string(120, 'x')),
      refused_as("long once it is printable", "\x01" + std::string(118, 'x'), "\\x01" + std::string(116, 'x')),
  });
}

// ISAs of other architectures, and of newer processors of this architecture.
TEST_F(Isa, UnavailableIsasAreRefusedWithTheListOfAvailableOnes) {
  const std::vector<std::string> names = available();
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  size_t num_refused = 0;
  for (const std::string name : {"portable", "avx2", "avx512", "avx512_bf16", "neon"}) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    OutParameters out;
    EXPECT_EQ(create_with(name)(out), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(heed_last_error(), "the environment variable HEED_ISA is \"" + name +
                                     "\", expected one of those that this processor has: " + list);
    EXPECT_EQ(out, OutParameters());
    ++num_refused;
  }
  EXPECT_GT(num_refused, 0U) << "every processor lacks the ISAs of other architectures";
}

TEST_F(Isa, EachAvailableIsaIsUsed) {
  const std::vector<std::string> names = available();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "portable") << "every processor has this one";
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    variable_.set(name.c_str());
    const Context context = make_context();
    EXPECT_EQ(isa_of(context), name);
    const std::string description = description_of(context).at("description");
    EXPECT_EQ(description.find("CPU, " + name + ","), 0U) << description;
  }
}

TEST_F(Isa, IsTheWidestWithoutTheVariable) {
  const std::string widest = available().back();
  EXPECT_EQ(isa_of(make_context()), widest);
  variable_.set("");
  EXPECT_EQ(isa_of(make_context()), widest);
}

TEST_F(Isa, OfAContextDoesNotChange) {
  variable_.set("portable");
  const Context context = make_context();
  variable_.set("no such");
  EXPECT_EQ(isa_of(context), "portable");
  EXPECT_NE(description_of(context).at("description").get<std::string>().find("portable"), std::string::npos);
}

TEST_F(Isa, GivesTheSameBitsInEachContext) {
  for (const std::string& name : available()) {
    for (const Kind kind : kKinds) {
      SCOPED_TRACE(name + ", kind " + std::to_string(static_cast<int>(kind)));
      variable_.set(name.c_str());
      const Sizes sizes = {.batch = 2, .num_queries = 37, .num_keys = 211};
      const AttentionCall first(make_context(), kind, sizes);
      const AttentionCall second(make_context(), kind, sizes);
      ASSERT_EQ(first.forward(), HEED_OK) << heed_last_error();
      ASSERT_EQ(second.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(first.read_outputs(), second.read_outputs());
    }
  }
}

}  // namespace
}  // namespace heed::capi_test
