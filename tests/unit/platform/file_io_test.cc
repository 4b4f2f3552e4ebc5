// SPDX-License-Identifier: Apache-2.0
// The functions on files in core/platform, with each error that they return.
#include "platform/file_io.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/platform/files.h"
#include "support/platform/limits.h"
#include "support/platform/threads.h"

namespace heed::platform {
namespace {

namespace fs = std::filesystem;

class FileIo : public testing::Test {
 protected:
  FileIo() : folder_(fs::absolute(make_unique_folder("file_io_test_"))) {}
  ~FileIo() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::string write(const char* name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  fs::path folder_;
};

TEST_F(FileIo, ReadsAnyPartOfAFile) {
  FileHandle file = kNoFile;
  ASSERT_EQ(open_to_read(write("a", "0123456789").c_str(), &file), 0);
  FileKind kind = FileKind::Missing;
  uint64_t num_bytes = 0;
  EXPECT_EQ(status_of(file, &kind, &num_bytes), 0);
  EXPECT_EQ(kind, FileKind::Regular);
  EXPECT_EQ(num_bytes, 10u);
  for (const auto& [offset, count, expected] :
       {std::tuple{0, 10, "0123456789"}, {3, 4, "3456"}, {9, 5, "9"}, {10, 1, ""}, {50, 1, ""}, {2, 0, ""}}) {
    std::string bytes(static_cast<size_t>(count), '?');
    size_t num_read = 99;
    EXPECT_EQ(read_at(file, static_cast<uint64_t>(offset), bytes.data(), bytes.size(), &num_read), 0);
    EXPECT_EQ(bytes.substr(0, num_read), expected);
  }
  close_file(file);
  size_t num_read = 0;
  char byte = 0;
  EXPECT_EQ(read_at(file, 0, &byte, 1, &num_read), EBADF);
}

TEST_F(FileIo, ReportsFilesThatCannotBeOpened) {
  FileHandle file = kNoFile;
  EXPECT_EQ(open_to_read(path("none").c_str(), &file), ENOENT);
  EXPECT_EQ(open_to_read((write("a", "") + "/b").c_str(), &file), ENOTDIR);
  EXPECT_EQ(file, kNoFile);
  FileKind kind = FileKind::Missing;
  uint64_t num_bytes = 0;
  ASSERT_EQ(open_to_read(folder_.c_str(), &file), 0);
  EXPECT_EQ(status_of(file, &kind, &num_bytes), 0);
  EXPECT_EQ(kind, FileKind::Directory);
  close_file(file);
  // A pipe without a writer, at which opening for reading would wait.
  ASSERT_TRUE(make_pipe(path("pipe").c_str()));
  ASSERT_EQ(open_to_read(path("pipe").c_str(), &file), 0);
  EXPECT_EQ(status_of(file, &kind, &num_bytes), 0);
  EXPECT_EQ(kind, FileKind::Other);
  close_file(file);
}

TEST_F(FileIo, KnowsWhichFilesExist) {
  EXPECT_TRUE(file_exists(folder_.c_str()));
  EXPECT_TRUE(file_exists(write("a", "").c_str()));
  EXPECT_FALSE(file_exists(path("none").c_str()));
  EXPECT_FALSE(file_exists(path("a/b").c_str()));
  EXPECT_TRUE(file_exists(path(std::string(300, 'x').c_str()).c_str())) << "the error is not that the file is missing";
}

TEST(FolderOf, EndsAtTheLastSeparator) {
  for (const auto& [path, folder] : {std::pair{"a", "."},
                                     {"a/b", "a"},
                                     {"a/b/c", "a/b"},
                                     {"/a", "/"},
                                     {"/", "/"},
                                     {"./a", "."},
                                     {"a//b", "a/"},
                                     {"", "."}})
    EXPECT_EQ(folder_of(path), folder) << path;
}

TEST_F(FileIo, ResolvesLinksOfAPathToWrite) {
  WriteTarget target;
  EXPECT_EQ(resolve_target(path("new").c_str(), &target), 0);
  EXPECT_EQ(target.kind, FileKind::Missing);
  EXPECT_EQ(target.path, path("new"));
  EXPECT_EQ(target.permissions, 0666u);
  fs::permissions(write("old", ""), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(make_link("old", path("link").c_str()));
  EXPECT_EQ(resolve_target(path("link").c_str(), &target), 0);
  EXPECT_EQ(target.kind, FileKind::Regular);
  EXPECT_EQ(target.path, fs::canonical(folder_ / "old").string());
  EXPECT_EQ(target.permissions, 0600u);
  ASSERT_TRUE(make_link("nowhere", path("broken").c_str()));
  EXPECT_EQ(resolve_target(path("broken").c_str(), &target), 0);
  EXPECT_EQ(target.kind, FileKind::BrokenLink);
  EXPECT_EQ(resolve_target(folder_.c_str(), &target), 0);
  EXPECT_EQ(target.kind, FileKind::Directory);
  ASSERT_TRUE(make_pipe(path("pipe").c_str()));
  EXPECT_EQ(resolve_target(path("pipe").c_str(), &target), 0);
  EXPECT_EQ(target.kind, FileKind::Other);
  EXPECT_EQ(resolve_target(path("old/a").c_str(), &target), ENOTDIR);
  ASSERT_TRUE(make_link("loop", path("loop").c_str()));
  EXPECT_EQ(resolve_target(path("loop").c_str(), &target), ELOOP);
  if (is_superuser()) return;
  fs::permissions(path("old"), fs::perms::owner_read);
  EXPECT_EQ(resolve_target(path("old").c_str(), &target), EACCES);
}

TEST_F(FileIo, WritesAFileThatReplacesAnother) {
  const std::string old = write("old", "old contents");
  const std::string fresh = path("fresh");
  FileHandle file = kNoFile;
  ASSERT_EQ(create_file(fresh.c_str(), 0600, &file), 0);
  FileHandle second = kNoFile;
  EXPECT_EQ(create_file(fresh.c_str(), 0600, &second), EEXIST);
  EXPECT_EQ(second, kNoFile);
  EXPECT_EQ(write_file(file, "new ", 4), 0);
  EXPECT_EQ(write_file(file, "contents", 8), 0);
  EXPECT_EQ(write_file(file, nullptr, 0), 0);
  EXPECT_EQ(sync_file(file), 0);
  EXPECT_EQ(close_written(file), 0);
  EXPECT_EQ(close_written(file), EBADF);
  EXPECT_EQ(fs::status(fresh).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(replace_file(fresh.c_str(), old.c_str()), 0);
  EXPECT_EQ(read(old), "new contents");
  EXPECT_FALSE(fs::exists(fresh));
  EXPECT_EQ(replace_file(fresh.c_str(), old.c_str()), ENOENT);
  sync_folder(folder_.c_str());
  sync_folder(path("none").c_str());
  remove_file(old.c_str());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_EQ(create_file(path("none/a").c_str(), 0600, &file), ENOENT);
}

TEST_F(FileIo, TakesASizeLimitAsAnError) {
  FileHandle file = kNoFile;
  ASSERT_EQ(create_file(path("a").c_str(), 0600, &file), 0);
  {
    const NoSizeSignal no_size_signal;
    EXPECT_TRUE(blocked_signals().contains("SIGXFSZ"));
    {
      // The outer scope has blocked the signal; the inner one must leave it blocked.
      const NoSizeSignal inner;
      const FileSizeLimit limit(100);
      ASSERT_TRUE(limit.is_set());
      const std::string bytes(101, 'x');
      EXPECT_EQ(write_file(file, bytes.data(), bytes.size()), EFBIG);
      EXPECT_TRUE(pending_signals().contains("SIGXFSZ"));
    }
    EXPECT_FALSE(pending_signals().contains("SIGXFSZ"));
    EXPECT_TRUE(blocked_signals().contains("SIGXFSZ"));
  }
  EXPECT_FALSE(blocked_signals().contains("SIGXFSZ"));
  close_file(file);
}

// This program runs in the "C" locale, in which the C library's texts are the same.
TEST(ErrorWords, AreThoseOfTheCLibrary) {
  int num_known = 0;
  for (int error = 1; error < 200; ++error) {
    const std::string words = error_words(error);
    if (words == "unknown reason") continue;
    EXPECT_EQ(words, std::strerror(error)) << error;
    ++num_known;
  }
  EXPECT_GE(num_known, 60);
  for (const int error : {ENOENT, EACCES, ENOSPC, EIO,   EISDIR,    ENOTDIR, EROFS,  EMFILE, ENAMETOOLONG, ELOOP, EFBIG,
                          EINVAL, EPERM,  EEXIST, EXDEV, ENOTEMPTY, ETXTBSY, ENODEV, ENXIO,  EBUSY,        ENOMEM})
    EXPECT_STRNE(error_words(error), "unknown reason") << std::strerror(error);
  EXPECT_STREQ(error_words(0), "unknown reason");
  EXPECT_STREQ(error_words(-1), "unknown reason");
}

}  // namespace
}  // namespace heed::platform
