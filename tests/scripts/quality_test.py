"""bench/quality: quality_test.py PROGRAM GRAPH."""
import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, GRAPH = sys.argv[1:3]
ARGUMENTS = ["--devices", "2", "--policies", "fifo", "--links", "free", "--presets", "fast", "--baselines", "rr", "--published", "--memory", "0,1",
             "--tight", "1,1.1"]


class Quality(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = pathlib.Path(self.folder.name) / "quality.csv"

    def quality(self, *more, arguments=ARGUMENTS):
        return subprocess.run([PROGRAM, GRAPH, *arguments, "--csv", str(self.file), *more], capture_output=True, text=True, check=False)

    def rows(self):
        """Without what differs from run to run."""
        with open(self.file, newline="", encoding="utf-8") as stream:
            return [{k: v for k, v in row.items() if k not in ("cpu_s", "wall_s")} for row in csv.DictReader(stream)]

    def test_a_row_for_each_memory_and_method(self):
        self.assertEqual(self.quality().returncode, 0)
        rows = self.rows()
        self.assertEqual([(r["memory"], r["method"]) for r in rows],
                         [(memory, method) for memory in ("free", "1xP1/K", "1xbound", "1.1xbound") for method in ("rr", "published", "fast")])
        for row in rows:
            with self.subTest(row=row):
                usable = int(row["usable_bytes"])
                fits = usable == 0 or int(row["peak_bytes"]) <= usable
                self.assertEqual(row["verdict"] == "fits", fits)
                self.assertEqual(row["feasible"], "1" if fits else "0")
                self.assertLessEqual(int(row["lower_bound_ns"]), int(row["best_bound_ns"]))
                self.assertLessEqual(int(row["best_bound_ns"]), int(row["makespan_ns"]))
                self.assertFalse(row["memory"].endswith("bound") and row["verdict"] == "proven")

    def test_below_the_bound_is_proven(self):
        self.assertEqual(self.quality(arguments=[*ARGUMENTS[:-4], "--tight", "0.999"]).returncode, 0)
        self.assertEqual({(r["memory"], r["verdict"]) for r in self.rows()}, {("0.999xbound", "proven")})

    def test_a_killed_run_goes_on(self):
        self.quality()
        whole, text = self.rows(), self.file.read_bytes()
        self.file.write_bytes(text[: len(text) * 2 // 3])
        self.assertEqual(self.quality("--append").returncode, 0)
        self.assertEqual(self.rows(), whole)
        self.assertEqual(self.file.read_bytes()[: len(text) // 2], text[: len(text) // 2])  # rows that were there were not run again
        text = self.file.read_bytes()
        self.assertEqual(self.quality("--append").returncode, 0)
        self.assertEqual(self.file.read_bytes(), text)

    def test_a_file_of_other_columns_is_refused_and_kept(self):
        self.file.write_text("graph,K\nx,2\n", encoding="utf-8")
        done = self.quality("--append")
        self.assertEqual(done.returncode, 3)
        self.assertIn("its columns are not those of this program", done.stderr)
        self.assertEqual(self.file.read_text(encoding="utf-8"), "graph,K\nx,2\n")

    def test_slow_baselines_are_skipped_aloud(self):
        done = self.quality("--largest-slow", "10", arguments=["--devices", "2", "--policies", "fifo", "--links", "free", "--no-presets", "--baselines", "lc,rr"])
        self.assertIn("lc skipped on", done.stderr)
        self.assertEqual([r["method"] for r in self.rows()], ["rr"])

    def test_unknown_baseline(self):
        done = self.quality(arguments=["--baselines", "none-such"])
        self.assertEqual(done.returncode, 3)
        self.assertIn("no baseline is called none-such", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
