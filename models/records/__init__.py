from . import base
from . import record_access
from . import ai_assistant
from . import ai_turn
from . import ir_sequence
from . import tool_call
from . import tool_grant
