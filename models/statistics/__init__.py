from . import tool_call_sum
from . import tool_call_report
from . import ai_turn
from . import tool_call
from . import overview
