#!/usr/bin/env python3
"""layers.py SOURCE BUILD NM: no layer of ntdll_ums uses what it must not know.

The rules are the table between <!-- table layers --> and <!-- end --> in docs/architecture.md: one row for each layer, with
its files and the layers that it may use. What a layer uses is read from the symbols of its objects, so a call, an address
and a variable count alike, wherever they are declared. The seams and exceptions below are the only way around the table.
"""
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later

import collections
import fnmatch
import pathlib
import re
import subprocess
import sys

# A layer may use names that this header declares, though it may not use the layer that defines them.
SEAMS = {
    ("core", "host"): "dlls/ntdll_ums/ke.h",
    ("record", "host"): "dlls/ntdll_ums/ke.h",
    ("factory", "main"): "dlls/ntdll_ums/main.h",
    ("api", "main"): "dlls/ntdll_ums/main.h",
}

# (from, to, name): reason. Keep it short: each line is a function that is in the wrong place, or an interface that is missing.
EXCEPTIONS = {
    ("core", "host", "ums_tls_offset"): "read by the inline functions of KE_INLINE, which is ke.h's other half",
    ("entry", "api", "RtlDequeueUmsCompletionListItems"): "its address only: a debugger steps over it (is_door)",
    ("host", "entry", "ums_scheduler_gone"): "the warden has seen a scheduler's thread end; what follows is that of a kill",
    ("host", "entry", "ums_call_native"): "the probe makes a local call, to see whether one works on a carrier",
    ("host", "entry", "call_key_named"): "the same",
    ("host", "entry", "ums_hook_owns"): "is a program counter in a stub's copy? Only the stub hook knows",
    ("host", "entry", "ums_suspend_native"): "thread calls past the hook, which knows the unchanged stubs",
    ("host", "entry", "ums_resume_native"): "the same",
    ("host", "entry", "ums_get_context_native"): "the same",
    ("host", "entry", "ums_set_context_native"): "the same",
    ("host", "entry", "ums_resume_worker"): "the same",
    ("host", "entry", "ums_unix_plain"): "its address only: a thread in it is asleep (ke_is_asleep)",
    ("host", "entry", "ums_unix_plain_end"): "the same",
}


def read_rules(page):
    """{layer: (patterns of files, layers it may use)} from the table in the document."""
    text = page.read_text(encoding="utf-8")
    table = re.search(r"<!-- table layers -->\n(.*?)<!-- end -->", text, re.DOTALL)
    rules = {}
    for line in table.group(1).splitlines() if table else []:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 4 or cells[0] in ("layer", "") or set(cells[0]) <= set("-: "):
            continue
        patterns = re.findall(r"`([^`]+)`", cells[1])
        uses = {word.strip() for word in cells[2].split(",")} - {"-", ""}
        rules[cells[0].strip("*")] = (patterns, uses)
    return rules


def layer_of(source, rules):
    found = [layer for layer, (patterns, _) in rules.items() if any(fnmatch.fnmatch(source, p) for p in patterns)]
    return found[0] if len(found) == 1 else None


def read_symbols(objects, nm):
    """({symbol: source that defines it}, {source: symbols it uses})"""
    defined, used = {}, collections.defaultdict(set)
    for path in sorted(objects.rglob("*.obj")):
        source = path.relative_to(objects).as_posix().removesuffix(".obj")
        text = subprocess.run([nm, path], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in text.splitlines():
            *_, kind, name = line.split()
            if kind == "U":
                used[source].add(name)
            elif kind in "TDBRC":
                defined[name] = source
    return defined, used


def main():
    top, build, nm = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    objects = build / "dlls" / "ntdll_ums" / "CMakeFiles" / "ntdll_ums.dir"
    rules = read_rules(top / "docs" / "architecture.md")
    seams = {key: set(re.findall(r"\b[a-z]\w+\b", (top / file).read_text())) for key, file in SEAMS.items()}
    wrong = [f"docs/architecture.md: layer {layer} may use {use}, which is no layer"
             for layer, (_, uses) in rules.items() for use in uses - set(rules)]
    defined, used = read_symbols(objects, nm)
    arrows, needed = 0, set()
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
            if there in rules[here][1] or name in seams.get((here, there), ()):
                continue
            if (here, there, name) in EXCEPTIONS:
                needed.add((here, there, name))
                continue
            wrong.append(f"{source} ({here}) uses {name} of {defined[name]} ({there})")
    for key in EXCEPTIONS.keys() - needed:
        print(f"not needed any more, please remove: the exception {key}")
    if arrows < 100 or len(rules) < 7:
        wrong.append(f"only {arrows} uses across {len(rules)} layers found")
    for text in wrong:
        print(text)
    print(f"{arrows} uses across {len(rules)} layers, {len(needed)} by exception")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
