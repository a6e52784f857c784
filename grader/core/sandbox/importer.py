"""Imports from memory: a submission, and the parts of Python that a worker may not open.

Student code is never written to disk, nor found on a path. A worker may be unable to open Python's own files: they lie
below a private folder, or nothing can be opened at all. What is closed is found out by trial. Of that, the fork server
keeps the byte code of every module, of packages the source as well, and imports the extension modules, which only the
system's loader can load. Where nothing is closed, nothing is read.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import linecache
import marshal
import os
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from grader import SUBMITTED

from .lockdown import PACKAGE_FOLDERS

# torch, and what it imports at the first use of some of its functions.
PACKAGES = ("torch", "functorch", "torchgen", "numpy", "sympy", "mpmath", "networkx", "jinja2", "fsspec", "filelock")
LEFT_OUT = ("__pycache__", "test", "tests", *PACKAGE_FOLDERS)
EXTENSION = importlib.machinery.EXTENSION_SUFFIXES[0]  # the plain suffix, .so, is that of ordinary libraries, too
TESTS_OF_PYTHON = ("_test", "_xx", "xx", "_ctypes_test")
HEADER_BYTES = 16  # of byte code: magic number, flags, and the source's time and size


class MemoryImporter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and runs the modules of one submission, ``src`` and everything below it.

    Args:
        files: Path to source text, such as ``{"src/functional.py": "..."}``.

    Attributes:
        lazy: Whether a package's ``__init__.py`` waits until something is asked for that only it can define, so that a
            file is imported without its siblings. Otherwise it runs as in Python, when the package is imported.
    """

    def __init__(self, files: Mapping[str, str], *, lazy: bool = True) -> None:
        """Index the files by module name; folders without ``__init__.py`` count as packages too."""
        self.lazy = lazy
        self._sources: dict[str, tuple[str, str]] = {}
        self._packages = {SUBMITTED}
        self._waiting: dict[str, ModuleType] = {}
        self._empty: set[str] = set()
        for path, text in files.items():
            parts = path.removesuffix(".py").split("/")
            self._packages.update(".".join(parts[:depth]) for depth in range(1, len(parts)))
            self._sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = (path, text)

    @property
    def names(self) -> set[str]:
        """Every module that comes from here."""
        return self._packages | self._sources.keys() | self._empty

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """A spec for a module of the submission, None for any other."""
        if fullname in self._packages or fullname in self._sources:
            return importlib.util.spec_from_loader(fullname, self, is_package=fullname in self._packages)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's text; that of a package may wait."""
        if not self.lazy or module.__name__ not in self._packages or self._hides_a_file(module.__name__):
            self._run(module)
        elif module.__name__ in self._sources:
            self._waiting[module.__name__] = module
            vars(module)["__getattr__"] = lambda name: self._attribute(module, name)

    def _hides_a_file(self, package: str) -> bool:
        """Whether its text gives the name of one of its files to something else: ``from .turn import turn``."""
        names = bound(self._sources.get(package, ("", ""))[1])
        if "*" in names:
            inside = (text for name, (_, text) in self._sources.items() if name.startswith(f"{package}."))
            names = names.union(*map(bound, inside))
        return not self.names.isdisjoint(f"{package}.{name}" for name in names)

    def _attribute(self, package: ModuleType, name: str) -> Any:
        """What a package whose text waits does not have; a submodule is for ``import`` to find.

        Raises:
            AttributeError: If its text does not define it either.
        """
        special = name.startswith("__") and name != "__all__"  # which tools ask every module for
        if special or f"{package.__name__}.{name}" in self.names:
            raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")
        self.run_what_waits(package)
        return getattr(package, name)

    def empty(self, name: str) -> ModuleType:
        """An empty module that takes the place of one that cannot be imported."""
        self._empty.add(name)
        sys.modules[name] = ModuleType(name)
        return sys.modules[name]

    def run_what_waits(self, module: ModuleType) -> None:
        """Run the text of a package that has waited so far."""
        if self._waiting.get(module.__name__) is module:
            del self._waiting[module.__name__], vars(module)["__getattr__"]
            self._run(module)

    def _run(self, module: ModuleType) -> None:
        if module.__name__ not in self._sources:
            return
        path, text = self._sources[module.__name__]
        module.__file__ = path
        linecache.cache[path] = (len(text), None, io.StringIO(text).readlines(), path)
        exec(compiled(path, text), module.__dict__)


