from . import ai_turn
from . import tool_call
from . import discuss_channel
from . import ai_turn_post
