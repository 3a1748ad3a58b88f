"""Traces, analyses, runs and figures: the same numbers as the command line's files."""
import pathlib
import tempfile
import unittest
import xml.dom.minidom

import numpy as np

import buoy
from buoy import tables
from helpers import PROMPT


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")
        cls.trace = cls.model.trace(PROMPT, gen_length=6, steps=3)
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_equal_those_of_the_command(self):
        made, = buoy.trace(self.path / "one.npz", prompt=PROMPT, gen_length=6, steps=3, quiet=True)
        self.assertEqual(made.header["model_hash"], self.trace.header["model_hash"])
        self.assertEqual(made.header["output"], self.trace.header["output"])
        self.assertEqual(sorted(made), sorted(self.trace))
        for name in made:
            np.testing.assert_array_equal(made[name], self.trace[name], name)

    def test_are_what_numpy_reads_from_their_file(self):
        self.trace.save(self.path / "saved.npz")
        file = np.load(self.path / "saved.npz")
        compared = 0
        for name in self.trace:
            if name in file:
                np.testing.assert_array_equal(file[name], self.trace[name], name)
                compared += 1
        self.assertGreater(compared, 15)
        self.assertEqual(list(file["token_texts"]), [text for text in self.trace.texts])

    def test_are_views_that_cannot_be_written_through_and_outlive_the_trace(self):
        received = self.model.trace(PROMPT, gen_length=2, steps=1)["received"]
        with self.assertRaises(ValueError):
            received[0, 0, 0] = 1
        np.testing.assert_allclose(received.sum(axis=-1), 1, rtol=1e-3)

    def test_have_nulls_with_nothing_in_them(self):
        uniform = self.trace.null("uniform")
        N = self.trace["tokens"].size
        np.testing.assert_allclose(uniform["received"], 1 / N, rtol=1e-5)
        self.assertGreater(self.trace["received"].max(), 2 / N)
        frozen = self.trace.null("frozen")
        np.testing.assert_array_equal(frozen["received"][-1], self.trace["received"][0])
        with self.assertRaisesRegex(buoy.UsageError, "expected uniform, frozen or recency"):
            self.trace.null("shuffled")

    def test_are_analysed_as_the_command_analyses_them(self):
        result = buoy.analyze(self.trace, self.path / "analysis", quiet=True, format="svg", figures=["drift"])
        samples = result.table("samples")
        mine = self.trace.analyze()
        theirs = {}
        for i in range(len(samples["value"])):
            layer, head = (samples[name][i] for name in ("layer", "head"))
            name = (str(samples["quantity"][i]), _number(layer), _number(head), _text(samples["part"][i]))
            theirs[name] = float(samples["value"][i]) / float(samples["weight"][i])
        compared = 0
        for i in range(len(mine["value"])):
            name = (str(mine["quantity"][i]), int(mine["layer"][i]), int(mine["head"][i]), str(mine["part"][i]))
            if name in theirs:
                self.assertAlmostEqual(float(mine["value"][i]), theirs[name], places=5, msg=name)
                compared += 1
        self.assertGreater(compared, 200)
        self.assertIn("drift_mean_mini-mdm", result.figures)
        self.assertTrue(result.page.exists())

    def test_draw_themselves(self):
        figure = self.trace.show("drift")
        self.assertEqual(figure.svg, self.trace.figure().svg)
        xml.dom.minidom.parseString(figure._repr_svg_())
        self.assertIn("<svg", self.trace._repr_html_())
        figure.save(self.path / "drift.png")
        self.assertEqual((self.path / "drift.png").read_bytes()[:4], b"\x89PNG")
        figure.save(self.path / "drift.csv")
        self.assertGreater(len((self.path / "drift.csv").read_text().splitlines()), 10)
        with self.assertRaisesRegex(buoy.UsageError, "expected svg, png or pdf"):
            figure.save(self.path / "drift.gif")

    def test_show_the_whole_run_in_a_page_of_their_own(self):
        page = self.trace.explore(height=500)
        shown = page._repr_html_()
        self.assertTrue(shown.startswith('<iframe sandbox="allow-scripts allow-downloads"'))
        self.assertIn('height="500"', shown)
        self.assertNotIn("<script", shown, "everything is inside the frame")
        page.save(self.path / "run.html")
        self.assertEqual((self.path / "run.html").read_text(encoding="utf-8"), page.html)
        self.assertIn("window.BUOY_DATA=", page.html)
        self.assertEqual(self.trace.show().html, page.html)

    def test_draw_every_analysis_that_they_have_numbers_of(self):
        drawn = {name: self.trace.figures(name) for name in buoy.analyses()}
        for name in ("drift", "absorption", "concentration", "qk", "dormant", "classes"):
            self.assertTrue(drawn[name], name)
            self.assertTrue(drawn[name][0].caption)
        self.assertEqual(drawn["flow"], [], "matrices of flow are drawn by where the gold passage stands; here is none")

    def test_record_what_was_asked_for(self):
        trace = self.model.trace(PROMPT, gen_length=4, steps=2, record=["received"], layers="0,3-4", per_head=True)
        self.assertEqual(list(trace["layers"]), [0, 3, 4])
        self.assertEqual(trace["received_heads"].shape[:3], (2, 3, self.model.config["heads"]))
        self.assertNotIn("flow", trace)
        with self.assertRaisesRegex(buoy.UsageError, "record holds \"heat\""):
            self.model.trace(PROMPT, record=["heat"])

    def test_that_are_broken_are_refused_by_name(self):
        (self.path / "broken.npz").write_bytes(b"PK\x03\x04 nothing")
        with self.assertRaisesRegex(buoy.Error, "broken.npz"):
            buoy.read_trace(self.path / "broken.npz")
        with self.assertRaisesRegex(buoy.Error, "holds no traces"):
            buoy.read_traces(tempfile.gettempdir() + "/nowhere")