@lru_cache(256)  # a submission is imported anew many times, and variants share most of their files
def compiled(path: str, text: str) -> CodeType:
    """The code of a file; hostile text may make the compiler raise any exception."""
    return compile(text, path, "exec", dont_inherit=True)


@lru_cache(256)
def bound(text: str) -> frozenset[str]:
    """What a file defines, or imports from other files, by name; nothing if it cannot be parsed."""
    try:
        tree = ast.parse(text)
    except Exception:  # hostile text may raise any exception
        return frozenset()
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    names |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = (target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets)
    return frozenset(names | {target.id for target in assigned if isinstance(target, ast.Name)})


def places() -> Iterator[tuple[Path, Path]]:
    """Each folder of the library, and a file in it: a worker that can open the file can open them all."""
    for entry in map(Path, sys.path):
        if entry.name in PACKAGE_FOLDERS:
            files = [entry / name / "__init__.py" for name in PACKAGES]
        else:
            files = [entry / "os.py", *sorted(entry.glob(f"*{EXTENSION}"))[:1]]
        yield from ((file.parent, file) for file in files if file.exists())


class Library(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and runs the modules of folders that workers cannot open, and serves their source to ``linecache``."""

    def __init__(self, closed: Iterable[Path]) -> None:
        """Read the modules, and import those that only the system's loader can load."""
        self._files: dict[str, str] = {}  # by a module's name
        self._code: dict[str, bytes] = {}  # by a file's name
        self._sources: dict[str, bytes] = {}
        extensions, roots = list[str](), set[Path]()
        for folder in closed:
            prefix = [] if str(folder) in sys.path else [folder.name]
            roots.add(folder.parent if prefix else folder)
            for file, name in _modules(folder, prefix):
                if file.name.endswith(EXTENSION):
                    extensions.append(name)
                else:
                    self._files.setdefault(name, str(file))
                    self._code[str(file)] = _byte_code(file) or file.read_bytes()
                    if prefix:  # importing torch._dynamo looks at torch's source
                        self._sources[str(file)] = file.read_bytes()
        self._update_cache, linecache.updatecache = linecache.updatecache, self._lines_of
        sys.meta_path.insert(-1, self)  # before the finder of files, which would look for them in vain
        for name in extensions:
            with contextlib.suppress(Exception):  # not every one can be imported everywhere, nor need it be
                importlib.import_module(name)
        # Of other packages there a worker may know the names, but it could not open them.
        sys.path[:] = [entry for entry in sys.path if Path(entry) not in roots]

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """A spec for a module that is here, None for any other."""
        if fullname not in self._files:
            return None
        file = self._files[fullname]
        inside = [os.path.dirname(file)] if file.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(fullname, file, loader=self, submodule_search_locations=inside)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name: str) -> CodeType:
        """The module's code; ``runpy`` uses it, too."""
        file = self._files[name]
        if not self._code[file].startswith(importlib.util.MAGIC_NUMBER):
            return compile(self._code[file], file, "exec", dont_inherit=True)
        code: CodeType = marshal.loads(memoryview(self._code[file])[HEADER_BYTES:])
        return code

    def _lines_of(self, filename: str, module_globals: dict[str, Any] | None = None) -> list[str]:
        """Stands in for ``linecache.updatecache``, on which tracebacks and ``inspect.getsource`` rest."""
        lines = self._update_cache(filename, module_globals)
        if not lines and (source := self._sources.get(filename)):
            lines = io.StringIO(importlib.util.decode_source(source)).readlines()
            linecache.cache[filename] = (len(source), None, lines, filename)
        return lines


def _modules(folder: Path, prefix: list[str]) -> Iterator[tuple[Path, str]]:
    """The files and names of all modules below a folder."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name.isidentifier() and name not in LEFT_OUT]
        package = [*prefix, *Path(place).relative_to(folder).parts]
        for file in files:
            name = file.removesuffix(EXTENSION).removesuffix(".py")
            if name != file and name.isidentifier() and not name.startswith(TESTS_OF_PYTHON):
                yield Path(place, file), ".".join(package if name == "__init__" else [*package, name])


def _byte_code(file: Path) -> bytes:
    """Python's cached byte code of a source file; empty if it is missing or out of date."""
    status = file.stat()
    stamp = struct.pack("<4sIII", importlib.util.MAGIC_NUMBER, 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size)
    with contextlib.suppress(OSError):
        data = Path(importlib.util.cache_from_source(file)).read_bytes()
        if data.startswith(stamp):
            return data
    return b""
