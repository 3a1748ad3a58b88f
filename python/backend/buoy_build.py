"""A PEP 517 backend: builds the module with CMake and packs the wheel, models and data inside.

pip's config setting "build-dir" names a build folder that is there already, whose rooms need not be built again:

    pip wheel . --no-deps --config-settings build-dir=build/release
"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATE = (1980, 1, 1, 0, 0, 0)  # the same input gives the same bytes


def version():
    return re.search(r"project\(buoy VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{re.sub('[-.]', '_', sysconfig.get_platform())}"


def metadata():
    return (f"Metadata-Version: 2.1\nName: buoy\nVersion: {version()}\n"
            "Summary: An engine and laboratory for the attention of language models\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: tables\nRequires-Dist: pandas; extra == 'tables'\n"
            "Provides-Extra: torch\nRequires-Dist: torch; extra == 'torch'\nRequires-Dist: transformers; extra == 'torch'\n"
            "Description-Content-Type: text/markdown\n\n" + (ROOT / "docs" / "python.md").read_text())


def compile_module(settings):
    """Returns the folder that holds the module."""
    folder = pathlib.Path(settings.get("build-dir") or ROOT / "build" / "wheel")
    run = {"cwd": ROOT, "check": True, "stdout": sys.stderr}
    if not (folder / "CMakeCache.txt").exists():
        ninja = ["-G", "Ninja"] if any(os.access(pathlib.Path(one) / "ninja", os.X_OK) for one in os.get_exec_path()) else []
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, *ninja, "-DCMAKE_BUILD_TYPE=Release", "-DBUOY_PYTHON=ON", "-DBUOY_TESTS=OFF",
                        "-DBUOY_BATCH=32", f"-DPython_EXECUTABLE={sys.executable}", *settings.get("cmake-args", "").split()], **run)
    subprocess.run(["cmake", "--build", folder, "--target", "buoy_python", "--parallel", str(os.cpu_count() or 1)], **run)
    return folder / "python" / "buoy"


def files(module_folder):
    """Names in the wheel and where each comes from."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    module = module_folder / f"_core{suffix}"
    if not module.exists():
        raise SystemExit(f"{module}: is not there; the build folder was made for another Python than {sys.executable}")
    yield f"buoy/{module.name}", module
    for path in sorted((ROOT / "python" / "buoy").iterdir()):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            yield f"buoy/{path.name}", path
    for folder in ("models", "data", "recipes"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file():
                yield f"buoy/share/buoy/{path.relative_to(ROOT)}", path


class Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.lines = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, DATE)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.lines.append(f"{name},sha256={digest},{len(data)}\n")

    def close(self, record):
        self.lines.append(f"{record},,\n")
        self.zip.writestr(zipfile.ZipInfo(record, DATE), "".join(self.lines))
        self.zip.close()


def information():
    """The files that say what the package is, RECORD aside."""
    return {"METADATA": metadata().encode(), "WHEEL": f"Wheel-Version: 1.0\nGenerator: buoy_build\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode(),
            "entry_points.txt": b"[console_scripts]\nbuoy = buoy.__main__:main\n", "LICENSE": (ROOT / "LICENSE").read_bytes()}


def information_folder():
    return f"buoy-{version()}.dist-info"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    # Without this pip builds the whole wheel to read what stands in it, and then once more.
    folder = pathlib.Path(metadata_directory) / information_folder()
    folder.mkdir()
    for name, data in information().items():
        (folder / name).write_bytes(data)
    return folder.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    module_folder = compile_module(config_settings or {})
    name = f"buoy-{version()}-{tag()}.whl"
    wheel = Wheel(pathlib.Path(wheel_directory) / name)
    for target, source in files(module_folder):
        wheel.add(target, source.read_bytes(), 0o755 if target.endswith(".so") else 0o644)
    for file, data in information().items():
        wheel.add(f"{information_folder()}/{file}", data)
    wheel.close(f"{information_folder()}/RECORD")
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("there is no source distribution: the repository is the source")
