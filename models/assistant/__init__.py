from . import ai_config
from . import ai_config_state
from . import ai_config_embeddings
from . import ai_assistant
from . import record_access
