"""Generation in steps: what is recorded equals what is written out, callbacks change attention, and nothing is left behind."""
import gc
import math
import threading
import time
import unittest

import numpy as np

import buoy
from helpers import GOLDENS, PROMPT, softmax, visible


class Recording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")

    def test_leaves_the_tokens_as_they_are(self):
        run = self.model.run(PROMPT, gen_length=6, steps=3, record=["column_sums", "logits", "pattern", "residual"], layers=[0, 5])
        steps = list(run)
        plain = self.model.generate(PROMPT, gen_length=6, steps=3)
        np.testing.assert_array_equal(run.result.tokens, plain.tokens)
        np.testing.assert_array_equal(steps[-1].tokens, plain.tokens)
        self.assertEqual([step.number for step in steps], [0, 1, 2])
        committed = np.concatenate([step.committed for step in steps])
        self.assertEqual(sorted(committed), list(range(plain.prompt_length, plain.tokens.size)))

    def test_gives_statistics_that_follow_from_queries_and_keys(self):
        layers, record = [2, 7], ["column_sums", "rows", "row_means", "qk_means", "pattern", "states"]
        prompt = self.model.prompt_ids(PROMPT)
        masses = {"prompt": range(len(prompt)), "first": []}
        for step in self.model.run(PROMPT, gen_length=6, steps=2, record=record, layers=layers, masses=masses):
            self.assertEqual(step.layers, layers)
            q, k = step.query_states.astype(float), step.key_states.astype(float)
            H, T, D = q.shape[1:]
            k = np.repeat(k, H // k.shape[1], axis=1)
            weights = softmax(np.einsum("lhtd,lhnd->lhtn", q, k) / np.sqrt(D))
            read = step.read_positions - step.first_row
            close = dict(rtol=2e-4, atol=2e-5)
            np.testing.assert_allclose(step.pattern, weights, **close)
            np.testing.assert_allclose(step.column_sums, weights.sum(axis=2), **close)
            np.testing.assert_allclose(step.column_sums_read, weights[:, :, read].sum(axis=2), **close)
            rows = weights[:, :, read]
            np.testing.assert_allclose(step.row_max_weight, rows.max(axis=-1), **close)
            np.testing.assert_allclose(step.row_entropy, -(rows * np.log(rows)).sum(axis=-1), rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(step.row_means, rows.mean(axis=1), **close)
            np.testing.assert_allclose(step.masses[..., 0], rows[..., :len(prompt)].sum(axis=-1), **close)
            np.testing.assert_array_equal(step.masses[..., 1], 0)
            chosen = np.take_along_axis(rows, step.row_argmax[..., None], -1)[..., 0]
            np.testing.assert_allclose(chosen, rows.max(axis=-1), **close)
            np.testing.assert_allclose(step.score_means, np.einsum("lhtd,lhnd->lhtn", q, k).mean(axis=2), rtol=1e-3, atol=1e-2)

    def test_gives_the_logits_of_the_rows_that_are_read(self):
        for step in self.model.run(PROMPT, gen_length=4, steps=2, record="logits"):
            whole = self.model.forward(step.tokens_before)
            np.testing.assert_allclose(step.logits, whole[step.read_positions], rtol=1e-4, atol=1e-4)
            self.assertEqual(step.logits.shape, (len(step.read_positions), self.model.config["vocabulary"]))

    def test_gives_the_residual_stream_of_the_pass(self):
        step = next(self.model.run(PROMPT, gen_length=4, steps=1, record=["blocks.3.hook_resid_pre", "ln_final.hook_normalized"]))
        hidden = self.model.forward(step.tokens_before, hidden=True)["hidden"]
        np.testing.assert_allclose(step["blocks.3.hook_resid_pre"], hidden[3], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(step["ln_final.hook_normalized"], hidden[-1], rtol=1e-4, atol=1e-4)

    def test_knows_the_names_of_transformer_lens(self):
        names = self.model.hook_names()
        self.assertIn("blocks.5.attn.hook_pattern", names)
        step = next(self.model.run(PROMPT, gen_length=2, steps=1, heads=[1, 3],
                                   record=lambda name: name in ("blocks.5.attn.hook_pattern", "blocks.11.attn.hook_pattern")))
        self.assertEqual(step.keys(), ["blocks.5.attn.hook_pattern", "blocks.11.attn.hook_pattern"])
        whole = next(self.model.run(PROMPT, gen_length=2, steps=1, record="blocks.11.attn.hook_*")).pattern
        np.testing.assert_array_equal(step["blocks.11.attn.hook_pattern"], whole[0][[1, 3]])
        with self.assertRaisesRegex(KeyError, "was not recorded"):
            step["blocks.4.attn.hook_pattern"]
        with self.assertRaisesRegex(buoy.UsageError, "nothing is called 'blocks.99.attn.hook_pattern'"):
            self.model.run(PROMPT, record="blocks.99.attn.hook_pattern")

    def test_of_a_cached_model_gives_the_new_rows_alone(self):
        model = buoy.load("mini-arm")
        prompt = model.prompt_ids(PROMPT)
        steps = list(model.run(PROMPT, gen_length=3, ignore_eos=True, record=["column_sums", "pattern"], layers=[0]))
        self.assertEqual([step.pattern.shape[-2:] for step in steps],
                         [(len(prompt), len(prompt)), (1, len(prompt) + 1), (1, len(prompt) + 2)])
        self.assertEqual([step.first_row for step in steps], [0, len(prompt), len(prompt) + 1])
        whole = model.forward(steps[-1].tokens_before, attentions=True)["attentions"][0]
        np.testing.assert_allclose(steps[-1].pattern[0], whole[:, -1:], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(steps[0].pattern[0][:, ~visible(len(prompt), len(prompt), 1)], 0)

    def test_refuses_what_the_model_does_not_have(self):
        for options, line in (({"record": "column_sum"}, "nothing is called 'column_sum'"), ({"record": [3]}, "record holds 3"),
                              ({"record": "column_sums", "layers": [99]}, "layer 99 was asked for, the model has 12"),
                              ({"record": "pattern", "heads": [99]}, "head 99 was asked for"),
                              ({"record": "column_sums", "heads": [0]}, "heads has no effect"),
                              ({"record": "masses"}, "masses need groups"), ({"masses": {"a": [1], "b": [1]}}, "stands in two groups")):
            with self.subTest(options), self.assertRaisesRegex(buoy.UsageError, line):
                self.model.run(PROMPT, gen_length=2, **options)

    def test_refuses_settings_before_it_begins(self):
        for options, line in (({"steps": 0}, "steps is 0, expected at least 1"), ({"top_k": 3}, "top_k"), ({"step": 3}, "step is no setting"),
                              ({"cfg_scale": 1.0, "change": lambda *_: None}, "callbacks would see half"), ({"masses": {"far": [10**6]}}, "masses: holds 1000000")):
            with self.subTest(options), self.assertRaisesRegex(buoy.UsageError, line):
                self.model.run(PROMPT, gen_length=2, **options)
        self.assertEqual(len(list(self.model.run(PROMPT, gen_length=2, cfg_scale=1.0, record="logits"))), 2)

    def test_keeps_whole_matrices_under_the_limit(self):
        layers, heads = self.model.config["layers"], self.model.config["heads"]
        N = math.isqrt(2**28 // (layers * heads)) + 1  # the shortest sequence whose matrices are more than that together
        with self.assertRaisesRegex(buoy.UsageError, f"{layers} layers, {heads} heads × {N} × {N} exceed the limit of 268435456 numbers a step"):
            list(self.model.run(np.full(N - 8, 20, np.int32), gen_length=8, steps=1, record="pattern"))


class Callbacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")

    def test_hide_a_key_by_a_bias(self):
        seen = []

        def change(step, layer, tokens):
            seen.append((step, layer, len(tokens)))
            bias = np.zeros(len(tokens), np.float32)
            bias[0] = -np.inf
            return buoy.Change(key_bias=bias)

        for step in self.model.run(PROMPT, gen_length=4, steps=2, record="column_sums", change=change):
            np.testing.assert_array_equal(step.column_sums[:, :, 0], 0)
            self.assertTrue((step.column_sums[:, :, 1:] > 0).any())
        N = len(self.model.prompt_ids(PROMPT)) + 4
        self.assertEqual(seen, [(step, layer, N) for step in range(2) for layer in range(12)])

    def test_cut_heads_by_gains_of_0(self):
        def cut(step, layer, tokens):
            return buoy.Change(head_gain=np.zeros(self.model.config["heads"])) if layer == 0 else None

        record = ["blocks.0.hook_resid_pre", "blocks.1.hook_resid_pre", "logits"]
        step = next(self.model.run(PROMPT, gen_length=4, steps=1, record=record, change=cut))
        plain = next(self.model.run(PROMPT, gen_length=4, steps=1, record=record))
        np.testing.assert_array_equal(step["blocks.0.hook_resid_pre"], plain["blocks.0.hook_resid_pre"])
        self.assertGreater(np.abs(step.logits - plain.logits).max(), 1e-3)

    def test_run_a_layer_again_with_what_a_hook_returns(self):
        calls = []

        def hook(value, where):
            calls.append((where.step, where.layer, where.name))
            strongest = value[0].sum(axis=0).argmax()
            bias = np.zeros(value[0].shape[-1])
            bias[strongest] = -np.inf
            self.strongest = strongest
            return buoy.Change(key_bias=bias)

        step = next(self.model.run(PROMPT, gen_length=4, steps=1, record="column_sums", layers=[3], hooks={"blocks.3.attn.hook_column_sums": hook}))
        self.assertEqual(calls, [(0, 3, "blocks.3.attn.hook_column_sums")])
        np.testing.assert_array_equal(step.column_sums[0][:, self.strongest], 0)

    def test_pass_their_exceptions_on_and_leave_the_model_usable(self):
        class Mine(Exception):
            pass

        def fail(*_):
            raise Mine("here")

        for options in ({"change": fail}, {"hooks": {"column_sums": fail}}):
            with self.subTest(options), self.assertRaisesRegex(Mine, "here"):
                list(self.model.run(PROMPT, gen_length=4, record="column_sums", **options))
        self.assertEqual(len(self.model.generate(PROMPT, gen_length=4).ids), 4)

    def test_that_return_nonsense_are_told_so(self):
        for answer, kind, line in ((3, TypeError, "change returned int, expected None or buoy.Change"),
                                   (buoy.Change(key_bias=[1.0]), buoy.UsageError, "key_bias: got shape .1., expected"),
                                   (buoy.Change(head_gain=["a"]), buoy.UsageError, "head_gain: got <U1, expected numbers"),
                                   (buoy.Change(head_gain=[np.nan] * self.model.config["heads"]), buoy.UsageError, "head_gain: holds NaN")):
            with self.subTest(answer), self.assertRaisesRegex(kind, line):
                list(self.model.run(PROMPT, gen_length=2, change=lambda *_: answer))

    def test_cannot_use_the_model_that_calls_them(self):
        with self.assertRaisesRegex(buoy.Error, "a callback cannot use the model that calls it"):
            list(self.model.run(PROMPT, gen_length=2, change=lambda *_: self.model.forward([1, 2])))


class Leaving(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")

    def threads(self):
        return [thread for thread in threading.enumerate() if thread.name == "buoy run"]

    def test_a_loop_ends_the_generation(self):
        for step in self.model.run(PROMPT, gen_length=8):
            break
        del step
        gc.collect()
        self.assertEqual(self.threads(), [])

    def test_a_with_block_ends_it_too(self):
        with self.model.run(PROMPT, gen_length=8) as run:
            next(run)
            self.assertEqual(len(self.threads()), 1)
        self.assertEqual(self.threads(), [])
        self.assertIsNone(run.result)
        self.assertEqual(list(run), [])
        with self.assertRaisesRegex(buoy.Error, "closed before its end"):
            run.finish()

    def test_nothing_runs_before_the_first_step_is_asked_for(self):
        run = self.model.run(PROMPT, gen_length=8)
        self.assertEqual(self.threads(), [])
        run.close()

    def test_no_step_is_computed_before_it_is_asked_for(self):
        steps = []
        with self.model.run(PROMPT, gen_length=4, change=lambda step, layer, tokens: steps.append(step)) as run:
            next(run)
            time.sleep(0.2)
            self.assertEqual(set(steps), {0})
            next(run)
            self.assertEqual(set(steps), {0, 1})

    def test_the_model_is_free_between_steps(self):
        for step in self.model.run(PROMPT, gen_length=2, steps=2):
            self.assertEqual(self.model.forward(step.tokens).shape[0], len(step.tokens))

    def test_two_runs_of_one_model_take_turns(self):
        one, two = (self.model.run(PROMPT, gen_length=3) for _ in range(2))
        steps = [(a.tokens == b.tokens).all() for a, b in zip(one, two)]
        self.assertEqual(steps, [True, True, True])


class OtherFamilies(unittest.TestCase):
    def test_are_recorded_too(self):
        for name in ("llada", "dream", "a2d-qwen3", "sdar", "llama-gqa", "fast-dllm-v2", "llada2-moe", "ssd", "ssd-hybrid"):
            with self.subTest(name):
                model = buoy.load(str(GOLDENS / name))
                run = model.run([1, 2, 3, 4, 5], gen_length=8, record=["column_sums", "rows"])
                steps = list(run)
                np.testing.assert_array_equal(run.result.tokens, model.generate([1, 2, 3, 4, 5], gen_length=8).tokens)
                for step in steps:
                    rows = len(step.tokens_before) - step.first_row
                    np.testing.assert_allclose(step.column_sums.sum(axis=-1), rows, rtol=1e-4)
                    np.testing.assert_allclose(step.column_sums_read.sum(axis=-1), len(step.read_positions), rtol=1e-4)


if __name__ == "__main__":
    unittest.main()
