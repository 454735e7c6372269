from . import ai_turn
from . import tool_call
