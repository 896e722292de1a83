"""A report is opened in headless Chromium: it must draw itself, without an error, whatever the names are.

Usage: report_in_browser_test.py PARDNN. Exit code 77 (skipped) where no Chromium is installed.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">&'\\"


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if shutil.which(name):
            return name
    return None


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 2):
        raise AssertionError(f"{command}: exit {done.returncode}: {done.stderr}")
    return done


def dump(chromium, page, folder):
    """The page's document after it ran, and what it wrote to the console."""
    done = run(chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=10000",
               "--dump-dom", page.as_uri())
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def check(chromium, page, folder, texts):
    dom, console = dump(chromium, page, folder)
    assert not console, console
    drawn = re.search(r'<body data-drawn="(\d+)"', dom)
    assert drawn and int(drawn.group(1)) > 0, dom[:400]
    for text in texts:
        assert text in dom, text
    return dom


def main(pardnn):
    chromium = find_chromium()
    if chromium is None:
        print("skipped: no Chromium here")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(pardnn, "generate", "transformer", "--nodes", 3000, "-o", folder / "g.h5")
        run(pardnn, "partition", folder / "g.h5", "--devices", 4, "--memory", "64GiB", "--preset", "fast", "-o", folder / "p.h5")
        run(pardnn, "report", folder / "g.h5", folder / "p.h5", "-o", folder / "report.html")
        check(chromium, folder / "report.html", folder, ["this placement", "gpu3", "Modules that hold the most of it", "parameters and state"])

        nodes = [{"name": HOSTILE, "comp": 50, "mem": 10}, {"name": "b", "comp": 70, "mem": 5}]
        graph = {"format": "pardnn-graph", "version": 1, "name": HOSTILE, "nodes": nodes, "edges": [{"from": HOSTILE, "to": "b", "bytes": 10}]}
        (folder / "h.json").write_text(json.dumps(graph))
        machine = {"name": HOSTILE, "devices": [{"count": 2, "memory": 1000, "name": HOSTILE + "{i}"}], "links": {"same_host": {"latency": "1us", "bandwidth": "1GB/s"}}}
        (folder / "m.json").write_text(json.dumps(machine))
        run(pardnn, "partition", folder / "h.json", "--machine", folder / "m.json", "--preset", "fast", "-o", folder / "h.h5")
        run(pardnn, "report", folder / "h.json", folder / "h.h5", "-o", folder / "hostile.html")
        dom = check(chromium, folder / "hostile.html", folder, ["&lt;/script&gt;&lt;img src=x onerror="])
        assert "<img" not in dom and "<title>owned" not in dom
    print("reports draw themselves in " + chromium)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
