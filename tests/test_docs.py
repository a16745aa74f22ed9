#!/usr/bin/env python3
"""Are the pages true to the repository? test_docs.py ROOT

Every table is the one that bench/tables.py makes of its run; every link leads to a file, and to a heading of it; every source file that a page
names is there, and every page that a source file names; and every kept run is named on a page, so that none outlives its figures.
"""
import glob
import os
import re
import sys

root = os.path.abspath(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(root, "bench"))
import tables  # noqa: E402 (it is in bench/)

pages = sorted(os.path.relpath(page, root) for folder in ("", "docs", "docs/log", "ladder") for page in glob.glob(os.path.join(root, folder, "*.md")))
text_of = {page: open(os.path.join(root, page)).read() for page in pages}
sources = [os.path.relpath(os.path.join(folder, name), root) for part in ("src", "include", "cli", "tests", "bench", "ladder", "examples")
           for folder, _, names in os.walk(os.path.join(root, part)) for name in names] + ["run.sh"]
passed, failed = 0, 0


def verdict(what, right):
    global passed, failed
    if right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}")


def anchors(text):
    """Of all headings, as GitHub makes them; the second of the same text gets -1."""
    found, times = set(), {}
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()).replace(" ", "-")
        found.add(words + (f"-{times[words]}" if words in times else ""))
        times[words] = times.get(words, 0) + 1
    return found


for page in pages:
    verdict(f"{page}: bench/tables.py makes other tables", tables.filled(os.path.join(root, page)) == text_of[page])
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of[page]):
        if not link.startswith("http"):
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            verdict(f"{page}: {link} leads nowhere",
                    os.path.exists(os.path.join(root, target)) and (not anchor or anchor in anchors(text_of[target])))
    for path in set(re.findall(r"(?<![\w./*-])((?:\w+/)*\w+\.(?:cuh|cu|c|h|py|sh|cpp|rs))\b", text_of[page])):
        verdict(f"{page}: {path} is not there", any(("/" + source).endswith("/" + path) for source in sources))
for source in sources:
    for page in re.findall(r"docs/[\w/-]+\.md", open(os.path.join(root, source), errors="replace").read()):
        verdict(f"{source}: {page} is not there", page in text_of)
for run in sorted(os.listdir(os.path.join(root, "docs", "results"))):
    verdict(f"docs/results/{run}: no page names it", any(run in text for text in text_of.values()))

print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
