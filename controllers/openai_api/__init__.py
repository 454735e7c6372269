from . import assistants
from . import completions
from . import responses
