import sys

from . import hooks
from .hooks import pre_init_hook, uninstall_hook

if sys.version_info >= hooks.OLDEST_PYTHON:
    from . import controllers
    from . import models
    from . import wizards
