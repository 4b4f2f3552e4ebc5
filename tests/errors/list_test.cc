// SPDX-License-Identifier: Apache-2.0
// Every error sentence of heed with a call that gets it, held against docs/errors.md, which is written from here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

constexpr const char* kList = HEED_SOURCE_DIR "/docs/errors.md";

std::vector<Topic> all_topics() {
  return {general(),       contexts(),         tensors(), views(),        copies(),
          fills(),         operations(),       files(),   npy_files(),    dlpack(),
          layer_options(), layer_parameters(), weights(), layer_inputs(), layer_outputs()};
}

// Files have short names, the same everywhere, in a folder of the test's own.
class Errors : public testing::Test {
 protected:
  Errors() : before_(std::filesystem::current_path()) { std::filesystem::current_path(folder_.path("")); }
  ~Errors() override { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_;
  const capi_test::TemporaryFolder folder_;
};

struct Refused {
  heed_status status;
  std::string sentence;
};

Refused refused(const Provocation& provocation) {
  capi_test::forget_last_error();
  const heed_status status = provocation.run();
  std::string sentence = heed_last_error();
  // What a workspace needs, and which instructions there are, depends on the machine.
  constexpr std::string_view kNeeds = "this call needs ";
  if (const size_t at = sentence.find(kNeeds); at != std::string::npos) {
    const size_t begin = at + kNeeds.size();
    sentence.replace(begin, sentence.find_first_not_of("0123456789", begin) - begin, "...");
  }
  constexpr std::string_view kHas = "those that this processor has: ";
  if (const size_t at = sentence.find(kHas); at != std::string::npos)
    sentence.replace(at + kHas.size(), std::string::npos, "...");
  return {status, sentence};
}

std::string short_name(heed_status status) {
  return std::string(heed_status_name(status)).substr(std::string("HEED_ERROR_").size());
}

std::string document() {
  std::ostringstream text;
  text << R"(# Errors

Every sentence that `heed_last_error()` can give, each with its status (without `HEED_ERROR_`) and a call that gets it. A test makes
these calls and writes this page: `scripts/errors` brings it up to date.

| status | what to do |
|---|---|
| `INVALID_ARGUMENT` | mend the call: the sentence names the argument, what it was and what was expected |
| `OUT_OF_MEMORY` | free memory, or ask for less; every object is as it was before the call |
| `UNSUPPORTED` | the call is right, but this heed cannot do it: the sentence says what it can do instead |
| `NOT_INITIALIZED` | give the layer its parameters first: `heed_layer_load`, `heed_layer_initialize` or `heed_layer_set_parameter` |
| `WORKSPACE_TOO_SMALL` | ask `heed_layer_workspace_size`, or pass NULL |
| `BUSY` | give each thread a workspace of its own, or pass NULL |
| `IO` | the system's reason stands in the sentence: path, rights, space |
| `CORRUPT_FILE` | the file is damaged or was written wrongly: fetch or write it again |
| `NOT_FOUND` | the sentence tells which names there are, or which one is missing |
| `DEVICE_UNAVAILABLE` | install what the sentence names, or use `HEED_DEVICE_CPU` |
| `DEVICE_LOST` | destroy the context's objects, and open a new one |
| `NOT_FASTEST` | change the call as the reason says, or open a context that is not strict |
| `INTERNAL` | report the sentence as a defect of heed |

What the calls find: `context` on the CPU; `tensor` of F32 and dims (2, 3, 4), `shape_only` likewise without data; `layer`, multi-head
attention of `num_hiddens` 8 in 2 heads, as in `options`, with `inputs` (2, 3, 6), (2, 5, 7), (2, 5, 9) and `outputs` of a call that
works; `dot_product` with `heads` (2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6) and `head_outputs`; `dims` {2, 3, 4, 1, ...}, `strides`
{12, 4, 1, 1, ...} and `axes` {0, 1, 2}. `tensor_of(dtype, sizes)` makes another tensor, `shape_of` one without data, `lengths` one of
these numbers, `layer_with(options)` a layer without parameters; `managed` lends `memory`, (2, 3, 4) of F32, by DLPack.
`result_by(parallel_for)` makes a tensor of F32 and dims (64, 1000) in a context with an executor of 2 threads.
)";
  for (const Topic& topic : all_topics()) {
    text << "\n## " << topic.title << "\n\n";
    if (*topic.introduction != '\0') text << topic.introduction << "\n\n";
    for (const Provocation& provocation : topic.provocations) {
      const auto [status, sentence] = refused(provocation);
      text << "- **" << sentence << "**<br>\n  `" << short_name(status) << "` from `"
           << (provocation.before.empty() ? "" : provocation.before + "; ") << provocation.call << "`\n";
    }
  }
  text << "\n## Without a call\n\nThese stand in the sources, but no single call gets them.\n\n";
  for (const Unprovoked& each : unprovoked()) text << "- **" << each.format << "**<br>\n  " << each.reason << "\n";
  return text.str();
}

bool has_any(const std::string& sentence, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return sentence.find(part) != std::string::npos; });
}

// As far as a program can tell: what it was, and what was expected instead.
void expect_helpful(heed_status status, const std::string& sentence) {
  if (status == HEED_ERROR_INVALID_ARGUMENT) {
    const bool has_number = sentence.find_first_of("0123456789") != std::string::npos;
    EXPECT_TRUE(has_number || has_any(sentence, {"\"", "NULL", "HEED_", "BOOL", " nan", " inf", "shares memory",
                                                 "read-only", "has no tensor", "so large"}))
        << "says no value: " << sentence;
    EXPECT_TRUE(has_any(sentence, {"expected", " but ", ": "})) << "says not what was expected: " << sentence;
  }
  if (status == HEED_ERROR_IO || status == HEED_ERROR_CORRUPT_FILE || status == HEED_ERROR_NOT_FOUND) {
    EXPECT_TRUE(has_any(sentence, {"\""})) << "names no file, tensor or parameter: " << sentence;
  }
}

TEST_F(Errors, EachCallIsRefusedWithASentenceOfItsOwn) {
  std::set<std::string> sentences;
  for (const Topic& topic : all_topics()) {
    for (const Provocation& provocation : topic.provocations) {
      SCOPED_TRACE(provocation.before + "; " + provocation.call);
      const auto [status, sentence] = refused(provocation);
      EXPECT_NE(status, HEED_OK);
      EXPECT_TRUE(capi_test::is_refused(status, {heed_last_status(), {}}));
      expect_helpful(status, sentence);
      EXPECT_TRUE(sentences.insert(sentence).second) << "another call gets this already: " << sentence;
    }
  }
}

TEST_F(Errors, TheListInDocsIsThis) {
  const std::string written = document();
  if (std::getenv("HEED_UPDATE_ERRORS") != nullptr) std::ofstream(kList) << written;
  std::istringstream now(written);
  std::ifstream then(kList);
  std::string line;
  std::string listed;
  for (int64_t number = 1; std::getline(now, line); ++number) {
    std::getline(then, listed);
    ASSERT_EQ(line, listed) << "in line " << number << " of docs/errors.md: scripts/errors writes it anew";
  }
  EXPECT_FALSE(std::getline(then, listed)) << "docs/errors.md is longer: scripts/errors writes it anew";
}

}  // namespace
}  // namespace heed::errors_test
