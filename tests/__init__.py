from . import test_access
from . import test_assistant
from . import test_chat_api
from . import test_mcp_server
from . import test_secrets
from . import test_store
from . import test_turn
