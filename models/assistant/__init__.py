from . import ai_config
from . import ai_assistant
from . import record_access
from . import assistant_version
from . import res_config_settings
from . import gateway
