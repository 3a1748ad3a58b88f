"""Models of transformers, watched: sdpa's outputs and eager's statistics, per layer. Skipped where there is no transformers."""
import copy
import importlib.util
import pickle
import threading
import unittest

import numpy as np

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
    raise unittest.SkipTest("there is no transformers")
import torch
import transformers

import buoy
import buoy.torch

SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, vocab_size=101)


def make(kind, implementation, **more):
    torch.manual_seed(0)
    sizes = {**SIZES, **more}
    if kind == "llama":
        config = transformers.LlamaConfig(**sizes, num_key_value_heads=2, attn_implementation=implementation)
        return transformers.LlamaForCausalLM(config).eval()
    if kind == "qwen3":
        config = transformers.Qwen3Config(**sizes, num_key_value_heads=2, head_dim=32, attn_implementation=implementation)
        return transformers.Qwen3ForCausalLM(config).eval()
    config = transformers.BertConfig(**sizes, attn_implementation=implementation)
    return transformers.BertForMaskedLM(config).eval()


KINDS = ("llama", "qwen3", "bert")


@unittest.skipUnless(hasattr(transformers, "AttentionInterface"), "this transformers has no AttentionInterface")
class Watching(unittest.TestCase):
    def setUp(self):
        self.enterContext(torch.no_grad())
        self.ids = 1 + torch.arange(2 * 23).reshape(2, 23) % 100  # 0 is padding to generate()

    def test_gives_the_outputs_of_sdpa_and_the_statistics_of_eager(self):
        for kind in KINDS:
            for padded in (False, True):
                with self.subTest(kind, padded=padded):
                    mask = torch.ones_like(self.ids)
                    if padded:
                        mask[1, :5] = 0
                    model = make(kind, "sdpa")
                    wanted = model(self.ids, attention_mask=mask).logits
                    with buoy.torch.watch(model, ["column_sums", "rows"]) as watched:
                        found = model(self.ids, attention_mask=mask).logits
                    real = mask.bool()
                    torch.testing.assert_close(found[real], wanted[real], rtol=1e-4, atol=1e-4)
                    weights = make(kind, "eager")(self.ids, attention_mask=mask, output_attentions=True).attentions
                    self.assertEqual([call.layer for call in watched.calls], [0, 1, 2])
                    self.assertEqual(watched.calls[0].mask, "full" if kind == "bert" else "causal")
                    for call, layer in zip(watched.calls, weights):
                        if not padded:  # rows of padding differ by convention and are read by nobody
                            np.testing.assert_allclose(call.stats["column_sums"], layer.sum(dim=2).numpy(), rtol=1e-3, atol=1e-4)
                        rows = np.broadcast_to(real[:, None].numpy(), call.stats["row_max_weight"].shape)
                        np.testing.assert_allclose(call.stats["row_max_weight"][rows], layer.max(dim=-1).values.numpy()[rows], rtol=1e-3, atol=1e-4)

    def test_follows_a_generation_with_its_cache(self):
        model = make("llama", "sdpa")
        options = dict(max_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=None)
        wanted = model.generate(self.ids[:1], **options)
        with buoy.torch.watch(model, ["column_sums"], layers=[1]) as watched:
            found = model.generate(self.ids[:1], **options)
        self.assertTrue(torch.equal(found, wanted))
        self.assertEqual([(call.layer, call.call, call.queries, call.keys) for call in watched.calls],
                         [(1, 0, 23, 23), (1, 1, 1, 24), (1, 2, 1, 25), (1, 3, 1, 26)])
        for call in watched.calls:
            np.testing.assert_allclose(call.stats["column_sums"].sum(axis=-1), call.queries, rtol=1e-4)

    def test_gives_the_model_its_own_attention_back(self):
        model = make("qwen3", "eager")
        with self.assertRaises(KeyError):
            with buoy.torch.watch(model):
                self.assertEqual(model.config._attn_implementation, "buoy")
                for part in (model, model.model):
                    with self.assertRaisesRegex(buoy.UsageError, "watched already"):
                        buoy.torch.watch(part).__enter__()
                raise KeyError("mine")
        self.assertEqual(model.config._attn_implementation, "eager")
        self.assertIsNotNone(model(self.ids, output_attentions=True).attentions[0])
        self.assertFalse(any("_buoy_place" in module.__dict__ for module in model.modules()))

    def test_gives_every_part_its_own_attention_back(self):
        text = dict(SIZES, num_key_value_heads=2)
        vision = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
        config = transformers.LlavaConfig(vision_config=transformers.CLIPVisionConfig(**vision), text_config=transformers.LlamaConfig(**text), image_token_index=100)
        model = transformers.LlavaForConditionalGeneration(config).eval()
        model.set_attn_implementation({"": "sdpa", "vision_config": "eager", "text_config": "sdpa"})
        kinds = lambda: (model.config._attn_implementation, model.config.vision_config._attn_implementation, model.config.text_config._attn_implementation)
        before = kinds()
        self.assertIn("eager", before)
        with buoy.torch.watch(model) as watched:
            model(input_ids=self.ids % 99)
        self.assertEqual(kinds(), before)
        self.assertEqual([call.layer for call in watched.calls], [0, 1, 2])
        self.assertTrue(all(call.name.endswith(f"language_model.layers.{call.layer}.self_attn") for call in watched.calls), watched.calls[0].name)

    def test_follows_caches_of_fixed_size_beams_and_padded_prompts(self):
        options = dict(max_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=None)
        padded = self.ids.clone()
        padded[1, :5] = 0
        for name, ids, more in (("padded", padded, {}), ("beams", self.ids, {"num_beams": 3}), ("static", self.ids, {"cache_implementation": "static"}),
                                ("static, padded", padded, {"cache_implementation": "static"})):
            with self.subTest(name):
                model, mask = make("llama", "sdpa"), (ids != 0).long()
                wanted = model.generate(ids, attention_mask=mask, **options, **more)
                with buoy.torch.watch(model) as watched:
                    found = model.generate(ids, attention_mask=mask, **options, **more)
                self.assertTrue(torch.equal(found, wanted))
                self.assertEqual([(call.queries, call.keys) for call in watched.layer(0)], [(23, 23), (1, 24), (1, 25), (1, 26)])
                first = watched.calls[0].stats["column_sums"].sum(axis=-1)  # rows of padding see nothing, and nobody sees them
                rows = mask.sum(dim=1).repeat_interleave(first.shape[0] // 2).numpy()
                np.testing.assert_allclose(first, np.broadcast_to(rows[:, None], first.shape), rtol=1e-4)

    def test_counts_rows_of_padding_as_nothing_where_one_word_is_left(self):
        model, mask = make("llama", "sdpa"), torch.zeros(1, 23, dtype=torch.long)
        mask[0, -1] = 1
        for given in (mask, (torch.ones(23, 23, dtype=torch.bool).tril() & mask.bool())[None, None]):
            with buoy.torch.watch(model) as watched:
                model(self.ids[:1], attention_mask=given)
            np.testing.assert_allclose(watched.calls[0].stats["column_sums"][0, :, -1], 1, rtol=1e-5)

    def test_needs_no_memory_of_n_times_n_for_padding(self):
        made = []
        ids = torch.ones(1, 4096, dtype=torch.long)
        mask = torch.ones_like(ids)
        mask[0, :9] = 0
        for kind in ("llama", "bert"):
            model = make(kind, "sdpa", max_position_embeddings=4096)
            hooks = [module.register_forward_pre_hook(lambda module, given, named: made.append(named.get("attention_mask")), with_kwargs=True)
                     for module in model.modules() if hasattr(module, "layer_idx")]
            with buoy.torch.watch(model):
                model(ids, attention_mask=mask)
            self.assertTrue(hooks)
        masks = [one for one in made if one is not None]
        self.assertTrue(masks)
        self.assertLessEqual(max(one.untyped_storage().nbytes() for one in masks), 4096)

    def test_runs_in_inference_mode_compiled_and_in_threads(self):
        model, mask = make("llama", "sdpa"), torch.ones_like(self.ids)
        mask[1, :5] = 0
        wanted = model(self.ids, attention_mask=mask).logits
        close = lambda found: torch.testing.assert_close(found[mask.bool()], wanted[mask.bool()], rtol=1e-4, atol=1e-4)
        with torch.inference_mode(), buoy.torch.watch(model):
            close(model(self.ids, attention_mask=mask).logits)
        compiled = torch.compile(model, backend="eager")
        close(compiled(self.ids, attention_mask=mask).logits)
        with buoy.torch.watch(model) as watched:
            close(compiled(self.ids, attention_mask=mask).logits)
        self.assertEqual([call.layer for call in watched.calls], [0, 1, 2])
        close(compiled(self.ids, attention_mask=mask).logits)
        self.assertEqual(len(watched.calls), 3)
        found = []
        with buoy.torch.watch(model) as watched:
            def work():
                with torch.no_grad():
                    found.append(model(self.ids, attention_mask=mask).logits)
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for logits in found:
            close(logits)
        self.assertEqual((len(found), len(watched.calls)), (3, 9))

    def test_of_a_copy_made_meanwhile_records_nothing(self):
        model = make("llama", "sdpa")
        with buoy.torch.watch(model) as watched:
            copied = copy.deepcopy(model)
            copied(self.ids)
            self.assertEqual(watched.calls, [])
            model(self.ids)
        with buoy.torch.watch(copied) as other:
            copied(self.ids)
        self.assertEqual((len(watched.calls), len(other.calls)), (3, 3))

    def test_leaves_a_copy_its_own_attention(self):
        model = make("llama", "eager")
        with buoy.torch.watch(model):
            copies = {"deep": copy.deepcopy(model), "stored": pickle.loads(pickle.dumps(model)), "config": transformers.LlamaForCausalLM(copy.deepcopy(model.config)),
                      "made of its config": transformers.AutoModelForCausalLM.from_config(model.config)}
            self.assertEqual(model.config._attn_implementation, "buoy")
        for name, copied in copies.items():
            with self.subTest(name):
                self.assertEqual((type(copied.config._attn_implementation), copied.config._attn_implementation), (str, "eager"))
                self.assertIsNotNone(copied.eval()(self.ids, output_attentions=True).attentions[0])

    def test_of_two_models_with_one_config_ends_with_the_last(self):
        for first_ends_first in (True, False):
            one = make("llama", "eager")
            two = transformers.LlamaForCausalLM(one.config).eval()
            watched = [buoy.torch.watch(model).__enter__() for model in (one, two)]
            one(self.ids), two(self.ids)
            first, last = watched if first_ends_first else watched[::-1]
            first.close()
            first.close()
            (two if first_ends_first else one)(self.ids)
            self.assertEqual((len(first.calls), len(last.calls)), (3, 6))
            last.close()
            self.assertEqual((type(one.config._attn_implementation), one.config._attn_implementation), (str, "eager"))
            self.assertIsNotNone(two(self.ids, output_attentions=True).attentions[0])

    def test_takes_layers_and_functions_that_make_sense(self):
        model = make("llama", "sdpa")
        for options, kind, line in (({"layers": [1.5]}, ValueError, "layers is .1.5., expected whole numbers"), ({"layers": 3}, ValueError, "layers is 3"),
                                    ({"layers": []}, ValueError, "layers is empty"), ({"on_call": 3}, TypeError, "on_call is 3, expected a function"),
                                    ({"masses": {"a": [1.5]}}, TypeError, "a position of 'a' is 1.5"), ({"stats": 3}, TypeError, "stats is 3")):
            with self.subTest(options), self.assertRaisesRegex(kind, line):
                buoy.torch.watch(model, **options)

    def test_refuses_to_become_a_constant_of_a_trace(self):
        model = make("llama", "sdpa")
        for name, trace in (("trace", lambda: torch.jit.trace(model, self.ids, strict=False)), ("export", lambda: torch.export.export(model, (self.ids,), strict=False))):
            with self.subTest(name), self.assertRaisesRegex(buoy.UsageError, "LlamaAttention: query: is being traced|LlamaAttention: query: is a FakeTensor"):
                with buoy.torch.watch(model):
                    trace()

    def test_measures_groups_whose_keys_come_later(self):
        model = make("llama", "sdpa")
        with buoy.torch.watch(model, ["rows"], masses={"prompt": range(23), "answer": range(23, 99)}, layers=[0]) as watched:
            model.generate(self.ids[:1], max_new_tokens=3, do_sample=False, pad_token_id=0, eos_token_id=None)
        masses = [call.stats["masses"] for call in watched.calls]
        np.testing.assert_allclose(masses[0][..., 1], 0)
        for one in masses:
            np.testing.assert_allclose(one.sum(axis=-1), 1, rtol=1e-4)
        self.assertTrue((masses[-1][..., 1] > 0).all())

    def test_measures_groups_of_keys(self):
        model = make("llama", "sdpa")
        with buoy.torch.watch(model, ["rows"], masses={"first": [0], "others": range(1, 23)}) as watched:
            model(self.ids)
        np.testing.assert_allclose(watched.calls[0].stats["masses"].sum(axis=-1), 1, rtol=1e-4)

    def test_hands_calls_to_whoever_keeps_sums(self):
        model, sums = make("llama", "sdpa"), np.zeros(23)
        with buoy.torch.watch(model, on_call=lambda call: np.add(sums, call.stats["column_sums"].sum(axis=(0, 1)), out=sums)) as watched:
            model(self.ids)
        self.assertEqual(watched.calls, [])
        self.assertAlmostEqual(sums.sum(), 3 * 2 * 4 * 23, delta=1e-2)

    def test_refuses_what_it_does_not_have(self):
        config = transformers.MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=4)
        model = transformers.MistralForCausalLM(config).eval()
        with self.assertRaisesRegex(buoy.UsageError, "window of 4 positions|neither full nor causal"):
            with buoy.torch.watch(model):
                model(self.ids)
        model = make("llama", "sdpa").train()
        model.config.attention_dropout = 0.5
        for layer in model.model.layers:
            layer.self_attn.attention_dropout = 0.5
        with self.assertRaisesRegex(buoy.UsageError, "dropout is above 0"):
            with buoy.torch.watch(model):
                model(self.ids)

    def test_refuses_models_whose_attention_it_would_not_see(self):
        for model, line in ((torch.nn.Linear(2, 2), "model: got Linear, expected a model of transformers"), (3, "model: got int"),
                            (transformers.BloomForCausalLM(transformers.BloomConfig(hidden_size=64, n_layer=1, n_head=4, vocab_size=101)).eval(),
                             "BloomForCausalLM computes its attention by itself|not supported|does not support")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line):
                buoy.torch.watch(model).__enter__()
        model = make("llama", "sdpa")
        with self.assertRaisesRegex(buoy.UsageError, "layers: 3 was asked for, LlamaForCausalLM has 0 to 2"):
            buoy.torch.watch(model, layers=[1, 3]).__enter__()
        with self.assertWarnsRegex(UserWarning, "nothing was recorded"):
            with buoy.torch.watch(model):
                pass
        self.assertEqual(model.config._attn_implementation, "sdpa")

    def test_refuses_masks_that_it_does_not_have(self):
        model, ones = make("llama", "sdpa"), torch.ones(2, 1, 23, 23, dtype=torch.bool)
        for given, line in ((ones.tril().triu(-5), "neither full nor causal"), (ones.expand(2, 4, 23, 23).tril(), "differs from head to head"),
                            (torch.where(ones.tril(), 0.5, torch.finfo(torch.float32).min), "a bias of its own")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line), buoy.torch.watch(model):
                model(self.ids, attention_mask=given)
        for given, name in ((ones.tril(), "causal"), (ones, "full"), (torch.where(ones.tril(), 0.0, torch.finfo(torch.float32).min), "causal")):
            wanted = model(self.ids, attention_mask=given).logits
            with buoy.torch.watch(model) as watched:
                torch.testing.assert_close(model(self.ids, attention_mask=given).logits, wanted, rtol=1e-4, atol=1e-4)
            self.assertEqual({call.mask for call in watched.calls}, {name})

    def test_reads_a_mask_again_that_was_changed(self):
        model, mask = make("llama", "sdpa"), torch.ones(1, 1, 23, 23, dtype=torch.bool).tril()
        with buoy.torch.watch(model, layers=[0]) as watched:
            model(self.ids[:1], attention_mask=mask)
            mask[..., 0] = False
            mask[..., 0, 0] = True
            with self.assertRaisesRegex(buoy.UsageError, "neither full nor causal"):
                model(self.ids[:1], attention_mask=mask)
        self.assertEqual(len(watched.calls), 1)

    def test_refuses_to_lose_a_gradient(self):
        model = make("llama", "sdpa")
        with torch.enable_grad(), self.assertRaisesRegex(buoy.UsageError, "wants a gradient"):
            with buoy.torch.watch(model):
                model(self.ids)


if __name__ == "__main__":
    unittest.main()
