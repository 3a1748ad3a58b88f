"""Loading, passes, generation and text, against the goldens of other implementations and against the command line."""
import copy
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import buoy
from helpers import GOLDENS, PROMPT


class Loading(unittest.TestCase):
    def test_names_the_bundled_models(self):
        self.assertEqual(buoy.models(), ["mini-arm", "mini-hybrid", "mini-mdm", "mini-ssm"])

    def test_says_what_was_looked_for(self):
        with self.assertRaisesRegex(buoy.Error, "no bundled model of that name .mini-arm, mini-hybrid, mini-mdm, mini-ssm."):
            buoy.load("mini-mdn")

    def test_finds_a_hub_name_in_the_cache_and_calls_the_model_by_it(self):
        with tempfile.TemporaryDirectory() as home:
            folder = os.path.join(home, "hub", "models--ORG--Tiny", "snapshots")
            os.makedirs(folder)
            os.symlink(GOLDENS / "llada", os.path.join(folder, "1234"))
            program = "import buoy; m = buoy.load('ORG/Tiny'); print(m.name, m.directory)"
            said = subprocess.run([sys.executable, "-c", program], env={**os.environ, "HF_HOME": home, "HF_HUB_CACHE": ""},
                                  capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.split()[0], "Tiny")
        self.assertTrue(said.strip().endswith("1234"), said)

    def test_is_a_value_error_for_a_device_that_there_is_not(self):
        with self.assertRaises(ValueError) as caught:
            buoy.load("mini-mdm", device="gpu")
        self.assertIsInstance(caught.exception, buoy.Error)


class Passes(unittest.TestCase):
    def test_equal_the_goldens(self):
        for name in ("llada", "qwen3", "dream"):
            with self.subTest(name):
                golden = np.load(GOLDENS / name / "golden.npz")
                made = buoy.load(str(GOLDENS / name)).forward(golden["input_ids"].ravel(), attentions=True, hidden=True)
                for key in ("logits", "attentions", "hidden"):
                    if key in golden:
                        self.assertEqual(made[key].shape, golden[key].shape)
                        np.testing.assert_allclose(made[key], golden[key], atol=1e-4 * np.abs(golden[key]).max())

    def test_take_lists_arrays_of_any_integer_type_and_dlpack(self):
        model = buoy.load(str(GOLDENS / "llada"))
        ids = [1, 2, 3, 4]
        wanted = model.forward(ids)
        for given in (tuple(ids), np.array(ids, np.uint8), np.array([1, 0, 2, 0, 3, 0, 4, 0])[::2], _OnlyDlpack(np.array(ids))):
            np.testing.assert_array_equal(model.forward(given), wanted)

    def test_hand_over_their_logits_without_a_copy(self):
        logits = buoy.load(str(GOLDENS / "llada")).forward([1, 2, 3])
        self.assertFalse(logits.flags.owndata)
        np.testing.assert_array_equal(np.from_dlpack(logits), logits)


