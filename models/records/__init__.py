from . import ai_turn
from . import tool_call
from . import tool_grant
