"""What is asked for by name: every hook is heard or refused, and every array says which layers it is of."""
import unittest

import numpy as np

import buoy
from helpers import PROMPT


class Hooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")
        cls.gain = buoy.Change(head_gain=np.zeros(cls.model.config["heads"]))

    def heard(self, names, **options):
        """(name, layer) of every call in one step."""
        heard = []
        hooks = {name: lambda value, hook: heard.append((hook.name, hook.layer)) for name in names}
        next(self.model.run(PROMPT, gen_length=1, hooks=hooks, **options))
        return heard

    def test_are_heard_in_the_layers_that_their_names_mean(self):
        self.assertEqual([layer for _, layer in self.heard(["column_sums"])], list(range(12)))
        self.assertEqual([layer for _, layer in self.heard(["column_sums"], layers=[3], record="blocks.7.attn.hook_rows")], [3])
        self.assertEqual([layer for _, layer in self.heard(["blocks.5.attn.hook_rows"], layers=[3], record="column_sums")], [5])
        self.assertEqual([layer for _, layer in self.heard(["blocks.?.attn.hook_pattern"])], list(range(10)))

    def test_named_by_a_pattern_hear_all_that_it_means(self):
        ends = [name.split(".")[-1] for name, _ in self.heard(["blocks.3.attn.*"])]
        self.assertEqual(ends, ["hook_column_sums", "hook_rows", "hook_row_means", "hook_norms", "hook_qk_means", "hook_pattern", "hook_rot_q", "hook_rot_k"])
        self.assertIn("hook_masses", [name.split(".")[-1] for name, _ in self.heard(["blocks.3.attn.*"], masses={"first": [0]})])
        self.assertEqual([name for name, _ in self.heard(["states"], layers=[2])], ["blocks.2.attn.hook_rot_q", "blocks.2.attn.hook_rot_k"])

    def test_are_refused_where_nobody_would_call_them(self):
        for name, line in (("logits", "hooks: 'logits' means 'hook_logits', which is no attention"), ("residual", "means 'hook_embed', which is no attention"),
                           ("hook_logits", "which is no attention"), ("blocks.3.*", "means 'blocks.3.hook_resid_pre', which is no attention"),
                           ("*", "means 'hook_embed', which is no attention"), ("blocks.99.*", "nothing is called 'blocks.99"), ("masses", "masses need groups"),
                           ("blocks.0.attn.hook_masses", "masses need groups"), ("*hook_masses", "nothing is called"), (3, "hooks holds 3, expected names")):
            with self.subTest(name), self.assertRaisesRegex(buoy.UsageError, line):
                self.model.run(PROMPT, hooks={name: lambda *_: None})

    def test_are_functions(self):
        for options, line in (({"hooks": {"column_sums": 3}}, "hooks..column_sums.. is 3, expected a function"), ({"change": 3}, "change is 3, expected a function"),
                              ({"hooks": ["column_sums"]}, "hooks is ..column_sums.., expected names and functions"), ({"record": 3}, "record is 3, expected names or"),
                              ({"record": None}, "record is None"), ({"masses": [1]}, "masses is .1., expected names and positions"),
                              ({"masses": {"a": 3}}, "masses: 'a' is 3, expected positions"), ({"masses": {"a": [1.5]}}, "a position of 'a' is 1.5, expected a whole")):
            with self.subTest(options), self.assertRaisesRegex(TypeError, line):
                self.model.run(PROMPT, **options)

    def test_of_one_layer_cannot_both_change_it(self):
        both = {"blocks.3.attn.hook_rows": lambda *_: self.gain, "blocks.3.attn.hook_column_sums": lambda *_: self.gain}
        with self.assertRaisesRegex(buoy.UsageError, "blocks.3.attn.hook_rows and blocks.3.attn.hook_column_sums both returned a Change"):
            list(self.model.run(PROMPT, gen_length=2, hooks=both))
        both["blocks.3.attn.hook_rows"] = lambda *_: None
        self.assertEqual(len(list(self.model.run(PROMPT, gen_length=2, hooks=both))), 2)

    def test_change_a_layer_in_place_of_what_change_said(self):
        record, change = ["logits"], lambda step, layer, tokens: self.gain if layer == 2 else None
        steps = {name: next(self.model.run(PROMPT, gen_length=2, record=record, **options)).logits for name, options in (
            ("plain", {}), ("changed", {"change": change}),
            ("undone", {"change": change, "hooks": {"blocks.2.attn.hook_rows": lambda *_: buoy.Change()}}))}
        np.testing.assert_array_equal(steps["undone"], steps["plain"])
        self.assertGreater(np.abs(steps["changed"] - steps["plain"]).max(), 1e-3)


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")

    def step(self, **options):
        return next(self.model.run(PROMPT, gen_length=1, **options))

    def test_say_what_the_first_axis_of_every_array_stands_for(self):
        step = self.step(record=["column_sums", "blocks.7.attn.hook_pattern", "blocks.9.attn.hook_pattern", "blocks.4.attn.hook_rot_k", "blocks.5.hook_resid_post",
                                 "hook_embed"], layers=[1, 2, 3])
        self.assertEqual((step.layers, step.pattern_layers, step.state_layers, step.depths), ([1, 2, 3], [7, 9], [4], [0, 6]))
        self.assertEqual([len(array) for array in (step.column_sums, step.pattern, step.key_states, step.residual)], [3, 2, 1, 2])
        none = self.step()
        self.assertEqual((none.layers, none.pattern_layers, none.state_layers, none.depths), ([], [], [], []))

    def test_give_what_was_recorded_under_each_of_its_names(self):
        step = self.step(record=["states", "residual"], layers=[4])
        np.testing.assert_array_equal(step["blocks.4.attn.hook_rot_k"], step.key_states[0])
        np.testing.assert_array_equal(step["blocks.4.attn.hook_rot_q"], step.query_states[0])
        np.testing.assert_array_equal(step["blocks.3.hook_resid_pre"], step["blocks.2.hook_resid_post"])
        for name in ("blocks.5.attn.hook_rot_k", "blocks.4.attn.hook_pattern", "blocks.4.attn.hook_z", "nothing"):
            with self.assertRaisesRegex(KeyError, "was not recorded; recorded: hook_embed"):
                step[name]

    def test_are_of_whole_layers_and_of_layers_that_matter(self):
        for options, line in (({"record": "column_sums", "layers": [2.7]}, "layers is .2.7., expected whole numbers"),
                              ({"record": "column_sums", "layers": [True]}, "layers is .True., expected whole numbers"),
                              ({"record": "column_sums", "layers": []}, "layers is empty"), ({"record": "pattern", "heads": ["1"]}, "heads is"),
                              ({"record": "blocks.5.attn.hook_pattern", "layers": [2]}, "layers has no effect"),
                              ({"record": "logits", "layers": [2]}, "layers has no effect"), ({"layers": [2]}, "layers has no effect")):
            with self.subTest(options), self.assertRaisesRegex(buoy.UsageError, line):
                self.step(**options)
        np.testing.assert_array_equal(self.step(record="pattern", layers=[5], heads=[3, 1]).pattern, self.step(record="pattern", layers=[5], heads=[1, 3]).pattern)


if __name__ == "__main__":
    unittest.main()
