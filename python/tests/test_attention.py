"""Attention over NumPy arrays, through DLPack: outputs and statistics equal those of attention written out."""
import ctypes
import gc
import pickle
import threading
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
        capsule, call = q.__dlpack__(), lambda first: buoy._core.attention(first, k, v, np.empty_like(q), None, 0, 0, 0, 1.0, None, {}, 0)
        call(capsule)
        with self.assertRaisesRegex(buoy.UsageError, "a capsule that was used before"):
            call(capsule)
        for given in (3, None, "q"):
            with self.assertRaisesRegex(buoy.UsageError, "expected a tensor that speaks DLPack"):
                call(given)


class Statistics(unittest.TestCase):
    """Those of a card are under way when a call returns; the seam is the same without one."""

    def setUp(self):
        self.rows = [np.ascontiguousarray(one.transpose(0, 2, 1, 3)) for one in arrays()]

    def begin(self, factor=1.0):
        q, k, v = self.rows
        return buoy._core.attention(q * np.float32(factor), k, v, np.empty_like(q), None, 1, 0, 0, 1.0, None, {"column_sums": True}, 0)

    def test_are_the_calls_own_however_late_they_are_looked_at(self):
        wanted = [self.begin(factor).take()["column_sums"] for factor in range(4)]
        begun = [self.begin(factor) for factor in range(4)]
        for found, right in zip(reversed(begun), reversed(wanted)):
            np.testing.assert_array_equal(found.take()["column_sums"], right)
        self.assertTrue((wanted[0] != wanted[3]).any())

    def test_are_the_same_arrays_for_all_who_look(self):
        begun, found = self.begin(), []
        threads = [threading.Thread(target=lambda: found.append(begun.take()["column_sums"])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 4)
        for one in found:
            np.testing.assert_array_equal(one, found[0])
        self.assertAlmostEqual(found[0].sum(), 2 * 4 * 29, delta=1e-2)

    def test_may_be_forgotten_before_they_are_there(self):
        for _ in range(3):
            self.begin()
            gc.collect()
        self.assertEqual(self.begin().take()["column_sums"].shape, (2, 4, 29))

    def test_are_a_mapping_that_can_be_copied_and_stored(self):
        _, stats = buoy.attention(*arrays(), stats=["column_sums"])
        self.assertEqual(list(stats), ["column_sums"])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(stats))["column_sums"], stats["column_sums"])
        with self.assertRaisesRegex(KeyError, "'rows' was not measured; measured: column_sums"):
            stats["rows"]
        self.assertEqual(len(buoy.attention(*arrays())[1]), 0)


class Managed(ctypes.Structure):
    """DLPack's DLManagedTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("type_code", ctypes.c_uint8), ("type_bits", ctypes.c_uint8), ("type_lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class Foreign:
    """A tensor of a library that says of itself whatever a test wants, and counts how often it is given back."""

    def __init__(self, array, **said):
        self.given_back = 0
        self.array, sizes = array, said.pop("shape", array.shape)
        self.shape = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
        strides = said.pop("strides", None)
        self.strides = (ctypes.c_int64 * len(strides))(*strides) if strides else None
        fields = dict(data=array.ctypes.data, device_type=1, device_id=0, ndim=len(sizes), type_code=2, type_bits=32, type_lanes=1, byte_offset=0)
        self.managed = Managed(**{**fields, **said})
        self.managed.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if self.strides:
            self.managed.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        self.deleter = type(self.managed.deleter)(lambda _: setattr(self, "given_back", self.given_back + 1))
        self.managed.deleter = self.deleter

    def __dlpack__(self, stream=None):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.managed), b"dltensor", None)


class ForeignTensors(unittest.TestCase):
    """What any library may hand over, without PyTorch."""

    def setUp(self):
        self.rows = [np.ascontiguousarray(one.transpose(0, 2, 1, 3)) for one in arrays()]

    def call(self, q=None, k=None, v=None, out=None):
        one, two, three = self.rows
        given = [array if said is None else said for array, said in ((one, q), (two, k), (three, v), (np.empty_like(one), out))]
        return buoy._core.attention(*given, None, 0, 0, 0, 1.0, None, {}, 0)

    def test_are_taken_and_given_back_once(self):
        q, k, v = (Foreign(array) for array in self.rows)
        out = Foreign(np.empty_like(self.rows[0]))
        self.call(q, k, v, out)
        wanted = np.empty_like(self.rows[0])
        self.call(out=wanted)
        np.testing.assert_array_equal(out.array, wanted)
        self.assertEqual([one.given_back for one in (q, k, v, out)], [1, 1, 1, 1])

    def test_are_refused_in_words_by_what_they_say_of_themselves(self):
        q, k = self.rows[:2]
        for place, said, line in (("k", dict(device_type=2), "k: lies on another device than q"), ("k", dict(device_id=1), "k: lies on another device than q"),
                                  ("q", dict(data=None), "q: its memory was freed"), ("k", dict(data=None), "k: its memory was freed"),
                                  ("q", dict(type_bits=64), "q: has elements of type 2 with 64 bits"), ("q", dict(type_code=0), "of type 0 with 32 bits"),
                                  ("q", dict(type_lanes=4), "expected float32 or bfloat16"), ("k", dict(type_code=4, type_bits=16), "k: is bfloat16, q is float32"),
                                  ("k", dict(shape=k.shape[1:]), "k: got shape .29,2,16., expected .batch"), ("k", dict(ndim=-1), "k: has -1 dimensions"),
                                  ("k", dict(ndim=2**31 - 1), "k: has 2147483647 dimensions"), ("k", dict(shape=(2, -29, 2, 16)), "shape"),
                                  ("k", dict(strides=(928, 16, 464, 1)), "k: is not contiguous"), ("k", dict(shape=(2, 0, 2, 16)), "shape")):
            foreign = Foreign(q if place == "q" else k, **said)
            with self.subTest(place, said=said), self.assertRaisesRegex(buoy.UsageError, line):
                self.call(**{place: foreign})
            self.assertLessEqual(foreign.given_back, 1)

    def test_on_devices_that_nobody_has_are_refused(self):
        every = [Foreign(array, device_type=10) for array in (*self.rows, np.empty_like(self.rows[0]))]
        with self.assertRaisesRegex(buoy.UsageError, "q: lies on a device of kind 10, expected the cpu or an NVIDIA card"):
            self.call(*every)
        self.assertEqual([one.given_back for one in every], [1, 1, 1, 1])

    def test_that_raise_while_they_are_asked_pass_it_on(self):
        class Evil:
            def __dlpack__(self, stream=None):
                raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            self.call(Evil())

    def test_may_be_forgotten_while_their_statistics_are_kept(self):
        q, k, v = arrays()
        out, stats = buoy.attention(q, k, v, stats=["column_sums", "rows"])
        kept = stats["column_sums"].copy(), out.copy()
        del q, k, v
        gc.collect()
        np.testing.assert_array_equal(stats["column_sums"], kept[0])
        np.testing.assert_array_equal(out, kept[1])


if __name__ == "__main__":
    unittest.main()
