"""The only way from the core to the folders beside it: by name, and only if the folder exists.

========================  ==================================================  ======================================
``grader.extras.…``       what the core asks of it                            without it
========================  ==================================================  ======================================
``decisions``             ``decided(known, ledger, note)``: the               nobody decided anything
                          :class:`GradedClass` after people's decisions;
                          ``with_files(folder, candidates)``: misnamed files
``diff``                  ``print_preview(out, candidates, settings,          ``grade --dry-run`` is refused
                          reader)``
``cluster``               ``open_executor(choice, jobs)``                     judges run on this machine only
``anonymous``             ``hide(known)``: who takes the place of everyone;   ``report --anonymous`` is refused
                          ``known(folder, submissions)``: pseudonyms
``notebook_points``       ``read_practice(path, worth)``: practice points     ``grade --notebooks`` is refused
``viva``                  ``understood(folder)``: points by submission, and   nobody was asked anything
                          ``picture(entries, language)``
``canvas``, ``moodle``,   ``submissions(listing)``: a :class:`Found` for      each submission is a folder or an
``gradescope``,           each submission in such an export; none if it is    archive
``clones``                no such export
``canvas``, ``moodle``,   ``FORMATS``: by name, what ``export --to`` takes    it takes only ``csv``
``gradescope``,
``formats``
``moodle``                ``with_lateness(candidates, roster)``, where the    lateness is what exports say
                          roster is a grading worksheet
``formats``               ``in_file(path, rows)``: the grades in a file that  an export is compared with earlier
                          an earlier export wrote                             ones in the ledger only
========================  ==================================================  ======================================
"""

from __future__ import annotations

import importlib
from types import ModuleType


def extra(name: str) -> ModuleType | None:
    """The module ``extension`` of an extra; None if the folder of that extra, or of all extras, was deleted."""
    return module_if_there(f"grader.extras.{name}.extension")


def offers(name: str) -> bool:
    """Whether the commands of an extra are there, to be named as a next step."""
    return module_if_there(f"grader.extras.{name}.commands") is not None


def module_if_there(name: str) -> ModuleType | None:
    """A module; None if it or a package around it was deleted, even if a folder of compiled files is left."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # something that the module needs
        return None
