"""Models of transformers, watched: sdpa's outputs and eager's statistics, per layer. Skipped where there is no transformers."""
import importlib.util
import unittest

import numpy as np

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
    raise unittest.SkipTest("there is no transformers")
import torch
import transformers

import buoy
import buoy.torch

SIZES = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, vocab_size=101)


def make(kind, implementation):
    torch.manual_seed(0)
    if kind == "llama":
        config = transformers.LlamaConfig(**SIZES, num_key_value_heads=2, attn_implementation=implementation)
        return transformers.LlamaForCausalLM(config).eval()
    if kind == "qwen3":
        config = transformers.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=32, attn_implementation=implementation)
        return transformers.Qwen3ForCausalLM(config).eval()
    config = transformers.BertConfig(**SIZES, attn_implementation=implementation)
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
                with self.assertRaisesRegex(buoy.UsageError, "watched already"):
                    buoy.torch.watch(model).__enter__()
                raise KeyError("mine")
        self.assertEqual(model.config._attn_implementation, "eager")
        self.assertIsNotNone(model(self.ids, output_attentions=True).attentions[0])
        self.assertFalse(any("_buoy_model" in module.__dict__ for module in model.modules()))

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

    def test_refuses_to_lose_a_gradient(self):
        model = make("llama", "sdpa")
        with torch.enable_grad(), self.assertRaisesRegex(buoy.UsageError, "wants a gradient"):
            with buoy.torch.watch(model):
                model(self.ids)


if __name__ == "__main__":
    unittest.main()
