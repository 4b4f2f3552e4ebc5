// SPDX-License-Identifier: Apache-2.0
// A list of error sentences for a documentation page, each with a call that causes it. To add one, add a line to the
// file
// of its topic:
//
//   PROVOKE(heed_tensor_create(context, HEED_F32, 9, dims, &new_tensor));
//   PROVOKE(heed_tensor_create(context, HEED_F32, 3, dims, &new_tensor), dims[1] = -1);
//
// that is the call, and after it the statements that must run before. Both use the names of class Scene, which are in
// scope there. Then run
// scripts/errors.
#pragma once

#include <heed/heed.h>

#include <functional>
#include <string>
#include <vector>

namespace heed::errors_test {

struct Provocation {
  std::string before;  // as written in the PROVOKE line
  std::string call;
  std::function<heed_status()> run;
};

struct Topic {
  const char* title;
  const char* introduction;  // what the calls of the topic have in common; may be empty
  std::vector<Provocation> provocations;
};

// A sentence that no call causes, given by its format in the sources.
struct Unprovoked {
  const char* format;
  const char* reason;
};

// Makes every call once, in order, since a call may change the process permanently.
class List {
 public:
  List(const std::vector<Topic>& topics, std::vector<Unprovoked> unprovoked);

  // Checks that each call is refused, each with a different sentence that states what was found and expected.
  void expect_helpful() const;
  // The list in Markdown, with headings that begin with `heading`, such as "##".
  std::string text(const std::string& heading) const;

 private:
  struct Refused {
    heed_status status;
    std::string sentence;
    std::string call;  // including the statements before it
  };
  struct RefusedTopic {
    std::string title;
    std::string introduction;
    std::vector<Refused> refused;
  };

  static Refused refused(const Provocation& provocation);

  std::vector<RefusedTopic> topics_;
  std::vector<Unprovoked> unprovoked_;
};

// Checks that the file contains this text. With HEED_UPDATE_ERRORS in the environment, writes it instead.
void expect_page(const std::string& path, const std::string& text);

// The status of a call. Getters have no status, so theirs is that of the last error.
inline heed_status outcome(heed_status status) { return status; }
template <typename Value>
heed_status outcome(Value) {
  return heed_last_status();
}

}  // namespace heed::errors_test

// A struct whose base class is the scene, so that the call can use the scene's names as a caller would.
#define PROVOKE(attempted_call, ...)                             \
  {                                                              \
#__VA_ARGS__, #attempted_call, [] {                            \
     struct Attempt : Scene {                                     \
       heed_status run() {                                        \
         __VA_ARGS__;                                             \
         return heed::errors_test::outcome(attempted_call);       \
       }                                                          \
     };                                                           \
     return Attempt().run();                                      \
   } \
  }
