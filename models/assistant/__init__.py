from . import ai_config
from . import ai_assistant
from . import record_access
