// SPDX-License-Identifier: Apache-2.0
// Calls that must be refused: a case for each bad value, in the file of its topic.
//
//   PROVOKE(heed_tensor_create(context, HEED_F32, 9, dims, &new_tensor)),
//   PROVOKE(heed_tensor_create(context, HEED_F32, 3, dims, &new_tensor), dims[1] = -1),
//
// that is the call, and after it the statements that must run before. Both use the names of class Scene, which are in scope
// there. Such a case is on a page of the documentation with its sentence, and each has another sentence: run scripts/errors.
// Further values that get such a sentence are not on the page. They state what the sentence says, where ... is any text:
//
//   ALSO("dims[0] is -3, expected ...", heed_tensor_create(context, HEED_F32, 3, dims, &new_tensor), dims[0] = -3),
//   ALSO_AS(NOT_FOUND, "name is \"\"", heed_layer_child(layer, "", &new_layer)),
//
// Of every case the status, the sentence and the last error are checked, and that it has changed nothing in the scene.
#pragma once

#include <heed/heed.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "errors/reach.h"

namespace heed::errors_test {

// What a case is tried with.
struct Setting {
  std::optional<capi_test::Kind> kind;  // the scene's layer and a call of it are of this kind
  std::optional<Reach> reach;           // which functions must refuse the call of that layer
};

struct Refused {
  heed_status status;
  std::string sentence;
};

// What a scene does around its call.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

 protected:
  // Before the statements of the case.
  virtual void arrange(const Setting& /*setting*/) {}
  // Right before the call, and right after it: checks that it was refused as every call is.
  virtual void begin();
  virtual Refused end(heed_status status);
};

struct Case {
  std::string before;  // as written
  std::string call;
  Refused (*run)(const Setting& setting);
  // Of a case that is not on the page.
  std::optional<Refused> expected = {};
  std::vector<Setting> settings = {{}};
};

class Cases {
 public:
  Cases(Case one) : all_{std::move(one)} {}  // NOLINT(google-explicit-constructor)
  Cases(std::initializer_list<Cases> parts);

  std::vector<Case>& all() { return all_; }
  const std::vector<Case>& all() const { return all_; }

 private:
  std::vector<Case> all_;
};

// These cases change a call of the scene's layer with heed_layer_forward. Other functions must refuse it too.
Cases by(Reach reach, Cases cases);
// The scene's layer is of each of these kinds.
Cases of(const std::vector<capi_test::Kind>& kinds, Cases cases);
Cases by(Reach reach, const std::vector<capi_test::Kind>& kinds, Cases cases);

struct Topic {
  const char* title;
  const char* introduction;  // what the calls of the topic have in common; may be empty
  Cases cases;
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
  // A case of the page.
  struct Listed {
    Refused refused;
    std::string call;  // including the statements before it
  };
  struct ListedTopic {
    std::string title;
    std::string introduction;
    std::vector<Listed> listed;
  };

  std::vector<ListedTopic> topics_;
  std::vector<Unprovoked> unprovoked_;
};

// Checks that the file contains this text. With HEED_UPDATE_ERRORS in the environment, writes it instead.
void expect_page(const std::string& path, const std::string& text);

void expect_bad_value(bool is_bad_value);

// The status of a call. Getters have no status, so theirs is that of the last error, and they must return the value that says
// so, which is 0 for heed_device_count.
inline heed_status outcome(heed_status status, std::string_view /*call*/) { return status; }
template <typename Value>
heed_status outcome(Value value, std::string_view call) {
  if constexpr (std::is_pointer_v<Value>) {
    expect_bad_value(value == nullptr);
  } else if constexpr (std::is_enum_v<Value>) {
    expect_bad_value(value == HEED_DTYPE_INVALID);
  } else if constexpr (std::is_unsigned_v<Value>) {
    expect_bad_value(value == 0);
  } else {
    expect_bad_value(value == (call.starts_with("heed_device_count") ? 0 : -1));
  }
  return heed_last_status();
}

}  // namespace heed::errors_test

// A struct whose base class is the scene, so that the call can use the scene's names as a caller would.
#define HEED_ATTEMPT(attempted_call, ...)                                        \
  [](const heed::errors_test::Setting& its_setting) {                            \
    struct Attempt : Scene {                                                     \
      heed::errors_test::Refused run(const heed::errors_test::Setting& given) {  \
        arrange(given);                                                          \
        __VA_ARGS__;                                                             \
        begin();                                                                 \
        return end(heed::errors_test::outcome(attempted_call, #attempted_call)); \
      }                                                                          \
    };                                                                           \
    return Attempt().run(its_setting);                                           \
  }

#define PROVOKE(attempted_call, ...) \
  heed::errors_test::Case { #__VA_ARGS__, #attempted_call, HEED_ATTEMPT(attempted_call, __VA_ARGS__) }

#define ALSO_AS(its_status, its_sentence, attempted_call, ...)                                             \
  heed::errors_test::Case {                                                                                \
#__VA_ARGS__, #attempted_call, HEED_ATTEMPT(attempted_call, __VA_ARGS__), heed::errors_test::Refused { \
      HEED_ERROR_##its_status, its_sentence                                                                \
    }                                                                                                      \
  }

#define ALSO(its_sentence, attempted_call, ...) ALSO_AS(INVALID_ARGUMENT, its_sentence, attempted_call, __VA_ARGS__)
