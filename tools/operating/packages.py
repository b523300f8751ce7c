"""Packages of PyPI that only the checks of tools/kit need, in a folder of their own."""
import importlib
import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".build", "kit-python")


def imported(module, requirement):
    """The module, whose package is installed at need."""
    if FOLDER not in sys.path:
        sys.path.insert(0, FOLDER)
    try:
        return importlib.import_module(module)
    except ImportError:
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--root-user-action=ignore", "--target", FOLDER,
             requirement], check=True)
        importlib.invalidate_caches()
        return importlib.import_module(module)
