"""Makes and checks .npz files with NumPy, the witness for buoy/io/npz_test.cc.

roundtrip.py make FILE           writes the table below with numpy.savez
roundtrip.py make-deflated FILE  the same with numpy.savez_compressed
roundtrip.py verify FILE         exits 1 and says why unless FILE holds exactly the table
"""

import sys
import zipfile

import numpy as np

SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2)]
TEXT = ["", "a", "na\u00efve", "\u65e5\u672c\u8a9e", "\U0001f600\U0001f3f3\ufe0f", "x\0y", " end "]


def numbers(code, shape):
    """The values every dtype holds: a formula that the C++ side repeats."""
    k = np.arange(int(np.prod(shape, dtype=np.int64)))
    if code == "b1":
        values = k % 3 == 0
    elif code == "u1":
        values = k * 3 + 1
    elif code[0] == "f":
        values = (k * 3 - 5) / 2
    else:
        values = k * 3 - 5
    return values.astype(code).reshape(shape)


def table():
    arrays = {}
    for code in ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "b1"]:
        for shape in SHAPES:
            arrays[f"{code}_{'x'.join(map(str, shape))}"] = numbers(code, shape)
    arrays["fortran_f8"] = np.asfortranarray(numbers("f8", (2, 3, 5)))
    arrays["fortran_text"] = np.asfortranarray(np.array(TEXT[:6]).reshape(2, 3))
    arrays["text_7"] = np.array(TEXT)
    arrays["text_"] = np.array(TEXT[4])
    arrays["text_0"] = np.array([], dtype="<U1")
    arrays["text_empty"] = np.array(["", "", ""])
    arrays["f16_all"] = np.arange(65536).astype("<u2").view("<f2")
    arrays["i8_ends"] = np.array([-(2**63), 2**63 - 1])
    arrays["f4_special"] = np.array([np.inf, -np.inf, np.nan, -0.0, 1e-45], dtype="f4")
    arrays["bf16_as_f4"] = np.array([1, -2, 0.5, 3.140625], dtype="f4")
    arrays["gr\u00f6\u00dfe/\u5c64.0"] = numbers("f4", (7,))
    return arrays


def make(path, save):
    arrays = table()
    with np.errstate(invalid="ignore"):
        arrays["f16_all_widened"] = arrays["f16_all"].astype("f4")
    save(path, **arrays)
    with zipfile.ZipFile(path, "a") as archive:
        for version in [(2, 0), (3, 0)]:
            with archive.open(f"version_{version[0]}.npy", "w") as member:
                np.lib.format.write_array(member, numbers("f4", (3, 4)), version=version)


def verify(path):
    expected = table()
    with np.load(path, allow_pickle=False) as got:
        if sorted(got.files) != sorted(expected):
            sys.exit(f"{path}: arrays differ: {sorted(set(got.files) ^ set(expected))}")
        for name, want in expected.items():
            have = got[name]
            if have.dtype != want.dtype or have.shape != want.shape:
                sys.exit(f"{path}: {name} is {have.dtype} {have.shape}, expected {want.dtype} {want.shape}")
            if have.tobytes() != want.tobytes():
                sys.exit(f"{path}: {name} is {have}, expected {want}")


def main():
    command, path = sys.argv[1:]
    if command == "make":
        make(path, np.savez)
    elif command == "make-deflated":
        make(path, np.savez_compressed)
    elif command == "verify":
        verify(path)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
