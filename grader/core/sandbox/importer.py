"""Imports a submission from text in memory: student code is never written to disk, nor found on a path."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

PACKAGE = "src"


class MemoryImporter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and runs the modules of one submission, ``src`` and everything below it.

    Args:
        files: Path to source text, such as ``{"src/functional.py": "..."}``.
        code: By path, the code of files that are compiled already; each file that is imported is added.

    Attributes:
        lazy: Whether a package's ``__init__.py`` waits until something is asked for that only it can define, so that a
            file is imported without its siblings. Otherwise it runs as in Python, when the package is imported.
    """

    def __init__(self, files: Mapping[str, str], code: dict[str, CodeType], *, lazy: bool = True) -> None:
        """Index the files by module name; folders without ``__init__.py`` count as packages too."""
        self.lazy = lazy
        self._code = code
        self._sources: dict[str, tuple[str, str]] = {}
        self._packages = {PACKAGE}
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

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for a module of the submission, None for any other."""
        del path, target  # modules are found by name alone
        if fullname in self._packages or fullname in self._sources:
            return importlib.util.spec_from_loader(fullname, self, is_package=fullname in self._packages)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's text; that of a package may wait."""
        if not self.lazy or module.__name__ not in self._packages:
            self._run(module)
        elif module.__name__ in self._sources:
            self._waiting[module.__name__] = module
            vars(module)["__getattr__"] = lambda name: self._attribute(module, name)

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
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        if path not in self._code:  # hostile text may make the compiler raise any exception
            self._code[path] = compile(text, path, "exec", dont_inherit=True)
        exec(self._code[path], module.__dict__)