def _number(value):
    try:
        return -1 if np.isnan(float(value)) else int(float(value))
    except ValueError:
        return -1


def _text(value):
    return "" if isinstance(value, float) else str(value)


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def test_of_questions_become_tables_and_go_on(self):
        options = dict(model="mini-mdm", gen_length=8, steps=2, quiet=True)
        first = buoy.eval(self.path / "eval", limit=1, **options)
        scores = first.table("scores")
        self.assertEqual(set(scores["model"]), {"mini-mdm"})
        more = buoy.evaluate(self.path / "eval", limit=2, **options)
        self.assertEqual(max(more.table("scores")["n"]), 2)
        self.assertIn("scores", more.figures)
        merged = buoy.table(more)
        self.assertEqual(set(merged["model"]), {"mini-mdm"})
        with self.assertRaisesRegex(buoy.Error, "seed"):
            buoy.eval(self.path / "eval", limit=1, seed=5, temperature=0.5, **options)

    def test_stress_and_intervene(self):
        options = dict(model="mini-mdm", limit=1, gen_length=4, steps=1, quiet=True)
        stressed = buoy.stress(self.path / "stress", ["gold-position=1"], **{**options, "limit": 2})
        self.assertTrue(stressed.tables)
        changed = buoy.intervene(self.path / "intervene", "mask-bos", no_trace=True, **options)
        self.assertTrue(changed.tables)

    def test_study_with_verdicts(self):
        with self.assertWarnsRegex(UserWarning, "no stress tests"):  # one question has no passages of others
            made = buoy.study(self.path / "study", model=[buoy.load("mini-mdm")], limit=1, gen_length=2, steps=1, twins=0, format="svg",
                              figures="drift", quiet=True)
        self.assertIn("summaries", made.tables)
        claims = made.table("claims")
        self.assertEqual(set(claims["model"]), {"mini-mdm"})
        self.assertTrue(all(isinstance(verdict, str) and verdict for verdict in claims["verdict"]))

    def test_of_streams_and_of_caches(self):
        buoy.command("world", events=60, subjects=6, seed=3, output=self.path / "events.jsonl")
        replayed = buoy.replay(self.path / "replay", self.path / "events.jsonl", model="mini-arm", limit=4, gen_length=4, quiet=True)
        numbers = replayed.table("replay")
        self.assertEqual(set(numbers["model"]), {"mini-arm"})
        self.assertEqual(next(n for n, scope, quantity in zip(numbers["n"], numbers["scope"], numbers["quantity"]) if (scope, quantity) == ("all", "em")), 4)
        self.assertIn("timeline", replayed.figures)
        audited = buoy.audit(self.path / "audit", cache="dual", model="mini-mdm", limit=1, passages=1, gen_length=8, block_length=4, quiet=True)
        self.assertIn("dual", set(audited.table("audit")["cache"]))
        with self.assertRaisesRegex(buoy.UsageError, "expected one of none, prefix, dual, delayed"):
            buoy.audit(self.path / "no", cache="both", quiet=True)

    def test_refuse_what_the_command_refuses(self):
        with self.assertRaisesRegex(buoy.UsageError, "eval has no option limits, expected some of"):
            buoy.eval(self.path / "no", limits=3)
        with self.assertRaisesRegex(buoy.UsageError, "top"):
            buoy.eval(self.path / "no", top=3, quiet=True)
        with self.assertRaisesRegex(buoy.Error, "no such model directory"):
            buoy.eval(self.path / "no", model="nobody", quiet=True)
        with self.assertRaisesRegex(buoy.UsageError, "there is no verb 'evil'"):
            buoy.command("evil")

    def test_world_makes_items(self):
        items = buoy.world(seed=3, items=2)
        self.assertEqual(len(items), 2)
        self.assertIn("question", items[0])


class Tables(unittest.TestCase):
    def test_read_numbers_as_numbers_and_gaps_as_nan(self):
        read = tables.read_csv('name,n,value\n"a, b",1,0.5\nc,2,\n')
        self.assertEqual(list(read["name"]), ["a, b", "c"])
        self.assertEqual(list(read["n"]), [1, 2])
        self.assertTrue(np.isnan(read["value"][1]))
        read = tables.read_csv("id,long,code,none,score\n007,99999999999999999999,1_0,,1e3\n012,5,2,,\n")
        self.assertEqual([list(read[name]) for name in ("id", "long", "code", "none")], [["007", "012"], ["99999999999999999999", "5"], ["1_0", "2"], ["", ""]])
        self.assertEqual((read["score"][0], np.isnan(read["score"][1])), (1000, True))


if __name__ == "__main__":
    unittest.main()