class _OnlyDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Generating(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")

    def test_gives_what_the_command_gives(self):
        for name, settings in (("mini-mdm", {"steps": 4}), ("mini-arm", {"temperature": 0.7, "seed": 3, "top_k": 5})):
            with self.subTest(name):
                flags = [f"--{key.replace('_', '-')}={value}" for key, value in settings.items()]
                said = json.loads(buoy.command("generate", model=name, prompt=PROMPT, gen_length=8, json=True, **settings))
                made = buoy.load(name).generate(PROMPT, gen_length=8, **settings)
                self.assertEqual(list(made.ids), said["ids"], flags)
                self.assertEqual(list(made.commit_step), said["commit_step"])
                np.testing.assert_array_equal(made.confidence, said["confidence"])
                self.assertEqual((made.text, made.steps), (said["text"], said["steps"]))

    def test_answers_a_batch_as_it_answers_each(self):
        prompts = [PROMPT, "Question: Where?\nShort Answer:"]
        batch = self.model.generate(prompts, gen_length=4, steps=2)
        for prompt, made in zip(prompts, batch):
            alone = self.model.generate(prompt, gen_length=4, steps=2)
            np.testing.assert_array_equal(made.tokens, alone.tokens)

    def test_takes_ids_as_they_are(self):
        ids = self.model.prompt_ids(PROMPT)
        np.testing.assert_array_equal(self.model.generate(ids, gen_length=4).tokens, self.model.generate(PROMPT, gen_length=4).tokens)

    def test_takes_a_sampler_as_a_dict_with_settings_on_top(self):
        made = self.model.generate(PROMPT, sampler={"gen_length": 4, "steps": 4}, steps=2)
        self.assertEqual((len(made.ids), made.steps), (4, 2))

    def test_refuses_settings_by_name(self):
        for settings, line in (({"step": 3}, "step is no setting of the samplers"), ({"steps": 0}, "steps is 0, expected at least 1"),
                               ({"steps": 2.5}, "steps is 2.5, expected a whole number"), ({"top_k": 3}, "top_k"),
                               ({"remasking": "low"}, "expected one of low_confidence, random"),
                               ({"logits_eos_inf": 1}, "logits_eos_inf is 1, expected True or False"),
                               ({"steps": True}, "steps is True, expected a whole number")):
            with self.subTest(settings), self.assertRaisesRegex(buoy.UsageError, line):
                self.model.generate(PROMPT, **settings)

    def test_takes_every_value_that_the_command_takes(self):
        made = self.model.generate(PROMPT, gen_length=8, block_length=4, cache="dual", cache_refresh=0)
        always = self.model.generate(PROMPT, gen_length=8, block_length=4, cache="dual", cache_refresh=1)
        np.testing.assert_array_equal(always.ids, self.model.generate(PROMPT, gen_length=8, block_length=4).ids)
        self.assertEqual(len(made.ids), 8)
        with self.assertRaisesRegex(buoy.UsageError, "cache_refresh is -1, expected at least 0"):
            self.model.generate(PROMPT, gen_length=8, cache="dual", cache_refresh=-1)

    def test_knows_every_setting_of_the_command(self):
        flags = {option["name"].lstrip("-").replace("-", "_") for option in buoy.verbs()["generate"]["options"]}
        for name in buoy._core.sampler_settings():
            self.assertIn(name, flags)
            with self.assertRaises(buoy.UsageError) as caught:
                self.model.generate(PROMPT, **{name: object()})
            self.assertNotIn("is no setting", str(caught.exception))


class Copies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")

    def test_of_what_was_made_are_equal(self):
        made = self.model.generate(PROMPT, gen_length=2)
        trace = self.model.trace(PROMPT, gen_length=2, steps=1)
        step = next(self.model.run(PROMPT, gen_length=2, record=["rows", "pattern"]))
        for copied in (lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy):
            np.testing.assert_array_equal(copied(made).tokens, made.tokens)
            again = copied(trace)
            self.assertEqual((again.header, again.texts, again.regions, sorted(again)), (trace.header, trace.texts, trace.regions, sorted(trace)))
            for name in trace:
                np.testing.assert_array_equal(again[name], trace[name], name)
            np.testing.assert_array_equal(copied(step)["blocks.3.attn.hook_pattern"], step.pattern[3])
            self.assertEqual((copied(step).layers, copied(trace.figure()).svg), (step.layers, trace.figure().svg))
            self.assertEqual(copied(trace.show()).html, trace.show().html)

    def test_of_a_model_are_the_model_and_cannot_be_stored(self):
        self.assertIs(copy.copy(self.model), self.model)
        self.assertIs(copy.deepcopy({"a": self.model})["a"], self.model)
        with self.assertRaisesRegex(TypeError, "a model cannot be stored; load '.*mini-mdm' where it is wanted"):
            pickle.dumps(self.model)

    def test_of_a_run_are_refused(self):
        with self.model.run(PROMPT, gen_length=2) as run:
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "a run cannot be copied or stored"):
                    copied(run)
            self.assertEqual(len(list(run)), 2)

    def test_of_ids_are_made_when_a_run_is(self):
        ids = np.array([5, 6, 7])
        run = self.model.run(ids, gen_length=2)
        ids[:] = 9
        self.assertEqual(list(next(run).tokens_before[:3]), [5, 6, 7])
        for given, line in ((iter([5]), "prompt: got list_iterator"), ([-1], "is no token id"), ([10**6], "outside the vocabulary"), ([], "prompt is empty"), (b"a", "prompt")):
            with self.assertRaisesRegex(buoy.UsageError, line):
                self.model.run(given, gen_length=2)


