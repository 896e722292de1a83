"""scripts/scaling_table.py on rows worked out by hand, and bench/scaling.py on a real run: scaling_test.py PARDNN."""
import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import scaling_table  # noqa: E402

PROGRAM = sys.argv.pop(1)


class ScalingTable(unittest.TestCase):
    def test_speedup_is_of_medians(self):
        rows = scaling_table.table([["threads", 1, 1, r, 4, s, 9] for r, s in ((1, 8), (2, 10), (3, 30))] + [["threads", 1, 2, 1, 4, 4, 9]])
        self.assertEqual([(r["seconds"], r["least"], r["greatest"]) for r in rows], [("10.000", "8.000", "30.000"), ("4.000", "4.000", "4.000")])
        self.assertEqual([(r["speedup"], r["efficiency"]) for r in rows], [("1.000", "1.000"), ("2.500", "1.250")])

    def test_twice_the_seeds_in_the_same_time_are_twice_as_fast(self):
        rows = scaling_table.table([["ranks", 1, 1, 1, 1, 10, 9], ["ranks", 2, 1, 1, 2, 10, 8]])
        self.assertEqual([r["speedup"] for r in rows], ["1.000", "2.000"])

    def test_makespans_that_differ_are_refused(self):
        with self.assertRaises(SystemExit):
            scaling_table.table([["threads", 1, 2, 1, 4, 10, 9], ["threads", 1, 2, 2, 4, 10, 8]])


class Scaling(unittest.TestCase):
    def run_on(self, folder, *arguments):
        command = [sys.executable, "-B", str(ROOT / "bench/scaling.py"), PROGRAM, "-o", f"{folder}/out", "--repeats", "2", "--ranks", "1", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(f"{folder}/out.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_sizes_then_threads_on_the_greatest(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = self.run_on(folder, "--nodes", "2000,500", "--arguments", "--devices 4")
            self.assertEqual([(r["kind"], r["threads"], r["run"]) for r in rows],
                             [("size", "1", "1"), ("size", "1", "2")] * 2 + [("threads", "2", "1"), ("threads", "2", "2")])
            greatest = rows[0]
            self.assertGreater(int(greatest["nodes"]), int(rows[2]["nodes"]))
            self.assertEqual({r["makespan_ns"] for r in rows if r["nodes"] == greatest["nodes"]}, {greatest["makespan_ns"]})
            for row in rows:
                self.assertGreater(float(row["cpu_s"]), 0)
                self.assertGreaterEqual(float(row["makespan_ratio"]), 1)
                self.assertGreater(int(row["peak_rss_bytes"]), 2**20)
            self.assertIn("</svg>", pathlib.Path(f"{folder}/out-speedup.svg").read_text(encoding="utf-8"))

    def test_graph_files(self):
        with tempfile.TemporaryDirectory() as folder:
            file = str(ROOT / "tests/data/pt-gpt2-small-12.h5")
            rows = self.run_on(folder, file, "--threads", "1")
            self.assertEqual([r["graph"] for r in rows], ["pt-gpt2-small-12"] * 2)

    def test_a_run_that_fails_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", str(ROOT / "bench/scaling.py"), PROGRAM, f"{folder}/none.h5", "-o", f"{folder}/out"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("exit code 3", done.stderr)
            self.assertFalse(pathlib.Path(f"{folder}/out.csv").exists())


unittest.main()
