from . import hooks
from .hooks import pre_init_hook, uninstall_hook

if hooks.can_be_imported():
    from . import runtime
    from . import controllers
    from . import models
    from . import wizards
