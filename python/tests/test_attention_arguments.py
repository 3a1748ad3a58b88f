"""What attention over arrays is told: scales, rows, groups, biases, masks and shapes are taken as they are meant, or refused in words."""
import unittest

import numpy as np

import buoy
from helpers import visible, written_out
from test_attention import arrays


class Scale(unittest.TestCase):
    def test_is_no_part_of_qk_means(self):
        q, k, v = arrays()
        plain = buoy.attention(q, k, v, stats="qk_means")[1]
        for scale in (0.07, 3, np.float32(0.5)):
            scaled = buoy.attention(q, k, v, stats="qk_means", scale=scale)[1]
            for name in plain:
                np.testing.assert_array_equal(scaled[name], plain[name], name)
        repeated = np.repeat(k, 2, axis=1)
        np.testing.assert_allclose(plain["score_means"], np.einsum("bhtd,bhnd->bhtn", q, repeated).mean(axis=2), rtol=1e-3, atol=1e-4)

    def test_is_that_of_the_weights(self):
        q, k, v = arrays()
        out, stats = buoy.attention(q, k, v, "causal", ["pattern", "column_sums"], scale=0.6)
        weights, wanted = written_out(q[0] * 0.6 * 4, k[0], v[0], visible(29, 29, 1))
        np.testing.assert_allclose(stats["pattern"][0], weights, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(out[0], wanted, rtol=1e-4, atol=1e-5)

    def test_changes_no_bit_where_it_is_the_usual_one(self):
        q, k, v = arrays()
        plain = buoy.attention(q, k, v)[0]
        for scale in (0.25, np.float32(0.25), 16**-0.5):
            np.testing.assert_array_equal(buoy.attention(q, k, v, scale=scale)[0], plain)


class Arguments(unittest.TestCase):
    def refused(self, kind, cases):
        q, k, v = arrays()
        for options, line in cases:
            with self.subTest(repr(options)), self.assertRaisesRegex(kind, line):
                buoy.attention(q, k, v, **options)

    def test_of_the_wrong_size_are_refused(self):
        masses = lambda positions: dict(masses={"a": positions})
        self.refused(buoy.UsageError, [(dict(scale=scale), f"scale is {scale}, expected a number above 0") for scale in (np.nan, np.inf, 0, -1, 1e-320)] + [
            (dict(scale=1e300), "expected a number above 0"),
            (dict(stats="rows", rows=[29]), "rows: holds 29, expected 0 to 28"), (dict(stats="rows", rows=[-1]), "rows: holds -1, expected 0 to 28"),
            (dict(stats="rows", rows=[3, 4, 3]), "rows: holds 3 twice"), (dict(stats="rows", rows=[]), "rows is empty"), (dict(stats="rows", rows=[2**70]), "out of range"),
            (masses([29]), "masses: holds 29, expected 0 to 28"), (masses([-1]), "positions count from 0"), (masses([1, 1]), "stands in two groups"),
            (dict(masses={"a": [1], "b": [1]}), "stands in two groups"), (dict(masses={}), "masses is empty"), (dict(stats="masses", masses={}), "masses is empty"),
            (dict(mask=("block", 2**40)), "out of range"), (dict(mask=("block", 2**31 - 1)), "mask is"), 
            (dict(mask=np.ones((29, 29), bool)), "mask is array"), (dict(mask=["block", 4]), "mask is"), (dict(mask=None), "mask is None"),
            (dict(stats=[np.ones((2, 2))]), "stats holds array")])

    def test_of_the_wrong_type_are_refused(self):
        self.refused(TypeError, [
            (dict(scale="a"), "scale is 'a', expected a number"), (dict(scale=True), "scale is True"), (dict(scale=[1, 2]), "scale is .1, 2."),
            (dict(stats="rows", rows=[2.7]), "one is 2.7, expected a whole number"), (dict(stats="rows", rows=3), "rows is 3"), (dict(stats="rows", rows=[True]), "is True"),
            (dict(stats="rows", rows="12"), "rows is '12'"), (dict(masses={"a": [2.7]}), "a position of 'a' is 2.7"), (dict(masses=[1]), "masses is .1., expected names"),
            (dict(masses={"a": 3}), "masses: 'a' is 3, expected positions"), (dict(masses={"a": "12"}), "masses: 'a' is '12'"), (dict(stats=3), "stats is 3, expected some of"),
            (dict(mask=("block", True)), "is True, expected a whole"), (dict(mask=("block", 4, True)), "an offset is True"), (dict(mask=("block", 4, "a")), "an offset is 'a'"),
            (dict(scale=np.array(["a"])), "scale is array"), (dict(mask=("block", 4.0)), "is 4.0, expected a whole")])

    def test_that_are_biases_are_numbers_for_every_key(self):
        self.refused(buoy.UsageError, [(dict(key_bias=bias), line) for bias, line in (
            (np.zeros(28), r"key_bias: got shape \[28\], expected \[29\] or \[2, 29\]"), (np.zeros((3, 29)), "got shape .3, 29."), (np.zeros((1, 29)), "got shape .1, 29."),
            (np.zeros((2, 1)), "got shape .2, 1."), (0.0, r"got shape \[\]"), (np.full(29, np.nan), "holds NaN"), (np.full(29, np.inf), r"holds \+inf, expected numbers or -inf"),
            (np.ones(29, bool), "got bool, expected numbers"), (np.ones(29, complex), "got complex128"), (["1"] * 29, "got <U1"))])

    def test_may_be_any_whole_and_real_numbers(self):
        q, k, v = arrays()
        wanted = buoy.attention(q, k, v, ("block", 4), "rows", rows=[28, 3], scale=0.5, key_bias=np.arange(29, dtype=np.float32))
        found = buoy.attention(q, k, v, ("block", np.int64(4)), ["rows"], rows=np.array([28, 3], np.uint8), scale=np.float64(0.5), key_bias=list(range(29)))
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_array_equal(found[1]["row_argmax"], wanted[1]["row_argmax"])
        whole = buoy.attention(q, k, v, ("block", 4), "rows", scale=0.5, key_bias=list(range(29)))[1]
        np.testing.assert_array_equal(wanted[1]["row_max_weight"], whole["row_max_weight"][:, :, [28, 3]])


class Arrays(unittest.TestCase):
    def test_are_named_by_their_shapes_as_they_were_handed_over(self):
        q, k, v = arrays()
        for given, line in (((q, k[:1], v[:1]), r"k: got shape \[1, 2, 29, 16\], expected \[2, key heads, positions, 16\], as q has \[2, 4, 29, 16\]"),
                            ((q, k[..., :8], v[..., :8]), r"k: got shape \[2, 2, 29, 8\]"), ((q, k, v[:, :, :5]), r"v: got shape \[2, 2, 5, 16\], expected \[2, 2, 29, 16\], as k"),
                            ((q[:, :3], k, v), "q has 3 heads, which 2 heads of k cannot be shared by"), ((q[:, :0], k, v), r"q: got shape \[2, 0, 29, 16\], expected no size of 0"),
                            ((q[..., :3], k[..., :3], v[..., :3]), "heads have size 3, expected an even one")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line):
                buoy.attention(*given)

    def test_may_lie_in_memory_in_any_way(self):
        q, k, v = arrays()
        wanted = buoy.attention(q, k, v)[0]
        fixed = [array.copy() for array in (q, k, v)]
        for array in fixed:
            array.flags.writeable = False
        backwards = [np.ascontiguousarray(array[:, ::-1, ::-1, ::-1])[:, ::-1, ::-1, ::-1] for array in (q, k, v)]
        columns = [np.asfortranarray(array) for array in (q, k, v)]
        for given in (fixed, backwards, columns):
            np.testing.assert_array_equal(buoy.attention(*given)[0], wanted)

    def test_of_other_types_are_refused(self):
        q, k, v = arrays()
        for given, line in ((q.astype(">f4"), "q: got >f4"), (q.astype(np.float16), "q: got float16"), (q.tolist(), "q: got float64"), (None, "q: got object"),
                            (q.astype(object), "q: got object")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line):
                buoy.attention(given, k, v)


class Changes(unittest.TestCase):
    def test_are_finite_but_for_keys_that_are_hidden(self):
        model = buoy.load("mini-mdm")
        heads = model.config["heads"]
        for change, line in ((buoy.Change(head_gain=[np.inf] * heads), r"head_gain: holds \+inf, expected numbers"), (buoy.Change(head_gain=[-np.inf] * heads), "holds -inf"),
                             (buoy.Change(head_gain=[True] * heads), "head_gain: got bool")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line):
                list(model.run([5, 6, 7], gen_length=2, change=lambda *_: change))
        with self.assertRaisesRegex(buoy.UsageError, r"key_bias: holds \+inf, expected numbers or -inf"):
            list(model.run([5, 6, 7], gen_length=2, change=lambda step, layer, tokens: buoy.Change(key_bias=np.full(len(tokens), np.inf))))


if __name__ == "__main__":
    unittest.main()
