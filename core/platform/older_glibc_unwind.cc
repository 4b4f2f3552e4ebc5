// SPDX-License-Identifier: Apache-2.0
// How the unwinder inside libheed, which GCC 12 and later compile for glibc 2.35, finds the tables of a function. No exception passes
// through code outside libheed: its C functions and its threads catch all, and nothing that it calls back may throw. So the tables
// of libheed are enough; at code elsewhere unwinding ends, as at the end of the stack. Like glibc's own function this one takes no
// lock, which a child of fork could find taken.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

namespace {

// The linker places it at the library's first byte. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] const ElfW(Ehdr) __ehdr_start;

// What is at an offset from the library's first byte. Addresses in its file begin at 0.
const char* at(ElfW(Addr) offset) { return reinterpret_cast<const char*>(&__ehdr_start) + offset; }

bool contains(const ElfW(Phdr) & segment, const char* address) {
  return segment.p_type == PT_LOAD && address >= at(segment.p_vaddr) && address < at(segment.p_vaddr + segment.p_memsz);
}

}  // namespace

// glibc declares it. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int _dl_find_object(void* address, struct dl_find_object* result) noexcept {
  const auto* const segments = reinterpret_cast<const ElfW(Phdr)*>(at(__ehdr_start.e_phoff));
  bool is_inside = false;
  const ElfW(Phdr)* tables = nullptr;
  for (const ElfW(Phdr)* segment = segments; segment != segments + __ehdr_start.e_phnum; ++segment) {
    is_inside = is_inside || contains(*segment, static_cast<const char*>(address));
    if (segment->p_type == PT_GNU_EH_FRAME) tables = segment;
  }
  if (!is_inside || tables == nullptr) return -1;
  *result = {};
  result->dlfo_eh_frame = const_cast<char*>(at(tables->p_vaddr));
  return 0;
}
