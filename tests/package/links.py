#!/usr/bin/env python3
"""links.py SOURCE: the links of the documents lead somewhere, also from within a package; README keeps its size.

A link leads to a file that exists and, behind #, to a heading of it. What is shipped (README, CHANGELOG, docs/, samples/)
links to nothing that is not. README has at most 150 lines, none wider than 100 columns.
"""
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

import pathlib
import re
import sys

SHIPPED = ("README.md", "CHANGELOG.md", "LICENSE", "docs/", "samples/", "include/")
TREES = ("docs", "samples", "conformance", "tests/records", ".github")
LINK = re.compile(r"\]\(([^)\s]+)\)")
failed = 0


def wrong(text):
    global failed
    print(text)
    failed += 1


def without_code(text):
    """The text without blocks of code, and without `code` in lines."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(path):
    """The names that GitHub gives to the headings of a document."""
    text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.replace("`", "")).strip().lower().replace(" ", "-") for title in titles}


def check(top, document):
    name = document.relative_to(top).as_posix()
    count = 0
    for target in LINK.findall(without_code(document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        count += 1
        file, _, anchor = target.partition("#")
        path = (document.parent / file).resolve() if file else document
        if not path.exists():
            wrong(f"{name} links to {target}, which is not there")
            continue
        inside = path.relative_to(top).as_posix()
        if name.startswith(SHIPPED) and not inside.startswith(SHIPPED):
            wrong(f"{name} is shipped and links to {target}, which is not")
        if anchor and anchor not in anchors(path):
            wrong(f"{name} links to {target}, but there is no such heading")
    return count


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    documents = sorted(top.glob("*.md")) + [path for tree in TREES for path in sorted((top / tree).rglob("*.md"))]
    count = sum(check(top, document) for document in documents)
    if count < 50:
        wrong(f"only {count} links found in {len(documents)} documents")
    lines = (top / "README.md").read_text(encoding="utf-8").splitlines()
    if len(lines) > 150:
        wrong(f"README.md has {len(lines)} lines; the limit is 150")
    for number, line in enumerate(lines, 1):
        if len(line) > 100:
            wrong(f"README.md:{number} has {len(line)} columns; the limit is 100")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
