// SPDX-License-Identifier: Apache-2.0
#include "base/sentence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/errors_of_member.h"

namespace heed {
namespace {

using Found = std::vector<std::pair<Role, std::string>>;

Found parts_of(const std::string& marked) {
  Found found;
  SentencePart part;
  for (SentenceParts parts(marked); parts.next(part);) found.emplace_back(part.role, part.text);
  return found;
}

Error failure(const char* text) {
  Error error;
  error.say(Status::Io, "%s", text);
  return error;
}

TEST(Sentence, HasTextAndTermsAsItsParts) {
  EXPECT_EQ(parts_of(OPTION("num_heads") " is 0, expected " CONSTANT("HEED_F32")),
            (Found{{Role::Option, "num_heads"}, {Role::Text, " is 0, expected "}, {Role::Constant, "HEED_F32"}}));
  EXPECT_EQ(parts_of(SETTING("no_bias", "0") FLAG("sinks", "1") INPUT("keys") OUTPUT("output") MEMBER("size")),
            (Found{{Role::Setting, "no_bias 0"},
                   {Role::Flag, "sinks 1"},
                   {Role::Input, "keys"},
                   {Role::Output, "output"},
                   {Role::Member, "size"}}));
  EXPECT_EQ(parts_of(ARGUMENT("dims") FUNCTION("heed_x") KIND("a linear layer") DTYPE("F32") WORD("NULL")),
            (Found{{Role::Argument, "dims"},
                   {Role::Function, "heed_x"},
                   {Role::Kind, "a linear layer"},
                   {Role::DType, "F32"},
                   {Role::Word, "NULL"}}));
  EXPECT_EQ(parts_of(""), Found{});
}

TEST(Sentence, BytesThatMarkNoTermAreText) {
  for (const std::string text : {"\x01", "\x02", "a\x01z\x02", "a\x01", "\x01o\n\x02", "\x01-x\x02", "\x01\x01\x02"})
    EXPECT_EQ(parts_of(text), (Found{{Role::Text, text}}));
  EXPECT_EQ(parts_of("\x01z" OPTION("size")), (Found{{Role::Text, "\x01z"}, {Role::Option, "size"}}));
}

TEST(Sentence, ATermWhoseEndWasCutIsATerm) {
  EXPECT_EQ(parts_of("a \x01onum_he"), (Found{{Role::Text, "a "}, {Role::Option, "num_he"}}));
}

TEST(Sentence, CSaysOptionsInputsAndOutputsWithTheirStruct) {
  EXPECT_EQ(said_in_c(OPTION("rope->base") " is 0, " INPUT("keys") " and " OUTPUT("weights")),
            "options->rope->base is 0, inputs->keys and outputs->weights");
  EXPECT_EQ(said_in_c("expected " SETTING("no_bias", "0") " or " FLAG("sinks", "1") " and " MEMBER("size")),
            "expected options->no_bias 0 or 1 and size");
  EXPECT_EQ(size_in_c(OPTION("size") " is " FLAG("sinks", "1")), std::string("options->size is 1").size());
}

TEST(Sentence, MarkedHasTheMarksOfATerm) {
  EXPECT_EQ(marked(Role::Input, "cache->layer"), INPUT("cache->layer"));
  EXPECT_EQ(marked(Role::Text, "text"), "text");
}

TEST(Sentence, IsCutWhereCWouldCutIt) {
  const std::string whole = "a " OPTION("size") " is " DTYPE("F32") ", 7";
  const std::string in_c = said_in_c(whole);
  for (size_t size = 0; size <= in_c.size() + 3; ++size) {
    std::string cut = whole;
    cut_for_c(cut.data(), size);
    cut.resize(std::strlen(cut.c_str()));
    const std::string said = said_in_c(cut);
    // A name of which nothing is left is left out with the struct before it.
    const bool is_in_struct = size > 2 && size <= std::string("a options->").size();
    EXPECT_EQ(said, is_in_struct ? "a " : in_c.substr(0, size));
  }
}

TEST(Sentence, AnErrorHasRoomForASentenceOfFullLength) {
  std::string sentence;
  while (size_in_c(sentence) < 600) sentence += DTYPE("F32") ", ";
  const Error error = failure(sentence.c_str());
  EXPECT_EQ(error.text, said_in_c(sentence).substr(0, kErrorCapacity - 1));
  EXPECT_EQ(said_in_c(error.marked), error.text);
}

std::string kept(const std::string& sentence) {
  KeptSentence keeper;
  keeper.keep(sentence.c_str());
  EXPECT_EQ(keeper.text, said_in_c(sentence).substr(0, kErrorCapacity - 1));
  char marked_again[kMarkedCapacity];
  keeper.mark(marked_again);
  return marked_again;
}

TEST(Sentence, IsKeptWithItsTerms) {
  for (const std::string& sentence :
       {std::string(), std::string("no term"), std::string(OPTION("size")),
        std::string(
            OPTION("a->sinks") " is " FLAG("sinks", "0") ", expected " FLAG("no_bias", "set") " of " INPUT("keys")),
        std::string("\"a\" " WORD("NULL") DTYPE("F32") SETTING("no_bias", "0") OUTPUT("weights"))}) {
    EXPECT_EQ(kept(sentence), sentence);
  }
}

TEST(Sentence, IsKeptWithAtMostSoManyTerms) {
  std::string sentence;
  for (size_t i = 0; i < KeptSentence::kMaxTerms; ++i) sentence += DTYPE("F32");
  EXPECT_EQ(kept(sentence + DTYPE("F16") " end"), sentence + "F16 end");
}

TEST(Sentence, AFlagWithoutRoomForItsOptionIsKeptAsText) {
  // Room for the text with "1", and for "sinks 1", each with its zero.
  const std::string text(kErrorCapacity - 10, 'x');
  EXPECT_EQ(kept(text + FLAG("sinks", "1")), text + FLAG("sinks", "1"));
  EXPECT_EQ(kept(text + "y" FLAG("sinks", "1")), text + "y1");
}

TEST(Sentence, OptionsOfAChildAreThoseOfAMember) {
  Error error = failure(OPTION("num_heads") " is 0, expected " SETTING("no_bias", "0") " of " INPUT("keys"));
  error.add_to_options("attention");
  EXPECT_STREQ(error.text,
               "options->attention->num_heads is 0, expected options->attention->no_bias 0 of inputs->keys");
  error.add_to_options("layers[1]");
  EXPECT_EQ(std::string(error.marked).substr(0, 35),
            std::string(OPTION("layers[1]->attention->num_heads") " is").substr(0, 35));
  try {
    ErrorsOfMember("norm").of([] { fail(Status::Busy, OPTION("epsilon") " is %d", 7); });
    FAIL();
  } catch (const Error& of_member) {
    EXPECT_EQ(of_member.status, Status::Busy);
    EXPECT_STREQ(of_member.text, "options->norm->epsilon is 7");
  }
}

TEST(Sentence, IsPrintedWithOtherBytesEscaped) {
  char text[16];
  char marks[kMarkedCapacity];
  print("\n" DTYPE("F32") "\x7f", text, sizeof text, marks);
  EXPECT_STREQ(text, "\\x0aF32\\x7f");
  EXPECT_STREQ(marks, "\\x0a" DTYPE("F32") "\\x7f");
  print("0123456789abcd\n" DTYPE("F32"), text, sizeof text, marks);
  EXPECT_STREQ(text, "0123456789abcd");
  EXPECT_STREQ(marks, "0123456789abcd");
}

}  // namespace
}  // namespace heed
