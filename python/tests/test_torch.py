"""The bridge to PyTorch: sdpa's outputs, and statistics of attention written out. Skipped where there is no PyTorch."""
import importlib.util
import unittest

import numpy as np

import buoy
from helpers import visible, written_out

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("there is no PyTorch")
import torch
import buoy.torch

MASKS = {"full": ("full", 0, 0), "causal": ("causal", 1, 0), "blocks": (("block", 4), 4, 0), "short first block": (("block", 4, 3), 4, 3)}


def tensors(B=2, H=4, Hkv=2, T=29, N=29, D=16, dtype=torch.float32, seed=0):
    draw = torch.Generator().manual_seed(seed)
    make = lambda heads, positions: torch.randn(B, heads, positions, D, generator=draw).to(dtype)
    return make(H, T), make(Hkv, N), make(Hkv, N)


class Attention(unittest.TestCase):
    def compare(self, q, k, v, mask, block, offset, tolerance):
        names = ["column_sums", "rows", "row_means", "qk_means", "norms", "pattern"]
        masses = {"first": range(min(5, k.shape[2])), "odd": range(7, k.shape[2], 2)}
        out, stats = buoy.torch.attention(q, k, v, mask, names, masses=masses)
        self.assertEqual((out.shape, out.dtype), (q.shape, q.dtype))
        seen = visible(q.shape[2], k.shape[2], block, offset)
        for b in range(q.shape[0]):
            weights, wanted = written_out(q[b].float().numpy(), k[b].float().numpy(), v[b].float().numpy(), seen)
            close = dict(rtol=1e-4, atol=2e-5)
            np.testing.assert_allclose(out[b].float().numpy(), wanted, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(stats["pattern"][b], weights, **close)
            np.testing.assert_allclose(stats["column_sums"][b], weights.sum(axis=1), **close)
            np.testing.assert_allclose(stats["row_max_weight"][b], weights.max(axis=-1), **close)
            safe = np.where(weights > 0, weights, 1)
            np.testing.assert_allclose(stats["row_entropy"][b], -(weights * np.log(safe)).sum(axis=-1), rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(stats["row_means"][b], weights.mean(axis=0), **close)
            for g, group in enumerate(masses.values()):
                np.testing.assert_allclose(stats["masses"][b][..., g], weights[..., list(group)].sum(axis=-1), **close)
            np.testing.assert_allclose(stats["output_norm"][b], np.linalg.norm(wanted, axis=-1).mean(axis=-1), rtol=1e-3)

    def test_equals_attention_written_out(self):
        for name, (mask, block, offset) in MASKS.items():
            for dtype, tolerance in ((torch.float32, 2e-5), (torch.bfloat16, 2e-2)):
                with self.subTest(name, dtype=dtype):
                    self.compare(*tensors(dtype=dtype), mask, block, offset, tolerance)

    def test_holds_on_awkward_shapes(self):
        for shape in (dict(B=1, H=1, Hkv=1, T=1, N=1, D=2), dict(B=3, H=6, Hkv=3, T=5, N=61, D=6), dict(B=1, H=8, Hkv=1, T=1, N=97, D=64)):
            with self.subTest(shape):
                self.compare(*tensors(**{**shape}), "causal", 1, 0, 2e-5)

    def test_equals_sdpa(self):
        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            self.skipTest("this PyTorch has no sdpa")
        q, k, v = tensors(H=4, Hkv=4)
        wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.testing.assert_close(buoy.torch.attention(q, k, v, "causal").output, wanted, rtol=1e-5, atol=1e-5)

    def test_takes_tensors_in_any_layout(self):
        q, k, v = tensors()
        wanted = buoy.torch.attention(q, k, v).output
        turned = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)]
        self.assertTrue(torch.equal(buoy.torch.attention(*turned).output, wanted))
        sliced = [torch.cat([t, t], dim=3)[..., :16] for t in (q, k, v)]
        self.assertTrue(torch.equal(buoy.torch.attention(*sliced).output, wanted))

    def test_scales_and_hides_keys(self):
        q, k, v = tensors(B=2)
        bias = torch.zeros(2, 29)
        bias[1, 20:] = -torch.inf
        out, stats = buoy.torch.attention(q, k, v, stats="column_sums", scale=0.5, key_bias=bias)
        self.assertTrue((stats["column_sums"][1, :, 20:] == 0).all() and (stats["column_sums"][0, :, 20:] > 0).all())
        _, wanted = written_out(q[1].numpy() * 0.5 * 4, k[1].numpy(), v[1].numpy(), visible(29, 29), bias[1].numpy())
        np.testing.assert_allclose(out[1].numpy(), wanted, rtol=1e-4, atol=1e-5)
        again = buoy.torch.attention(q, k, v, scale=0.5, key_bias=bias.numpy()).output
        self.assertTrue(torch.equal(again, out))

    def test_scales_without_rounding_bfloat16_again(self):
        q, k, v = tensors(dtype=torch.bfloat16)
        names = ["column_sums", "qk_means", "pattern"]
        out, found = buoy.torch.attention(q, k, v, stats=names, scale=0.3)
        exact, wanted = buoy.torch.attention(q.float(), k.float(), v.float(), stats=names, scale=0.3)
        for name in wanted:
            np.testing.assert_array_equal(found[name], wanted[name], name)
        self.assertTrue(torch.equal(out, exact.bfloat16()))
        plain = buoy.torch.attention(q, k, v, stats=names).stats
        np.testing.assert_array_equal(found["score_means"], plain["score_means"])

    def test_takes_biases_of_any_type_and_refuses_others(self):
        q, k, v = tensors()
        bias = torch.arange(29) / 8
        wanted = buoy.torch.attention(q, k, v, key_bias=bias).output
        for given in (bias.bfloat16(), bias.double(), bias.expand(2, 29), bias.tolist()):
            self.assertTrue(torch.equal(buoy.torch.attention(q, k, v, key_bias=given).output, wanted))
        for given, line in ((bias[:28], r"key_bias: got shape \[28\], expected \[29\] or \[2, 29\]"), (bias > 1, "key_bias: got bool"), (bias.expand(3, 29), "got shape"),
                            (bias / 0, "key_bias: holds")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line):
                buoy.torch.attention(q, k, v, key_bias=given)

    def test_takes_tensors_that_are_negated_when_read(self):
        for heads in (1, 4):  # with one the rows lie as they are wanted already
            q, k, v = tensors(H=heads, Hkv=1)
            bias = torch.arange(29) / 8
            wanted = buoy.torch.attention(q, k, v, key_bias=bias).output
            lazy = [torch._neg_view(-one) for one in (q, k, v)]
            self.assertTrue(all(one.is_neg() for one in lazy))
            self.assertTrue(torch.equal(buoy.torch.attention(*lazy, key_bias=torch._neg_view(-bias)).output, wanted))
            imaginary = torch.complex(torch.zeros_like(q), -q).conj().imag
            self.assertTrue(torch.equal(buoy.torch.attention(imaginary, k, v, key_bias=bias).output, wanted))

    @unittest.skipUnless(hasattr(torch, "func"), "this PyTorch has no torch.func")
    def test_refuses_what_stands_for_other_tensors(self):
        q, k, v = tensors()
        call = lambda first: buoy.torch.attention(first, k, v).output
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx
        class Whole(torch.nn.Module):
            def forward(self, first):
                return call(first)
        freed = q.clone()
        freed.untyped_storage().resize_(0)
        mode = FakeTensorMode()
        for name, make, line in (("trace", lambda: torch.jit.trace(call, q), "is being traced"), ("make_fx", lambda: make_fx(call)(q), "is being traced"),
                                 ("export", lambda: torch.export.export(Whole(), (q,)), "being traced|a FakeTensor"),
                                 ("loose export", lambda: torch.export.export(Whole(), (q,), strict=False), "being traced|a FakeTensor"),
                                 ("fake", lambda: buoy.torch.attention(*map(mode.from_tensor, (q, k, v))), "q: is a FakeTensor, expected a plain tensor"),
                                 ("vmap", lambda: torch.vmap(lambda one: call(one[None]))(q), "q: its memory was freed, or it stands for others"),
                                 ("functionalize", lambda: torch.func.functionalize(call)(q), "it stands for others"),
                                 ("jvp", lambda: torch.func.jvp(call, (q,), (q,)), "wants a gradient"), ("grad", lambda: torch.func.grad(lambda one: call(one).sum())(q), "a gradient"),
                                 ("freed", lambda: call(freed), "q: its memory was freed"), ("nested", lambda: call(torch.nested.nested_tensor([q[0], q[1]])), "q: is nested"),
                                 ("jagged", lambda: call(torch.nested.nested_tensor([q[0], q[1]], layout=torch.jagged)), "q: is nested"),
                                 ("complex", lambda: call(torch.complex(q, q).conj()), "q: is torch.complex64")):
            with self.subTest(name), self.assertRaisesRegex(buoy.UsageError, line):
                make()
        with torch.autograd.forward_ad.dual_level(), self.assertRaisesRegex(buoy.UsageError, "q: wants a gradient"):
            call(torch.autograd.forward_ad.make_dual(q, q))
        with self.assertRaisesRegex(buoy.UsageError, "key_bias: wants a gradient"):
            buoy.torch.attention(q, k, v, key_bias=torch.zeros(29, requires_grad=True))
        self.assertTrue(torch.equal(torch.compile(lambda one: call(one) + 1, backend="eager")(q), call(q) + 1))

    def test_needs_no_memory_of_n_times_n(self):
        import resource
        q, k, v = tensors(B=1, H=1, Hkv=1, T=8192, N=8192, D=8)
        buoy.torch.attention(q[:, :, :8], k, v, "causal", "column_sums")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        buoy.torch.attention(q, k, v, "causal", "column_sums")
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        self.assertLess(grown, 8192 * 8192 * 4 / 4)

    def test_refuses_what_does_not_fit(self):
        q, k, v = tensors()
        half = q.half()
        for arguments, line in (((q[0], k, v), "q: got shape .4, 29, 16., expected .batch"), ((q, k[:, :, :5], v), "v: got shape"),
                                ((q, k[:1], v[:1]), "k: got shape"), ((half, k.half(), v.half()), "q: is torch.float16, expected float32 or bfloat16"),
                                ((q, k.bfloat16(), v), "k: is torch.bfloat16, expected torch.float32"), ((q.long(), k, v), "q: is torch.int64, expected float32"),
                                ((q, k[:, :0], v[:, :0]), "k: got shape .*, expected no size of 0"), ((q.numpy(), k, v), "got ndarray, expected a torch.Tensor"),
                                ((q[:, :3], k, v), "q has 3 heads"), ((q[..., :3], k[..., :3], v[..., :3]), "heads have size 3, expected an even one"), ((q, k, v, "casual"), "mask is 'casual'"), ((q, k, v, ("block", 0)), "mask is"),
                                ((q, k, v, "full", ["heat"]), "stats holds 'heat'"), ((q, k, v, "full", ["masses"]), "masses need groups"),
                                ((q, k[:, :, :5], v[:, :, :5], "causal"), "queries are the last positions"), ((q.to_sparse(), k, v), "q: is torch.sparse_coo, expected a dense"),
                                ((q, k.to("meta"), v), "k: lies on meta, expected cpu"), ((q.to("meta"), k.to("meta"), v.to("meta")), "q: lies on meta, expected the cpu or")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line):
                buoy.torch.attention(*arguments)
        with self.assertRaisesRegex(buoy.UsageError, "wants a gradient"):
            buoy.torch.attention(q.requires_grad_(), k, v)
        with torch.no_grad():
            buoy.torch.attention(q, k, v)

    def test_refuses_capsules_that_were_used_and_memory_that_was_freed(self):
        q, k, v = (t.transpose(1, 2).contiguous() for t in tensors())
        capsule = q.__dlpack__()
        call = lambda first, out: buoy._core.attention(first, k, v, out, None, 0, 0, 0, 1.0, None, {}, 0)
        call(capsule, torch.empty_like(q))
        with self.assertRaisesRegex(buoy.UsageError, "a capsule that was used before"):
            call(capsule, torch.empty_like(q))
        freed = torch.empty_like(q)
        shape = freed.shape
        freed.untyped_storage().resize_(0) if hasattr(freed, "untyped_storage") else freed.storage().resize_(0)
        self.assertEqual(freed.shape, shape)
        with self.assertRaisesRegex(RuntimeError, "out: its memory was freed|out of bounds for storage"):  # older ones see it themselves
            call(q, freed)
        with self.assertRaisesRegex(buoy.UsageError, "expected a tensor that speaks DLPack"):
            call(3, torch.empty_like(q))


class Ids(unittest.TestCase):
    def test_may_be_tensors(self):
        model = buoy.load("mini-mdm")
        ids = torch.tensor([5, 6, 7])
        np.testing.assert_array_equal(model.forward(ids), model.forward([5, 6, 7]))
        self.assertEqual(torch.from_dlpack(model.forward(ids)).shape[0], 3)


if __name__ == "__main__":
    unittest.main()
