#!/usr/bin/env python3
"""layers.py SOURCE BUILD NM: no layer of ntdll_ums uses what it must not know.

The rules are the table between <!-- table layers --> and <!-- end --> in docs/architecture.md: one row for each layer, with
its files and the layers that it may use. Of a layer with headers in parentheses, it may use only names that these headers
declare. What a layer uses is read from the symbols of its objects, so a call, an address and a variable count alike, wherever
they are declared.
"""
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

import collections
import fnmatch
import pathlib
import re
import subprocess
import sys


def read_rules(page):
    """{layer: (patterns of files, {layer it may use: its headers, none for all of it})} from the table in the document."""
    text = page.read_text(encoding="utf-8")
    table = re.search(r"<!-- table layers -->\n(.*?)<!-- end -->", text, re.DOTALL)
    rules = {}
    for line in table.group(1).splitlines() if table else []:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 4 or cells[0] in ("layer", "") or set(cells[0]) <= set("-: "):
            continue
        patterns = re.findall(r"`([^`]+)`", cells[1])
        uses = {use: re.findall(r"`([^`]+)`", headers) for use, headers in re.findall(r"(\w+)(?: \(([^)]*)\))?", cells[2])}
        rules[cells[0].strip("*")] = (patterns, uses)
    return rules


def declared(header):
    """The words of a header, without those of its comments."""
    return re.findall(r"\b[a-z]\w+\b", re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL))


def layer_of(source, rules):
    found = [layer for layer, (patterns, _) in rules.items() if any(fnmatch.fnmatch(source, p) for p in patterns)]
    return found[0] if len(found) == 1 else None


def read_symbols(objects, nm):
    """({symbol: source that defines it}, {source: symbols it uses})"""
    defined, used = {}, collections.defaultdict(set)
    files = sorted(objects.rglob("*.obj"))
    text = subprocess.run([nm, "-A", *files], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in text.splitlines():
        path, _, symbol = line.partition(".obj:")
        source = pathlib.Path(path).relative_to(objects).as_posix()
        *_, kind, name = symbol.split()
        if kind == "U":
            used[source].add(name)
        elif kind in "TDBRC":
            defined[name] = source
    return defined, used


def main():
    top, build, nm = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    objects = build / "dlls" / "ntdll_ums" / "CMakeFiles" / "ntdll_ums.dir"
    rules = read_rules(top / "docs" / "architecture.md")
    wrong = [f"docs/architecture.md: layer {layer} may use {use}, which is no layer"
             for layer, (_, uses) in rules.items() for use in uses.keys() - rules.keys()]
    names = {header: set(declared(top / "dlls" / "ntdll_ums" / header))
             for _, uses in rules.values() for headers in uses.values() for header in headers}
    defined, used = read_symbols(objects, nm)
    arrows, needed = 0, set()                   # needed: headers that allow something
    built = {path.relative_to(top / "dlls" / "ntdll_ums").as_posix()
             for suffix in ("c", "S") for path in (top / "dlls" / "ntdll_ums").rglob(f"*.{suffix}")}
    for source in sorted(used):
        if source not in built:
            continue                            # left behind by an older build, or made by it
        here = layer_of(source, rules)
        if not here:
            wrong.append(f"{source} is in no layer of docs/architecture.md, or in several")
            continue
        for name in sorted(used[source]):
            there = layer_of(defined.get(name, ""), rules)
            if not there or there == here or defined[name] not in built:
                continue
            arrows += 1
            headers = rules[here][1].get(there)
            if headers == []:
                continue
            through = [header for header in headers or [] if name in names[header]]
            needed.update((here, header) for header in through)
            if through:
                continue
            wrong.append(f"{source} ({here}) uses {name} of {defined[name]} ({there})")
    wrong += [f"docs/architecture.md: {layer} uses nothing of {header}" for layer, (_, uses) in rules.items()
              for headers in uses.values() for header in headers if (layer, header) not in needed]
    if arrows < 100 or len(rules) < 7:
        wrong.append(f"only {arrows} uses across {len(rules)} layers found")
    for text in wrong:
        print(text)
    print(f"{arrows} uses across {len(rules)} layers")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
