"""Imports a submission from text in memory: student code is never written to disk, nor found on a path."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType

PACKAGE = "src"


class MemoryImporter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and runs the modules of one submission, ``src`` and everything below it.

    Args:
        files: Path to source text, such as ``{"src/functional.py": "..."}``.
        bare_packages: Leave every ``__init__.py`` out, so that a file is imported without its siblings.
        code: By path, the code of files that are compiled already; each file that is imported is added.
    """

    def __init__(self, files: Mapping[str, str], bare_packages: bool, code: dict[str, CodeType]) -> None:
        """Index the files by module name; folders without ``__init__.py`` count as packages too."""
        self._code = code
        self._sources: dict[str, tuple[str, str]] = {}
        self._packages = {PACKAGE}
        for path, text in files.items():
            parts = path.removesuffix(".py").split("/")
            self._packages.update(".".join(parts[:depth]) for depth in range(1, len(parts)))
            if parts[-1] != "__init__":
                self._sources[".".join(parts)] = (path, text)
            elif not bare_packages:
                self._sources[".".join(parts[:-1])] = (path, text)

    @property
    def names(self) -> set[str]:
        """Every module that can be found here."""
        return self._packages | self._sources.keys()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for a module of the submission, None for any other."""
        del path, target  # modules are found by name alone
        if fullname in self._packages or fullname in self._sources:
            return importlib.util.spec_from_loader(fullname, self, is_package=fullname in self._packages)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's text."""
        if module.__name__ not in self._sources:
            return
        path, text = self._sources[module.__name__]
        module.__file__ = path
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        if path not in self._code:  # hostile text may make the compiler raise any exception
            self._code[path] = compile(text, path, "exec", dont_inherit=True)
        exec(self._code[path], module.__dict__)
