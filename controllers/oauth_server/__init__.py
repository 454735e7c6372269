from . import metadata
from . import consent
from . import tokens
