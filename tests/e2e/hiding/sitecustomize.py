"""Started with this folder in PYTHONPATH, Python does not find the modules that HIDDEN names."""

import os
import sys
from importlib.machinery import PathFinder

HIDDEN = frozenset(os.environ.get("HIDDEN", "").split(","))


class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            return None
        return super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Hiding
