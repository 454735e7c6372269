from . import assistants
from . import completions
