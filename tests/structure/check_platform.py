# SPDX-License-Identifier: Apache-2.0
"""Only some folders may depend on the operating system. check_platform.py ROOT reports, outside the folders of SYSTEM_FILES:
- conditions of the preprocessor on a system, and in core/ and capi/ also on a processor,
- includes of a system's headers,
- in tests/, calls of functions that only POSIX has, even if standard headers declare them,
- in core/ and capi/, texts that depend on the host's locale: printf's conversions of floating-point numbers, and setlocale and its relatives.
"""

import re
import sys
from pathlib import Path

# Files that belong to a system.
SYSTEM_FILES = (
    "core/platform/",
    "tests/support/platform/",
    # The simulator stands for a Linux driver, and shares no code with the other tests.
    "tests/ascend_sim/",
    # The compiler includes it before every file, and it depends on nothing else.
    "tests/mutation/",
    # They measure on Linux, with its counters, its list of processors and libraries that exist only there.
    "tests/bench/",
)
# The public header must compile in programs whose build does not choose files by system.
PUBLIC_HEADER = "capi/include/heed/heed.h"
# Each kernel is compiled for one processor.
KERNELS = "/kernels/"

SYSTEM = re.compile(
    r"__(?:linux|gnu_linux|APPLE|MACH|unix|ANDROID|FreeBSD|OpenBSD|NetBSD|CYGWIN|MINGW32|MINGW64|GLIBC|GLIBC_MINOR|MUSL|BIONIC)(?:__)?\b"
    r"|\b_WIN(?:32|64)\b|\blinux\b|\bunix\b|\b_(?:GNU|POSIX(?:_C)?)_SOURCE\b"
)
PROCESSOR = re.compile(r"__(?:x86_64|amd64|i386|aarch64|arm|ARM_\w+|riscv|powerpc64|SSE\w*|AVX\w*|FMA|F16C)(?:__)?\b|\b_M_(?:X64|AMD64|IX86|ARM64)\b")
CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
SYSTEM_HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*<((?:sys|linux|asm|arpa|net|netinet|mach|mach-o|os)/[^>]+"
    r"|(?:aio|cpuid|dirent|dlfcn|elf|execinfo|fcntl|fnmatch|ftw|glob|grp|langinfo|link|malloc|poll|pthread|pwd|sched|semaphore|signal|spawn|strings|syscall|syslog"
    r"|termios|ucontext|unistd|utime|wait|xlocale|windows|winbase|winsock2|io|process|direct)\.h"
    r"|csignal|clocale|locale)>",
    re.MULTILINE,
)
LOCALE = re.compile(r"\b(?:setlocale|newlocale|uselocale|freelocale|localeconv|strerror(?:_[lr])?)\s*\(")
POSIX_CALL = re.compile(r"(?<![\w.>])(?:setenv|unsetenv|putenv|fork|waitpid|execvp?|symlink|mkfifo|mkdtemp|mkstemp|getpid|geteuid|getuid|dlopen|dlsym|mmap|sysconf)\s*\(")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
FLOAT_CONVERSION = re.compile(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?L?[aefgAEFG](?![a-zA-Z])")

SOURCES = {".h", ".hpp", ".inc", ".c", ".cc", ".cpp"}


def check(root: Path) -> tuple[list[str], int]:
    """The violations, one sentence each, and the number of files that were read."""
    problems = []
    num_files = 0
    for top in ("core", "capi", "tests"):
        for path in sorted((root / top).rglob("*")):
            file = path.relative_to(root).as_posix()
            if path.suffix not in SOURCES or not path.is_file() or file.startswith(SYSTEM_FILES):
                continue
            num_files += 1
            text = path.read_text(encoding="utf-8")
            is_library = top != "tests"

            def report(kind: str, position: int, what: str) -> None:
                problems.append(f"{file}:{text.count(chr(10), 0, position) + 1}: [{kind}] {what}")

            if file != PUBLIC_HEADER:
                for condition in CONDITION.finditer(text):
                    if found := SYSTEM.search(condition[1]):
                        report("system", condition.start(), f"a condition on {found[0]} belongs into a file of core/platform or tests/support/platform")
                    elif is_library and KERNELS not in file and (found := PROCESSOR.search(condition[1])):
                        report("processor", condition.start(), f"a condition on {found[0]} belongs into a file that CMake chooses by processor")
            for include in SYSTEM_HEADER.finditer(text):
                report("header", include.start(), f"<{include[1]}> belongs to core/platform or tests/support/platform")
            code = COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
            if not is_library:
                for match in POSIX_CALL.finditer(code):
                    report("call", match.start(), f"{match[0].rstrip('( ')} belongs to tests/support/platform")
                continue
            for match in COMMENT_OR_STRING.finditer(text):
                if match[0].startswith('"') and FLOAT_CONVERSION.search(match[0].replace("%%", "")):
                    report("locale", match.start(), f"{match[0]} depends on the host's locale: use DecimalText")
            for match in LOCALE.finditer(code):
                report("locale", match.start(), f"{match[0].rstrip('( ')} depends on the host's locale")
    return problems, num_files


if __name__ == "__main__":
    violations, count = check(Path(sys.argv[1]))
    if count == 0:
        violations.append(f"no source found below {sys.argv[1]}")
    if violations:
        sys.exit("\n".join(violations))
    print(f"{count} files, none with a system in it")
