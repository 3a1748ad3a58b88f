"""Attention over NumPy arrays, through DLPack: outputs and statistics equal those of attention written out."""
import unittest

import numpy as np

import buoy
from helpers import visible, written_out

MASKS = {"full": ("full", 0, 0), "causal": ("causal", 1, 0), "blocks": (("block", 4), 4, 0), "short first block": (("block", 4, 3), 4, 3)}


def arrays(B=2, H=4, Hkv=2, T=29, N=29, D=16):
    draw = np.random.default_rng(0)
    return tuple(draw.standard_normal((B, heads, positions, D), np.float32) for heads, positions in ((H, T), (Hkv, N), (Hkv, N)))


class Attention(unittest.TestCase):
    def compare(self, q, k, v, mask, block, offset):
        masses = {"first": range(min(5, k.shape[2])), "odd": range(7, k.shape[2], 2)}
        out, stats = buoy.attention(q, k, v, mask, ["column_sums", "rows", "row_means", "norms", "qk_means", "pattern"], masses=masses)
        seen = visible(q.shape[2], k.shape[2], block, offset)
        close = dict(rtol=1e-4, atol=2e-5)
        for b in range(q.shape[0]):
            weights, wanted = written_out(q[b], k[b], v[b], seen)
            np.testing.assert_allclose(out[b], wanted, **close)
            np.testing.assert_allclose(stats["pattern"][b], weights, **close)
            np.testing.assert_allclose(stats["column_sums"][b], weights.sum(axis=1), **close)
            np.testing.assert_allclose(stats["row_max_weight"][b], weights.max(axis=-1), **close)
            np.testing.assert_allclose(stats["row_means"][b], weights.mean(axis=0), **close)
            for g, group in enumerate(masses.values()):
                np.testing.assert_allclose(stats["masses"][b][..., g], weights[..., list(group)].sum(axis=-1), **close)
            np.testing.assert_allclose(stats["output_norm"][b], np.linalg.norm(wanted, axis=-1).mean(axis=-1), rtol=1e-3)

    def test_equals_attention_written_out(self):
        for name, (mask, block, offset) in MASKS.items():
            with self.subTest(name):
                self.compare(*arrays(), mask, block, offset)

    def test_holds_on_awkward_shapes(self):
        for shape in (dict(B=1, H=1, Hkv=1, T=1, N=1, D=2), dict(B=3, H=6, Hkv=3, T=5, N=61, D=6), dict(B=1, H=8, Hkv=1, T=1, N=97, D=64)):
            with self.subTest(shape):
                self.compare(*arrays(**shape), "causal", 1, 0)

    def test_hides_keys_scales_and_reads_rows(self):
        q, k, v = arrays()
        bias = np.zeros((2, 29), np.float32)
        bias[1, 20:] = -np.inf
        out, stats = buoy.attention(q, k, v, stats=["column_sums", "rows"], scale=0.5, key_bias=bias, rows=[3, 28])
        weights, wanted = written_out(q[1] * 0.5 * 4, k[1], v[1], visible(29, 29), bias[1])
        np.testing.assert_allclose(out[1], wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(stats["column_sums"][1, :, 20:], 0)
        self.assertTrue((stats["column_sums"][0, :, 20:] > 0).all())
        np.testing.assert_allclose(stats["row_max_weight"][1], weights[:, [3, 28]].max(axis=-1), rtol=1e-4)

    def test_refuses_what_does_not_fit(self):
        q, k, v = arrays()
        for call, line in ((lambda: buoy.attention(q[0], k, v), "q: got float32 .4, 29, 16., expected float32 .batch"),
                           (lambda: buoy.attention(q.astype(float), k, v), "q: got float64"),
                           (lambda: buoy.attention(q, k[:, :, :5], v), "v: got shape"), (lambda: buoy.attention(q[:, :3], k, v), "q has 3 heads"),
                           (lambda: buoy.attention(q[..., :3], k[..., :3], v[..., :3]), "heads have size 3, expected an even one"),
                           (lambda: buoy.attention(q, k[:, :, :0], v[:, :, :0]), "k: got shape .2, 2, 0, 16., expected no size of 0"),
                           (lambda: buoy.attention(q, k, v, "casual"), "mask is 'casual'"), (lambda: buoy.attention(q, k, v, ("block", 0)), "mask is"),
                           (lambda: buoy.attention(q, k, v, stats=["heat"]), "stats holds 'heat'"),
                           (lambda: buoy.attention(q, k, v, stats=["masses"]), "masses need groups"),
                           (lambda: buoy.attention(q, k, v, stats=["rows"], rows=[29]), "rows: holds 29, expected 0 to 28"),
                           (lambda: buoy.attention(q, k, v, masses={"a": [29]}), "masses: holds 29"),
                           (lambda: buoy.attention(q, k, v, masses={str(i): [] for i in range(99)}), "masses of 99 groups"),
                           (lambda: buoy.attention(q, k, v, rows=[1]), "rows has no effect")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line):
                call()

    def test_keeps_a_whole_pattern_under_the_limit(self):
        one = np.zeros((1, 1, 20000, 2), np.float32)
        with self.assertRaisesRegex(buoy.UsageError, "pattern: .* exceed the limit"):
            buoy.attention(one, one, one, stats=["pattern"])

    def test_takes_a_capsule_once(self):
        q, k, v = (np.ascontiguousarray(one.transpose(0, 2, 1, 3)) for one in arrays())
        capsule, call = q.__dlpack__(), lambda first: buoy._core.attention(first, k, v, np.empty_like(q), None, 0, 0, 0, None, {}, 0)
        call(capsule)
        with self.assertRaisesRegex(buoy.UsageError, "a capsule that was used before"):
            call(capsule)
        for given in (3, None, "q"):
            with self.assertRaisesRegex(buoy.UsageError, "expected a tensor that speaks DLPack"):
                call(given)


if __name__ == "__main__":
    unittest.main()
