"""scripts/quality_table.py on rows small enough to work out by hand."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import quality_table as qt  # noqa: E402

HEADER = ("graph,nodes,K,policy,links,memory,method,makespan_ns,lower_bound_ns,best_bound_ns,feasible,verdict,peak_bytes,usable_bytes,cpu_s,wall_s,"
          "origin\n")


def row(graph, method, makespan, memory="free", verdict="fits", best=100):
    return f"{graph},5,4,fifo,free,{memory},{method},{makespan},100,{best},{int(verdict == 'fits')},{verdict},1,2,0.5,0.5,x\n"


class QualityTable(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def runs(self, *rows):
        return qt.read_runs([self.file("runs.csv", HEADER + "".join(rows))])

    def test_means_by_family_and_worst_case(self):
        runs = self.runs(row("pt-a", "rr", 100), row("pt-b", "rr", 400), row("tf-a", "rr", 300, best=150))
        # sqrt(1 x 4) = 2; cube root of 1 x 4 x 3 = 2.289; over the best bounds 100, 100 and 150: cube root of 1 x 4 x 2 = 2
        self.assertEqual(qt.bounds_row(runs, list(runs), "rr", ["pt", "tf"]), ["rr", "2.000", "3.000", "2.289", "2.000", "4.000 pt-b K=4"])

    def test_presets_are_not_held_against_each_other(self):
        runs = self.runs(row("pt-a", "rr", 200), row("pt-a", "fast", 110), row("pt-a", "strong-8-seeds", 100))
        by_method = runs[qt.Case("pt-a", 4, "fifo", "free", "free")]
        self.assertEqual(qt.best_other(by_method, "fast"), 200)
        self.assertEqual(qt.best_other(by_method, "rr"), 100)

    def test_unsolved_counts_as_ten_and_impossible_not_at_all(self):
        runs = self.runs(row("pt-a", "rr", 200, "1.1xP1/K", "open"), row("pt-b", "rr", 200, "1.1xP1/K", "proven"))
        text = qt.setting_section(runs, "fifo", "free", "1.1xP1/K")
        self.assertIn("2 cases, 1 of them proven impossible", text)
        self.assertIn("| rr | 10.000 | 10.000 | 10.000 | 10.000 pt-a K=4 |", text)
        self.assertIn("| rr | - | - | 0/0 | 0/1 | 0.5 |", text)

    def test_a_proof_of_one_method_holds_for_all(self):
        runs = self.runs(row("pt-a", "rr", 200, "1xbound", "open"), row("pt-a", "fast", 200, "1xbound", "proven"))
        self.assertEqual({r.verdict for r in runs[qt.Case("pt-a", 4, "fifo", "free", "1xbound")].values()}, {"proven"})

    def test_a_fit_where_none_can_be_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "proven impossible, but fast fits"):
            self.runs(row("pt-a", "rr", 200, "1xbound", "proven"), row("pt-a", "fast", 200, "1xbound"))

    def test_columns_of_older_files(self):
        old = "graph,nodes,K,policy,links,memory,method,makespan_ns,lower_bound_ns,feasible,peak_bytes,cpu_s,origin\n"
        runs = qt.read_runs([self.file("old.csv", old + "pt-a,5,4,fifo,free,1.50,rr,200,100,0,1,0.5,rr; cannot fit\npt-a,5,4,fifo,free,0,rr,200,100,1,1,0.5,rr\n")])
        self.assertEqual(runs[qt.Case("pt-a", 4, "fifo", "free", "1.5xP1/K")]["rr"].verdict, "proven")
        self.assertEqual(runs[qt.Case("pt-a", 4, "fifo", "free", "free")]["rr"], qt.Run(200, 100, None, "fits", 0.5, 5))

    def test_share_of_the_distance_to_the_envelope(self):
        runs = self.runs(row("pt-a", "default", 110), row("pt-b", "default", 102), row("pt-c", "default", 101))
        case = qt.Case("pt-a", 4, "fifo", "free", "free")
        envelope = {case: (140, 100), case._replace(graph="pt-b"): (101, 100), case._replace(graph="pt-c"): (101, 100)}
        cells = qt.envelope_row([(c, runs[c]["default"], m) for c, (m, _) in envelope.items()], "default", "fifo", "free")
        self.assertEqual(cells[2:4], ["2/3", "66.7 %"])
        self.assertEqual(cells[5:9], ["1.0099 pt-b K=4", "1", "1.1000 / 1.4000", "75.0 %"])

    def test_memory_levels_are_ordered(self):
        levels = ["1.1xP1/K", "2xP1/K", "1.1xbound", "free", "1.3xbound"]
        self.assertEqual(sorted(levels, key=qt.memory_order), ["free", "2xP1/K", "1.1xP1/K", "1.3xbound", "1.1xbound"])

    def test_whole_run(self):
        file = self.file("runs.csv", HEADER + row("pt-a", "rr", 200) + row("pt-a", "default", 110))
        envelope = self.file("envelope.csv", "graph,K,policy,links,best_makespan_ns,lower_bound_ns\npt-a,4,fifo,free,109,100\n")
        done = subprocess.run([sys.executable, str(SCRIPTS / "quality_table.py"), file, "--envelope", envelope, "--commit", "c0ffee"],
                              capture_output=True, text=True, check=True)
        self.assertIn("commit c0ffee", done.stdout)
        self.assertIn("| default | pt-a K=4 | fifo, free | 1.0092 |", done.stdout)


if __name__ == "__main__":
    unittest.main()
