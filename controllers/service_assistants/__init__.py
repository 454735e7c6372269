from . import assistants
