from . import ai_turn
from . import ai_turn_context