class Text(unittest.TestCase):
    def test_has_special_tokens_where_the_model_has_them(self):
        for name, mask in (("mini-mdm", 2), ("mini-arm", None)):
            model = buoy.load(name)
            tokenizer = model.tokenizer
            self.assertEqual((tokenizer.bos_id, tokenizer.eos_id, tokenizer.mask_id, tokenizer.pad_id), (0, 1, mask, 3))
            self.assertEqual((model.config["mask_id"], model.config["eos_ids"]), (mask, [1]))
            self.assertEqual(list(tokenizer.encode(tokenizer.decode([0, 1, 3]), add_special_tokens=False)), [0, 1, 3])
            self.assertEqual(tokenizer.decode([1, 50], skip_special_tokens=True), tokenizer.decode([50]))
            self.assertIn("eos_id", dir(tokenizer))
            self.assertEqual(buoy.load(model.directory, family=model.config["family_key"]).config, model.config)

    def test_of_ids_that_there_are_not_is_refused(self):
        tokenizer = buoy.load("mini-mdm").tokenizer
        for ids, line in (([-1], "-1 at 0 is no token id"), ([10**6], "outside the vocabulary of 2048"), ([2**40], "is no token id"), ([1.0], "got float64"), (5, "got shape"),
                          ([[1]], "expected one dimension"), (bytearray(b"a"), "got text")):
            with self.subTest(ids), self.assertRaisesRegex(buoy.Error, line):
                tokenizer.decode(ids)
        self.assertEqual(tokenizer.tokens([10**6]), ["\ufffd"])

    def test_goes_to_ids_and_back(self):
        tokenizer = buoy.load("mini-mdm").tokenizer
        ids = tokenizer.encode(PROMPT, add_special_tokens=False)
        self.assertEqual(ids.dtype, np.int32)
        self.assertEqual(tokenizer.decode(ids), PROMPT)
        self.assertEqual("".join(tokenizer.tokens(ids)), PROMPT)

    def test_is_missing_where_the_checkpoint_has_none(self):
        model = buoy.load(str(GOLDENS / "llada"))
        with self.assertRaisesRegex(buoy.Error, "has no tokenizer files"):
            model.tokenizer
        with self.assertRaisesRegex(buoy.Error, "has no tokenizer files"):
            model.generate("text")
        self.assertIsNone(model.generate([1, 2, 3], gen_length=2).text)

    def test_of_a_chat_needs_a_template(self):
        with self.assertRaisesRegex(buoy.Error, "has no chat template"):
            buoy.load(str(GOLDENS / "llada")).prompt_ids([{"role": "user", "content": "Hello"}])

    def test_of_a_chat_is_rendered_by_the_models_own_template(self):
        template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<me>{% endif %}"
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.abspath(buoy.load("mini-mdm").directory)
            for name in os.listdir(source):
                if name != "chat_template.jinja":
                    os.symlink(os.path.join(source, name), os.path.join(folder, name))
            with open(os.path.join(folder, "chat_template.jinja"), "w") as file:
                file.write(template)
            model = buoy.load(folder)
            messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]
            render = model.tokenizer.apply_chat_template
            self.assertEqual(render(messages), "<system>Be brief.<user>Who?<me>")
            self.assertEqual(render(messages, add_generation_prompt=False), "<system>Be brief.<user>Who?")
            wanted = model.tokenizer.encode("<user>Who?<me>", add_special_tokens=False)
            np.testing.assert_array_equal(model.prompt_ids(messages[1:]), wanted)
            np.testing.assert_array_equal(model.prompt_ids("Who?"), wanted)
            np.testing.assert_array_equal(model.prompt_ids("Who?", chat=False), model.tokenizer.encode("Who?"))
            np.testing.assert_array_equal(render(messages[1:], tokenize=True), wanted)


if __name__ == "__main__":
    unittest.main()
