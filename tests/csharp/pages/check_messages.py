# SPDX-License-Identifier: Apache-2.0
"""check_messages.py <docs/csharp.md> <sentences of docs/errors.md, in C#'s words> < what Provocations.cs prints

Every message in the first column of the page's table "Troubleshooting" must be one of heed's: one that was printed, or one of docs/errors.md,
which another test compares with the library. "..." matches anything."""
import re
import sys


def main(page, errors):
    with open(page, encoding="utf-8") as file:
        messages = re.findall(r"^\| `([^`]+)` \|", file.read().split("\n## Troubleshooting\n")[1], re.MULTILINE)
    with open(errors, encoding="utf-8") as file:
        known = file.read().splitlines()
    printed = sys.stdin.read()
    # .NET and the system add their own text on separate lines.
    known += [re.sub(r"^\w+Exception: ", "", line) for line in printed.splitlines()]
    # It also adds the name of the argument, which the page leaves out.
    known += [re.sub(r" \(Parameter '[^']*'\)$", "", line) for line in known]
    unknown = []
    for message in messages:
        pattern = re.compile(".*".join(map(re.escape, message.split("..."))))
        if not any(pattern.fullmatch(sentence) for sentence in known):
            unknown.append(message)
    for message in unknown:
        print(f"{page}: nothing says: {message}")
    if unknown or not messages:
        sys.exit(f"{len(unknown)} of {len(messages)} messages are none of heed's; there are:\n{printed}")
    print(f"heed gives all of the page's {len(messages)} messages")


if __name__ == "__main__":
    main(*sys.argv[1:])
