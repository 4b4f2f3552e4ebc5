// SPDX-License-Identifier: Apache-2.0
// A list of error sentences in a page, each with a call that gets it. To add one is to add a line to the file of its
// topic:
//
//   PROVOKE(heed_tensor_create(context, HEED_F32, 9, dims, &new_tensor));
//   PROVOKE(heed_tensor_create(context, HEED_F32, 3, dims, &new_tensor), dims[1] = -1);
//
// the call, and behind it what has to be done before, all in the names of the class Scene that is in scope there; then
// scripts/errors.
#pragma once

#include <heed/heed.h>

#include <functional>
#include <string>
#include <vector>

namespace heed::errors_test {

struct Provocation {
  std::string before;  // as written here
  std::string call;
  std::function<heed_status()> run;
};

struct Topic {
  const char* title;
  const char* introduction;  // what its calls share; may be empty
  std::vector<Provocation> provocations;
};

// A sentence that no call gets, as its format stands in the sources.
struct Unprovoked {
  const char* format;
  const char* reason;
};

// Every call is made once, in order, since what it does to the process may be for good.
class List {
 public:
  List(const std::vector<Topic>& topics, std::vector<Unprovoked> unprovoked);

  // Each call is refused, with a sentence of its own that helps as far as a program can tell.
  void expect_helpful() const;
  // In Markdown, with headings that begin so: "##".
  std::string text(const std::string& heading) const;

 private:
  struct Refused {
    heed_status status;
    std::string sentence;
    std::string call;  // with what comes before
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

// The file is this text. With HEED_UPDATE_ERRORS in the environment it is made so.
void expect_page(const std::string& path, const std::string& text);

// What a call came to: getters tell it by the last error alone.
inline heed_status outcome(heed_status status) { return status; }
template <typename Value>
heed_status outcome(Value) {
  return heed_last_status();
}

}  // namespace heed::errors_test

// A struct, whose members are the scene's, so that the call can be written as a caller writes it.
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
