"""Compile the modules of condense_cli/kernels with Cython.

python compiling.py          beside their sources: the checkout runs compiled
python compiling.py FOLDER   below a folder
python compiling.py --undo   the checkout runs interpreted again
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

PROJECT: Final = Path(__file__).resolve().parent
KERNELS: Final = "condense_cli/kernels"
DIRECTIVES: Final[dict[str, Any]] = {
    "language_level": 3,
    "annotation_typing": False,  # The types of C are in the files .pxd; annotations are Python's.
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
_SMALL: Final = ["-g0", "-ffp-contract=off"] if os.name == "posix" else []
"""Without information for debuggers, which is most of a module."""


def compile_kernels(project: Path, target: Path) -> list[Path]:
    """Compile below `target`, at the places of their sources; return what was made.

    Raises ImportError without Cython and setuptools, and what setuptools raises without a compiler.
    """
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    sources = sorted((project / KERNELS).glob("[!_]*.py"))
    with tempfile.TemporaryDirectory() as folder:
        # In a copy without the package's own code: Cython writes beside its sources, and reads all that they import.
        package = Path(folder, KERNELS)
        package.mkdir(parents=True)
        for initial in (package.parent / "__init__.py", package / "__init__.py"):
            initial.touch()
        extensions = []
        for path in sources:
            shutil.copy(path.with_suffix(".pxd"), package)
            copied = shutil.copy(path, package)
            name = f"{KERNELS.replace('/', '.')}.{path.stem}"
            extensions.append(Extension(name, [str(copied)], extra_compile_args=_SMALL))
        modules = cythonize(extensions, compiler_directives=DIRECTIVES, include_path=[folder], quiet=True)
        command = build_ext(Distribution({"ext_modules": modules}))
        command.build_lib, command.build_temp = str(target), folder
        command.ensure_finalized()
        command.run()
        return [target / command.get_ext_filename(module.name) for module in modules]


def undo(project: Path) -> None:
    """Remove what was compiled beside the sources."""
    for path in (project / KERNELS).iterdir():
        if path.suffix in (".so", ".pyd"):
            path.unlink()


def main(arguments: list[str]) -> None:
    if arguments == ["--undo"]:
        undo(PROJECT)
        return
    try:
        compile_kernels(PROJECT, Path(arguments[0]) if arguments else PROJECT)
    except ImportError as error:
        sys.exit(f"Cython and setuptools are missing: {error}. They are in the extra dev.")
    except Exception as error:
        sys.exit(f"The kernels cannot be compiled: {error}\nInstall a C compiler and the headers of Python.")


if __name__ == "__main__":
    main(sys.argv[1:])
