from . import ai_config
from . import ai_assistant
from . import record_access
from . import res_config_settings
